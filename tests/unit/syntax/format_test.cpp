#include <filesystem>
#include <fstream>
#include <sstream>

#include "helpers.h"

namespace plait::syntax {
namespace {

using testing::HasSubstr;

TEST(Format, MatmulIsCanonicalAlready) { EXPECT_EQ(formatted(kMatmul), kMatmul); }

TEST(Format, WritesEverything) { EXPECT_EQ(formatted(kEverything), kEverythingFormatted); }

TEST(Format, IsIdempotent) { EXPECT_EQ(formatted(kEverythingFormatted), kEverythingFormatted); }

TEST(Format, IsIdempotentOnTheKernelLibrary) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PLAIT_SOURCE_DIR "/kernels")) {
    if (entry.path().extension() != ".tile") continue;
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    std::string once = formatted(text.str());
    EXPECT_EQ(formatted(once), once) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(Format, EmptyFile) {
  EXPECT_EQ(formatted(""), "");
  EXPECT_EQ(formatted("\n\n  \n"), "");
  EXPECT_EQ(formatted("\n# only\n\n\n#  comments\n\n"), "# only\n\n#  comments\n");
}

TEST(Format, MinimalParentheses) {
  EXPECT_EQ(expr("(a + b) * (c)"), "(a + b) * c");
  EXPECT_EQ(expr("(a * b) + (c / d)"), "a * b + c / d");
  EXPECT_EQ(expr("a - (b - c)"), "a - (b - c)");
  EXPECT_EQ(expr("(a - b) - c"), "a - b - c");
  EXPECT_EQ(expr("a + (b + c)"), "a + (b + c)");
  EXPECT_EQ(expr("-(a + b)"), "-(a + b)");
  EXPECT_EQ(expr("(-a) * b"), "-a * b");
  EXPECT_EQ(expr("-(a * b)"), "-(a * b)");
  EXPECT_EQ(expr("-(-a)"), "- -a");
  EXPECT_EQ(expr("~(-~a)"), "~-~a");
  EXPECT_EQ(expr("not (a == b)"), "not a == b");
  EXPECT_EQ(expr("(not a) == b"), "(not a) == b");
  EXPECT_EQ(expr("not (not a)"), "not not a");
  EXPECT_EQ(expr("(a < b) == (c < d)"), "(a < b) == (c < d)");
  EXPECT_EQ(expr("(a and b) or (c and not d)"), "a and b or c and not d");
  EXPECT_EQ(expr("(a or b) and c"), "(a or b) and c");
  EXPECT_EQ(expr("((((a))))"), "a");
}

TEST(Format, BitOperatorsKeepParenthesesWhereTheyMix) {
  EXPECT_EQ(expr("a | b & c"), "a | (b & c)");
  EXPECT_EQ(expr("a ^ b >> 31 & 7"), "a ^ ((b >> 31) & 7)");
  EXPECT_EQ(expr("a + 1 << 2"), "(a + 1) << 2");
  EXPECT_EQ(expr("a | b | c"), "a | b | c");
  EXPECT_EQ(expr("a & b == c"), "a & b == c");
}

TEST(Format, SlicesListsAndCalls) {
  EXPECT_EQ(expr("A[ : ,1: ,:2,0:n,i*4:i*4+4,-1:n, i*4: ]"), "A[:, 1:, :2, 0:n, i * 4 : i * 4 + 4, -1:n, i * 4:]");
  EXPECT_EQ(expr("f( )"), "f()");
  EXPECT_EQ(expr("f(a,n = (1,2), m=[[1],(3,4)])"), "f(a, n=[1, 2], m=[[1], [3, 4]])");
}

TEST(Format, KeepsSpellings) {
  EXPECT_EQ(expr("1e-5 + 1.50 + 0x1F + 0b0011 + 1_000 + 1_0.2_5E+3 + inf + nan"),
            "1e-5 + 1.50 + 0x1F + 0b0011 + 1_000 + 1_0.2_5E+3 + inf + nan");
}

TEST(Format, Strings) {
  EXPECT_EQ(formatted(in_kernel("  print(\"a\\n\\t\\r\\\\\\\"\\x41\\x00\\xff \xc3\xa9 \xe9 # {}\", A[0])\n")),
            in_kernel("  print(\"a\\n\\t\\r\\\\\\\"A\\x00\\xff \xc3\xa9 \\xe9 # {}\", A[0])\n"));
}

TEST(Format, CrlfAndByteOrderMark) {
  EXPECT_EQ(formatted("\xef\xbb\xbf# c\r\n\r\ndef f():\r\n  # d\r\n  return (1 +\r\n    2)\r\n"),
            "# c\n\ndef f():\n  # d\n  return 1 + 2\n");
}

TEST(Format, MissingLastLineEnd) { EXPECT_EQ(formatted("def f():\n  return 1"), "def f():\n  return 1\n"); }

TEST(Format, IndentsByTwo) {
  EXPECT_EQ(formatted("def f(x):\n     if x:\n            y = 1\n     else:\n      y = 2\n     return y\n"),
            "def f(x):\n  if x:\n    y = 1\n  else:\n    y = 2\n  return y\n");
}

TEST(Format, ShortHeaderOnOneLine) {
  EXPECT_EQ(formatted("kernel f(A: in f32[M],\n B: out f32[M]\n ; n = 1 , m: int\n):\n  grid bx = 1\n"),
            "kernel f(A: in f32[M], B: out f32[M]; n = 1, m: int):\n  grid bx = 1\n");
  EXPECT_EQ(formatted("kernel f( ;n=1):\n  grid bx = 1\n"), "kernel f(; n = 1):\n  grid bx = 1\n");
  EXPECT_EQ(formatted("kernel f( ):\n  grid bx = 1\n"), "kernel f():\n  grid bx = 1\n");
}

TEST(Format, LongHeaderIsFilledBelowItsFirstParameter) {
  std::string text =
      "kernel f(first_tensor: in f32[rows, columns], second_tensor: in f32[rows, columns],\n"
      "         third_tensor: out f32[rows, columns];\n"
      "         n = 1):\n"
      "  grid bx = 1\n";
  EXPECT_EQ(formatted(text), text);
}

TEST(Format, LongNameMovesTheParametersToTheNextLine) {
  std::string text =
      "kernel a_kernel_with_a_name_so_long_that_nothing_fits_behind_it(\n"
      "    first_tensor: in f32[rows, columns], second_tensor: in f32[rows, columns];\n"
      "    n = 1):\n"
      "  grid bx = 1\n";
  EXPECT_EQ(formatted(text), text);
}

TEST(Format, HeaderOfExactlyHundredColumns) {
  std::string fits = "kernel f(A: in f32[" + std::string(78, 'M') + "]):\n  grid bx = 1\n";
  ASSERT_EQ(fits.find('\n'), 100U);
  EXPECT_EQ(formatted(fits), fits);
  std::string list = "def f(" + std::string(45, 'a') + ", " + std::string(45, 'b') + "):\n  return 1\n";
  ASSERT_EQ(list.find('\n'), 100U);
  EXPECT_EQ(formatted(list), list);
  std::string wider = "def f(" + std::string(45, 'a') + ", " + std::string(46, 'b') + "):\n  return 1\n";
  EXPECT_EQ(formatted(wider),
            "def f(" + std::string(45, 'a') + ",\n      " + std::string(46, 'b') + "):\n  return 1\n");
}

TEST(Format, LongStatementsBreakBehindOuterCommas) {
  std::string a(30, 'a');
  std::string text = in_kernel("  copy(" + a + "[1, 2], " + a + "[3, 4], " + a + "[5, 6])\n");
  EXPECT_EQ(formatted(text), in_kernel("  copy(" + a + "[1, 2], " + a + "[3, 4],\n      " + a + "[5, 6])\n"));
  EXPECT_EQ(formatted(formatted(text)), formatted(text));
}

TEST(Format, CommasInStringsAreNoPlaceToBreak) {
  std::string text = in_kernel("  print(\"" + std::string(50, 'x') + ", \\\", " + std::string(50, 'x') + "\", a)\n");
  std::string once = formatted(text);
  EXPECT_THAT(once, HasSubstr(",\n      a)"));
  EXPECT_EQ(formatted(once), once);
}

TEST(Format, CommentsInsideAStatementMoveBeforeIt) {
  EXPECT_EQ(formatted(in_kernel("  copy(a,  # source\n\n       # target\n       b)  # both\n")),
            in_kernel("  # source\n  # target\n  copy(a, b)  # both\n"));
}

TEST(Format, CommentsAtTheEndOfABlockStayInIt) {
  std::string text = in_kernel(
      "  for i in range(3):\n"
      "    if i == 1:\n"
      "      pass\n"
      "      # inner\n"
      "\n"
      "    # middle\n"
      "  # outer\n"
      "  pass\n");
  EXPECT_EQ(formatted(text), text);
}

TEST(Format, BlankLinesCollapse) {
  EXPECT_EQ(formatted("\n\ndef f():\n\n\n  x = 1\n\n\n\n  # c\n\n\n  return x\n\n\n\ndef g():\n  return 1\n"),
            "def f():\n  x = 1\n\n  # c\n\n  return x\n\ndef g():\n  return 1\n");
}

TEST(Format, CommentForms) {
  EXPECT_EQ(formatted("#a\n#\n#   b  \n##c\n#!d\n# \xff\n"), "# a\n#\n#   b\n##c\n#!d\n# \xff\n");
}

/// Trees made by programs have no spellings.
TEST(Format, LiteralsWithoutSpelling) {
  auto number = [](auto literal) { return std::make_shared<const Expr>(Expr{{}, literal}); };
  auto text = [&](const ExprRef& e) {
    Function f{"f", {}, {std::make_shared<const Stmt>(Stmt{{}, Return{e}, {}, ""})}};
    return format(File{nullptr, {Item{{}, f, {}, ""}}, {}});
  };
  EXPECT_EQ(text(number(FloatLit{1.0, ""})), "def f():\n  return 1.0\n");
  EXPECT_EQ(text(number(FloatLit{0.1, ""})), "def f():\n  return 0.1\n");
  EXPECT_EQ(text(number(FloatLit{1e300, ""})), "def f():\n  return 1e+300\n");
  EXPECT_EQ(text(number(IntLit{7, ""})), "def f():\n  return 7\n");
  EXPECT_EQ(text(number(FloatLit{-std::numeric_limits<double>::infinity(), ""})), "def f():\n  return -inf\n");
  auto product = number(Binary{"*", number(FloatLit{-2.5, ""}), number(Unary{"-", number(FloatLit{-1.0, ""})})});
  EXPECT_EQ(parsed(text(product)).items.size(), 1U);
}

}  // namespace
}  // namespace plait::syntax
