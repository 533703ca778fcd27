// What fragments take at one time.
#include "roles/live.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "roles/verify.h"
#include "text.h"

namespace plait::test {
namespace {

/// Registers at the worst place of a role with fragments a, b, c of 32 registers each and p of 16, and their names.
std::string most(const std::string& body, const std::string& fragments = "") {
  std::string text =
      "roles p(T: out f32[64, 64]) device h200:\n  launch 1\n"
      "  smem A_s: bf16[2, 64, 64] swizzle 128\n  smem B_s: bf16[64, 64] swizzle 128\n\n  role math warps 4:\n";
  for (const char* name : {"a", "b", "c"}) text += fmt::format("    fragment {}: f32[64, 64] wgmma_acc\n", name);
  text += "    fragment p: bf16[64, 64] wgmma_a\n" + fragments + body;
  const roles::Program program = good_roles(text);
  if (program.roles.empty()) return "";
  const roles::Pressure found = roles::pressure(program.roles.front());
  std::string out = std::to_string(found.registers);
  for (const roles::Fragment& fragment : found.fragments) out += " " + fragment->buffer->name;
  return out;
}

std::string each(const std::string& indent, const std::string& to, const std::string& value) {
  return fmt::format("{0}each r, k in {1}:\n{0}  {1}[r, k] = {2}\n", indent, to, value);
}

TEST(Live, FromWhatOverwritesItToWhatReadsItLast) {
  EXPECT_EQ(most(each("    ", "a", "1.0") + each("    ", "b", "a[r, k]") + each("    ", "c", "b[r, k]") +
                 "    store T[0, 0] <- c\n"),
            "64 b c");
  EXPECT_EQ(most(each("    ", "a", "1.0") + each("    ", "b", "2.0") + each("    ", "c", "a[r, k] + b[r, k]") +
                 "    store T[0, 0] <- c\n"),
            "96 a b c");
}

/// An iteration that overwrites a fragment leaves its registers free around it; one that adds to it does not.
TEST(Live, AroundLoops) {
  const std::string uses = each("      ", "b", "a[r, k]") + each("      ", "c", "c[r, k] + b[r, k]");
  const std::string frame = each("    ", "c", "0.0") + "    for i in range(4):\n";
  const std::string store = "    store T[0, 0] <- c\n";
  EXPECT_EQ(most(frame + each("      ", "a", "1.0") + uses + store), "96 a b c");
  EXPECT_EQ(most(each("    ", "a", "0.0") + frame + each("      ", "a", "a[r, k] + 1.0") + uses + store), "96 a b c");
  EXPECT_EQ(most(frame + each("      ", "a", "1.0") + each("      ", "c", "c[r, k] + a[r, k]") +
                 each("      ", "b", "2.0") + each("      ", "c", "c[r, k] + b[r, k]") + store),
            "64 b c");
  EXPECT_EQ(most(each("    ", "a", "0.0") + frame + each("      ", "a", "a[r, k] + 1.0") + each("      ", "b", "2.0") +
                 each("      ", "c", "c[r, k] + b[r, k]") + store),
            "96 a b c");
}

/// What is written under a condition keeps what it was, else.
TEST(Live, UnderConditions) {
  const std::string rest = "    store T[0, 0] <- a\n";
  EXPECT_EQ(most(each("    ", "a", "0.0") + each("    ", "b", "1.0") + "    if block == 0:\n" +
                 each("      ", "a", "1.0") + each("    ", "a", "a[r, k] + b[r, k]") + rest),
            "64 a b");
  EXPECT_EQ(most(each("    ", "b", "1.0") + "    store T[0, 0] <- b\n    if block == 0:\n" +
                 each("      ", "a", "1.0") + "    else:\n" + each("      ", "a", "2.0") + rest),
            "32 a");
}

std::string product(const std::string& indent, const std::string& acc, const std::string& a, const std::string& clear) {
  return fmt::format(
      "{0}fence wgmma\n{0}for kk in unrolled(4):\n{0}  wgmma {1}[0, 0] <- {2}, B_s[0, 16 * kk]^T{3}\n{0}wgmma_commit\n",
      indent, acc, a, clear);
}

/// Accumulators that a product clears are overwritten; operands and accumulators live until the product is awaited.
TEST(Live, Products) {
  const std::string tile = "A_s[0, 0, 16 * kk]";
  const std::string sum = each("    ", "c", "0.0") + "    for i in range(4):\n";
  const std::string rest = each("      ", "p", "bf16(a[r, k])") + product("      ", "c", "p[0, 16 * kk]", "") +
                           "      wgmma_await 0\n    store T[0, 0] <- c\n";
  EXPECT_EQ(most(sum + product("      ", "a", tile, " clear kk == 0") + "      wgmma_await 0\n" + rest), "80 a c p");
  // Another one while the second is under way: it holds p, and the first one a.
  const std::string early = each("      ", "p", "bf16(a[r, k])") + product("      ", "c", "p[0, 16 * kk]", "") +
                            product("      ", "b", tile, " clear kk == 0") +
                            "      wgmma_await 0\n    store T[0, 0] <- c\n";
  EXPECT_EQ(most(sum + product("      ", "a", tile, " clear kk == 0") + "      wgmma_await 0\n" + early), "80 b c p");
  EXPECT_EQ(
      most(each("    ", "b", "0.0") + sum + product("      ", "a", tile, " clear kk == 0") + "      wgmma_await 0\n" +
           rest.substr(0, rest.find("    store")) + each("    ", "b", "b[r, k]") + "    store T[0, 0] <- b\n"),
      "112 a b c p");
}

/// Rows that one instruction after the other clears.
TEST(Live, ProductsOfSeveralInstructions) {
  const std::string wide = "    fragment w: f32[128, 64] wgmma_acc\n    fragment q: bf16[128, 64] wgmma_a\n";
  auto text = [](int parts) {
    return fmt::format(
        "    for t in range(4):\n      fence wgmma\n      for i in unrolled({}):\n        for kk in unrolled(4):\n"
        "          wgmma w[64 * i, 0] <- A_s[i, 0, 16 * kk], B_s[0, 16 * kk]^T clear kk == 0\n"
        "      wgmma_commit\n      wgmma_await 0\n      each r, k in q:\n        q[r, k] = bf16(w[r, k])\n",
        parts);
  };
  EXPECT_EQ(most(text(2), wide), "96 w q");
  const std::string behind = each("      ", "a", "1.0") + each("      ", "b", "a[r, k]");
  EXPECT_EQ(most(text(2) + behind, wide), "96 w q");
  EXPECT_EQ(most(text(1) + behind, wide), "128 w a b");
}

}  // namespace
}  // namespace plait::test
