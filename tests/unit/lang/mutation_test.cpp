// Programs made from the kernel library by small changes: none brings plait down, each refusal is explained, and what
// is accepted survives printing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "roundtrip.h"

namespace plait {
namespace {

/// Words, numbers, runs of blanks and single signs.
std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> out;
  auto kind = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.' ? 1 : c == ' ' ? 2 : 3; };
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    int k = kind(static_cast<unsigned char>(text[i]));
    while (k != 3 && end < text.size() && kind(static_cast<unsigned char>(text[end])) == k) ++end;
    out.push_back(text.substr(i, end - i));
    i = end;
  }
  return out;
}

const std::vector<std::string>& spare_tokens() {
  static const std::vector<std::string> spare = {
      "0",       "1",      "-1",       "9223372036854775807",
      "0.5",     "true",   "f16",      "i8",
      "u64",     "bool",   "e2m1",     "inf",
      "nan",     "M",      "K",        "select",
      "bitcast", "not",    "and",      ":",
      ",",       "(",      ")",        "[",
      "]",       "%",      "<<",       "==",
      "pass",    "copy",   "gemm",     "fill",
      "i",       "rows",   "pad",      "A",
      "C_l",     "range",  "parallel", "shared",
      "local",   "=",      "+=",       "*",
      "print",   "assert", "return",   "if true:",
  };
  return spare;
}

std::string mutated(std::vector<std::string> tokens, std::mt19937_64& random) {
  auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::size_t changes = 1 + pick(3);
  for (std::size_t i = 0; i < changes && tokens.size() > 2; ++i) {
    std::size_t at = pick(tokens.size());
    switch (pick(5)) {
      case 0:
        tokens[at] = tokens[pick(tokens.size())];
        break;
      case 1:
        tokens[at] = spare_tokens()[pick(spare_tokens().size())];
        break;
      case 2:
        tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 3:
        tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at), tokens[pick(tokens.size())]);
        break;
      default:
        std::swap(tokens[at], tokens[pick(tokens.size())]);
        break;
    }
  }
  std::string out;
  for (const std::string& token : tokens) out += token;
  return out;
}

TEST(Mutations, AreRefusedOrSurvivePrinting) {
  std::vector<std::vector<std::string>> sources;
  for (const auto& entry : std::filesystem::directory_iterator(PLAIT_SOURCE_DIR "/kernels")) {
    if (entry.path().extension() == ".tile") sources.push_back(tokens_of(test::read_file(entry.path())));
  }
  ASSERT_FALSE(sources.empty());
  // The environment variable PLAIT_SOAK multiplies the rounds.
  const char* soak = std::getenv("PLAIT_SOAK");
  int rounds = 3000 * (soak != nullptr ? std::max(1, std::atoi(soak)) : 1);
  std::mt19937_64 random(1);
  int accepted = 0, elaborated = 0;
  for (int i = 0; i < rounds && !testing::Test::HasFailure(); ++i) {
    std::string text = mutated(sources[random() % sources.size()], random);
    SCOPED_TRACE(text);
    auto file = syntax::parse(std::make_shared<const SourceFile>("test.tile", text));
    if (!file) continue;
    ++elaborated;
    auto kernel = lang::elaborate(*file, "", {});
    if (kernel.ok()) {
      ++accepted;
      test::expect_round_trip(*kernel);
    } else {
      EXPECT_FALSE(kernel.diagnostics().render().empty());
    }
  }
  EXPECT_GT(accepted, rounds / 20) << elaborated << " parsed";
  EXPECT_GT(elaborated - accepted, rounds / 20);
}

}  // namespace
}  // namespace plait
