#include "unit/cpu/run.h"

namespace plait::test {
namespace {

using testing::HasSubstr;

/// What running the program reports, with `n` in I[0].
std::string report(const std::string& body, double n, const cpu::Options& options = {}) {
  const ir::Kernel kernel = kernel_of(
      "kernel k(A: inout f32[M, 20], I: in i32[1], C: inout i32[4]):\n  grid b = 1\n  n = i64(I[0])\n" + body);
  Call call(kernel, {{"M", 10}});
  call.set("I", {n});
  return run_blocks(code_of(kernel, options), call.args());
}

TEST(Checks, IndexOutOfBounds) {
  const std::string body = "  A[n, 3] = 1\n";
  EXPECT_EQ(report(body, 9), "");
  EXPECT_EQ(report(body, 10), "4: index 10 leaves dimension 0 of A, whose extent is 10 [out-of-bounds]");
  EXPECT_EQ(report(body, -1), "4: index -1 leaves dimension 0 of A, whose extent is 10 [out-of-bounds]");
  EXPECT_EQ(report("  C[0] = i32(A[2, n])\n", 25),
            "4: index 25 leaves dimension 1 of A, whose extent is 20 [out-of-bounds]");
}

TEST(Checks, IndexInLanes) {
  const std::string body = "  for i in parallel(20):\n    A[3, i + n] = 1\n";
  EXPECT_EQ(report(body, 0), "");
  EXPECT_EQ(report(body, 1), "5: index 20 leaves dimension 1 of A, whose extent is 20 [out-of-bounds]");
  EXPECT_EQ(report(body, -2), "5: index -2 leaves dimension 1 of A, whose extent is 20 [out-of-bounds]");
  const std::string guarded = "  for i in parallel(20):\n    if i + n < 20 and i + n >= 0:\n      A[3, i + n] = 1\n";
  EXPECT_EQ(report(guarded, 7), "");
  EXPECT_EQ(report(guarded, -7), "");
  EXPECT_EQ(report("  for i in parallel(20):\n    if i < 15:\n      A[3, i + n] = 1\n", 6),
            "6: index 20 leaves dimension 1 of A, whose extent is 20 [out-of-bounds]");
  EXPECT_EQ(report("  for i in parallel(9):\n    A[i * i % n, i] = 1\n", 11), "");
  EXPECT_THAT(report("  for i in parallel(9):\n    A[i * i % n, i] = 1\n", 13),
              HasSubstr("leaves dimension 0 of A, whose extent is 10"));
}

TEST(Checks, OnChipBuffersAndTiles) {
  const std::string body = "  S = shared f32[8, 20]\n  clear(S)\n  S[n, 0] = 1\n";
  EXPECT_EQ(report(body, 8), "6: index 8 leaves dimension 0 of S, whose extent is 8 [out-of-bounds]");
  const std::string tile = "  S = shared f32[8, 20]\n  clear(S)\n  copy(S[n : n + 2, 0:20], A[0, 0])\n";
  EXPECT_EQ(report(tile, 6), "");
  EXPECT_EQ(report(tile, 7),
            "6: the tile of S begins at 7 in dimension 0 and has extent 2, the buffer has 8 [out-of-bounds]");
  EXPECT_EQ(report(tile, -1),
            "6: the tile of S begins at -1 in dimension 0 and has extent 2, the buffer has 8 [out-of-bounds]");
  EXPECT_EQ(report("  fill(A[n : n + 4, 0:20], 1)\n", 7),
            "4: the tile of A begins at 7 in dimension 0 and has extent 4, the buffer has 10 [out-of-bounds]");
}

TEST(Checks, DivisionByZero) {
  EXPECT_EQ(report("  C[0] = i32(7 / n)\n", 0), "4: division by zero [division-by-zero]");
  EXPECT_EQ(report("  C[0] = i32(7 % n)\n", 2), "");
  EXPECT_EQ(report("  for i in parallel(4):\n    C[i] = i32(7 % (i - n))\n", 3),
            "5: division by zero [division-by-zero]");
  EXPECT_EQ(report("  for i in parallel(4):\n    if i != n:\n      C[i] = i32(ceildiv(7, i - n))\n", 3), "");
  EXPECT_EQ(report("  for i in parallel(4):\n    C[i] = select(n == 0, 0, i32(7 / n))\n", 0), "");
}

TEST(Checks, Asserts) {
  EXPECT_EQ(report("  assert n > 3, \"n is {} small\"\n", 3), "4: assertion failed: n is {} small [assert-failed]");
  EXPECT_EQ(report("  assert n > 3\n", 2), "4: assertion failed: n > 3 [assert-failed]");
  EXPECT_EQ(report("  for i in parallel(10):\n    if i < n:\n      assert i < 4, \"lane\"\n", 4), "");
  EXPECT_EQ(report("  for i in parallel(10):\n    if i < n:\n      assert i < 4, \"lane\"\n", 5),
            "6: assertion failed: lane [assert-failed]");
}

TEST(Checks, LoopSteps) {
  EXPECT_EQ(report("  for i in range(0, 4, n):\n    C[i] = 1\n", 2), "");
  EXPECT_EQ(report("  for i in range(0, 4, n):\n    C[i] = 1\n", 0), "4: the step of the loop is 0 [loop-step]");
}

TEST(Checks, OffLeavesOnlyTheDivisionAndAssertChecks) {
  cpu::Options off;
  off.checks = false;
  EXPECT_EQ(report("  if n > 100:\n    A[n, 3] = 1\n", 9, off), "");
  EXPECT_EQ(report("  C[0] = i32(7 / n)\n", 0, off), "4: division by zero [division-by-zero]");
  EXPECT_EQ(report("  assert n > 3\n", 2, off), "4: assertion failed: n > 3 [assert-failed]");
  const auto code =
      cpu::compile(kernel_of("kernel k(A: inout f32[20], I: in i32[1]):\n  grid b = 1\n  A[I[0]] = 1\n"), off);
  EXPECT_TRUE(code->traps.empty());
}

TEST(Checks, ProvedAccessesHaveNone) {
  const auto code = code_of(kernel_of(R"(
kernel k(A: in f32[M, N], C: out f32[M, N]):
  grid x = ceildiv(N, 32), y = M
  S = shared f32[32]
  copy(A[y, x * 32], S)
  for i in parallel(32):
    S[i] *= 2
    if x * 32 + i < N:
      C[y, x * 32 + i] = S[i]
)"));
  EXPECT_TRUE(code.traps.empty()) << code.traps[0].message;
}

}  // namespace
}  // namespace plait::test
