#include <random>

#include "helpers.h"

namespace plait::syntax {
namespace {

/// Parses; a text that is accepted must survive formatting, one that is not has an error with a place.
void check(const std::string& text) {
  Result<File> file = parse_text(text);
  if (!file) {
    ASSERT_FALSE(file.diagnostics().empty()) << text;
    for (const Diagnostic& d : file.diagnostics().list()) {
      ASSERT_TRUE(d.loc.known()) << d.message << "\n" << text;
      ASSERT_FALSE(d.message.empty());
    }
    file.diagnostics().render();
    return;
  }
  std::string once = format(*file);
  Result<File> again = parse_text(once);
  ASSERT_TRUE(again.ok()) << text << "\n-- as --\n" << once << "\n" << again.diagnostics().render();
  ASSERT_EQ(format(*again), once) << text;
}

TEST(Hostile, TruncationsOfAValidProgram) {
  for (std::size_t i = 0; i <= kEverything.size(); ++i) check(kEverything.substr(0, i));
}

TEST(Hostile, OneByteChanged) {
  std::mt19937 random(1);
  const std::string bytes = "()[]:;,=+-*/#\"\n \t\\.09ax_\r\x80";
  for (int i = 0; i < 700; ++i) {
    std::string text = kEverything;
    text[random() % text.size()] = bytes[random() % bytes.size()];
    check(text);
  }
}

TEST(Hostile, LinesShuffledAndIndentedAnew) {
  std::vector<std::string> lines;
  std::string line;
  for (char c : kEverythingFormatted) {
    if (c != '\n') {
      line += c;
      continue;
    }
    lines.push_back(line);
    line.clear();
  }
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (int k = 0; k < 30; ++k) {
      std::string picked = lines[random() % lines.size()];
      std::size_t begin = std::min(picked.find_first_not_of(' '), picked.size());
      text += std::string(random() % 4 * 2, ' ') + picked.substr(begin) + "\n";
    }
    check(text);
  }
}

TEST(Hostile, RandomBytes) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 200, '\0');
    for (char& c : text) c = static_cast<char>(random() % 256);
    check(text);
  }
}

TEST(Hostile, RandomTokens) {
  const std::vector<std::string> tokens = {
      "kernel", "def",  "f",      "x",       "A",    "(",    ")",      "[",      "]",      ":",      ";",
      ",",      "=",    "+=",     "+",       "-",    "not",  "and",    "==",     "<",      "|",      ">>",
      "1",      "2.5",  "\"s\"",  "#c\n",    "\n",   "\n  ", "\n    ", "for",    "in",     "range",  "if",
      "else",   "elif", "shared", "f16",     "grid", "pad",  "pass",   "return", "true",   "print",  "threads",
      "while",  "task", "layout", "strides", "out",  "i32",  "type",   "local",  "assert", "\n# d\n"};
  std::mt19937 random(4);
  for (int i = 0; i < 4000; ++i) {
    std::string text = random() % 2 == 0 ? in_kernel("  ") : "def f(a):\n  ";
    std::size_t count = random() % 40;
    for (std::size_t k = 0; k < count; ++k) text += tokens[random() % tokens.size()] + " ";
    check(text);
  }
}

/// Expressions that are right by construction, with far more parentheses than needed and comments within.
std::string random_expr(std::mt19937& random, int depth) {
  const std::vector<std::string> binary = {"+",  "-",  "*",  "/", "%",  "&", "|",  "^",   "<<",
                                           ">>", "==", "!=", "<", "<=", ">", ">=", "and", "or"};
  const std::vector<std::string> atoms = {"a", "1", "2.5", "0x1f", "true", "inf", "A[:, 1:]"};
  auto sub = [&] { return random_expr(random, depth - 1); };
  auto wrapped = [&] { return "(" + std::string(random() % 8 == 0 ? "  # c\n" : "") + sub() + ")"; };
  if (depth == 0) return atoms[random() % atoms.size()];
  switch (random() % 7) {
    case 0:
      return atoms[random() % atoms.size()];
    case 1:
      return "-" + wrapped();
    case 2:
      return "(not " + sub() + ")";
    case 3:
      return "f(" + sub() + ", n=" + sub() + ")";
    case 4:
      return "A[" + sub() + ", " + sub() + ":" + sub() + "]";
    case 5:
      return "[" + sub() + ", " + sub() + "]";
    default:
      return wrapped() + " " + binary[random() % binary.size()] + " " + wrapped();
  }
}

TEST(Hostile, RandomExpressionsKeepTheirMeaning) {
  std::mt19937 random(5);
  for (int i = 0; i < 1500; ++i) {
    std::string text = random_expr(random, 1 + static_cast<int>(random() % 6));
    std::string once = expr(text);
    ASSERT_EQ(structure(expr_tree(once)), structure(expr_tree(text))) << text << "\n" << once;
    ASSERT_EQ(expr(once), once) << text;
  }
}

/// The formatter adds parentheses around bit operators; the text must still be within the limits of nesting.
TEST(Hostile, DeepestExpressionsCanBeFormatted) {
  std::string open, close;
  for (int i = 0; i < 39; ++i) {
    open += "-(not (a | b & c << ";
    close += "))";
  }
  std::string once = expr(open + "a" + close);
  EXPECT_EQ(expr(once), once);
  EXPECT_EQ(structure(expr_tree(once)), structure(expr_tree(open + "a" + close)));
}

TEST(Hostile, LongInputsTakeLinearTime) {
  constexpr std::size_t kSize = 50000;
  auto repeated = [](const std::string& piece) {
    std::string text;
    while (text.size() < kSize) text += piece;
    return text;
  };
  for (const char* piece : {"(",       "[",  ")", "a ", "\n", "\n ", "#\n",  "\"",   "1+",     "f(",
                            "if x:\n", "\\", "_", "9",  "\t", ";",   "\r\n", "\xff", "  #c\n", "elif "}) {
    check(repeated(piece));
    check(in_kernel("  x = " + repeated(piece)));
    check(in_kernel("  x = [1" + repeated(", 1") + "]\n"));
  }
  check("kernel f(" + repeated("A: in f32[M], ") + "z: i32):\n  grid bx = 1\n");
  check(in_kernel("  if x:\n    pass\n" + repeated("  elif x:\n    pass\n")));
  check(in_kernel("  pass\n" + repeated("    # c\n\n") + "  pass\n"));
  std::string stairs;
  for (std::size_t i = 1; stairs.size() < kSize; ++i) stairs += std::string(i, ' ') + "if x:\n";
  check("def f(x):\n" + stairs);
}

}  // namespace
}  // namespace plait::syntax
