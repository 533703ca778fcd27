#include <cmath>

#include "unit/interp/run.h"

namespace plait::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr const char* matmul_text = R"(
kernel matmul(A: in f16[M, K], B: in f16[K, N], C: out f32[M, N]; block_M = 16, block_N = 32, block_K = 8):
  grid bx = ceildiv(N, block_N), by = ceildiv(M, block_M)
  A_s = shared f16[block_M, block_K]
  B_s = shared f16[block_K, block_N]
  C_l = fragment f32[block_M, block_N]
  clear(C_l)
  for k in pipelined(ceildiv(K, block_K), stages=3):
    copy(A[by * block_M, k * block_K], A_s)
    copy(B[k * block_K, bx * block_N], B_s)
    gemm(A_s, B_s, C_l)
  for i, j in parallel(block_M, block_N):
    C_l[i, j] = max(C_l[i, j], 0)
  copy(C_l, C[by * block_M, bx * block_N])
)";

std::vector<double> relu_product(const std::vector<double>& a, const std::vector<double>& b, std::size_t m,
                                 std::size_t n, std::size_t k) {
  std::vector<double> c;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
      c.push_back(std::max(sum, 0.0));
    }
  }
  return c;
}

TEST(Interp, MatmulWhoseExtentsDoNotDivide) {
  const ir::Kernel kernel = kernel_of(matmul_text);
  for (const std::int64_t m : {0, 1, 16, 33}) {
    for (const std::int64_t k : {0, 1, 8, 21}) {
      const std::int64_t n = 37;
      Call call(kernel, {{"M", m}, {"N", n}, {"K", k}});
      const std::vector<double> a = numbers(m * k, 9), b = numbers(k * n, 9, 2);
      call.set("A", a).set("B", b).set("C", std::vector<double>(static_cast<std::size_t>(m * n), NAN));
      expect_runs(kernel, call);
      EXPECT_EQ(call.get("C"), relu_product(a, b, static_cast<std::size_t>(m), 37, static_cast<std::size_t>(k)));
    }
  }
}

TEST(Interp, GemmRoundsOncePerStep) {
  // With a rounded product, 1 + x·x would lose its last bits: x·x = 2^-22 + 2^-34 + 2^-46 + …, and the sum is rounded
  // once.
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f32[1, 2], B: in f32[2, 1], C: out f32[1, 1]):
  grid bx = 1
  a = shared f32[1, 2]
  b = shared f32[2, 1]
  c = fragment f32[1, 1]
  copy(A, a)
  copy(B, b)
  gemm(a, b, c, clear_accum=true)
  copy(c, C)
)");
  const float x = 1.0f + 0x1p-12f, y = -1.0f - 0x1p-11f;
  Call call(kernel, {});
  call.set("A", {y, x}).set("B", {1.0f, x});
  expect_runs(kernel, call);
  EXPECT_THAT(call.get("C"), ElementsAre(std::fmaf(x, x, y)));
  EXPECT_NE(static_cast<float>(call.get("C")[0]), x * x + y);
}

TEST(Interp, GemmOfIntegersAndTransposes) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in i8[3, 2], B: in i8[4, 3], C: inout i32[2, 4]):
  grid bx = 1
  a = shared i8[3, 2]
  b = shared i8[4, 3]
  c = fragment i32[2, 4]
  copy(A, a)
  copy(B, b)
  copy(C, c)
  gemm(a, b, c, trans_A=true, trans_B=true)
  copy(c, C)
)");
  Call call(kernel, {});
  call.set("A", {1, 2, 3, 4, 5, 6}).set("B", iota(12, -128)).set("C", {1, 1, 1, 1, 0, 0, 0, 2147483647});
  expect_runs(kernel, call);
  std::vector<double> want;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) {
      int sum = i == 0 ? 1 : 0;
      for (int k = 0; k < 3; ++k) sum += (2 * k + 1 + i) * (-128 + 3 * j + k);
      want.push_back(sum);
    }
  }
  want[7] += 2147483647.0;
  EXPECT_EQ(call.get("C"), want);
}

TEST(Interp, PersistentIterationsGoRoundTheBlocks) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(by_block: out i32[5, 3]):
  grid bx = 2, by = 2
  for i, j in persistent(5, 3):
    by_block[i, j] = i32(bx + by * 2)
)");
  Call call(kernel, {});
  expect_runs(kernel, call);
  std::vector<double> want;
  for (int t = 0; t < 15; ++t) want.push_back(t % 4);
  EXPECT_EQ(call.get("by_block"), want);
}

TEST(Interp, LoopsBreakContinueAndWhile) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(out_values: out i32[4]):
  grid bx = 1
  n = shared i32[4]
  fill(n, 0)
  for i in range(3, 20, 4):
    n[0] += i32(i)
  for i in range(10):
    if i == 7:
      break
    if i % 2 == 0:
      continue
    n[1] += i32(i)
  while n[2] < 100:
    n[2] = n[2] * 2 + 1
    if n[2] == 31:
      break
  for i in range(5, 5):
    n[3] = 1
  for i in unrolled(3):
    for j in vectorized(i):
      n[3] += i32(j + 1)
  copy(n, out_values)
)");
  Call call(kernel, {});
  expect_runs(kernel, call);
  EXPECT_THAT(call.get("out_values"), ElementsAre(3 + 7 + 11 + 15 + 19, 1 + 3 + 5, 31, 1 + 1 + 2));
}

TEST(Interp, PrintsValuesOfEveryKind) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f16[1], n: i32, big: u64, done: bool, out_values: out i32[1]):
  grid bx = 2
  print("block {}: n = {}, big = {}, done = {}, A = {}, x = {}", bx, n, big, done, A[0], f64(n) / 3.0)
  if bx == 0:
    out_values[0] = n
)");
  Call call(kernel, {});
  call.set("A", {0.1}).set_scalar("n", -3).set_scalar("done", 1);
  std::vector<std::string> lines;
  interp::Options options;
  options.print = [&](const std::string& line) { lines.push_back(line); };
  ir::BoundArgs args = call.args();
  args.scalars[1].i = -1;
  const Diagnostics found = interp::interpret(kernel, args, options);
  EXPECT_TRUE(found.empty()) << found.render();
  EXPECT_THAT(lines, ElementsAre("block 0: n = -3, big = 18446744073709551615, done = true, A = 0.099975586, x = -1",
                                 "block 1: n = -3, big = 18446744073709551615, done = true, A = 0.099975586, x = -1"));
}

TEST(Interp, OnlyWhatIsNeededIsEvaluated) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in i32[N], out_values: out i32[4]):
  grid bx = 1
  i = N
  out_values[0] = select(i < N, A[i], -1)
  if i < N and A[i] > 0:
    out_values[1] = 1
  else:
    out_values[1] = 2
  if i >= N or A[i] > 0:
    out_values[2] = 3
  else:
    out_values[2] = 4
  out_values[3] = select(N == 0, i32(5), i32(6))
)");
  for (const std::int64_t n : {0, 2}) {
    Call call(kernel, {{"N", n}});
    expect_runs(kernel, call);
    EXPECT_THAT(call.get("out_values"), ElementsAre(-1, 2, 3, n == 0 ? 5 : 6));
  }
}

TEST(Interp, StridesAndEmptyGrid) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f32[M, N] strides [lda, 1], B: out f32[N, M] strides [1, ldb]):
  grid bx = M
  row = fragment f32[1, 4]
  copy(A[bx, 0], row)
  for j in parallel(4):
    if j < N:
      B[j, bx] = row[0, j] + 0.5
)");
  Call call(kernel, {{"M", 3}, {"N", 4}, {"lda", 7}, {"ldb", 5}});
  call.set("A", iota(12));
  expect_runs(kernel, call);
  EXPECT_THAT(call.get("B"), ElementsAre(0.5, 4.5, 8.5, 1.5, 5.5, 9.5, 2.5, 6.5, 10.5, 3.5, 7.5, 11.5));
  Call none(kernel, {{"M", 0}, {"N", 4}, {"lda", 7}, {"ldb", 5}});
  expect_runs(kernel, none);
}

TEST(Interp, NarrowTypesShareBytes) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in u4[5], B: out i2[5], C: inout u1[9]):
  grid bx = 1
  for i in parallel(5):
    B[i] = i2(A[i])
    C[i + 2] = u1(A[i])
)");
  Call call(kernel, {});
  call.set("A", {0, 1, 2, 3, 15}).set("C", {1, 1, 1, 1, 1, 1, 1, 1, 1});
  expect_runs(kernel, call);
  EXPECT_THAT(call.get("B"), ElementsAre(0, 1, -2, -1, -1));
  EXPECT_THAT(call.get("C"), ElementsAre(1, 1, 0, 1, 0, 1, 1, 1, 1));
}

TEST(Interp, GridOfThreeAxes) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: out i64[2, 3, 4]):
  grid x = 4, y = 3, z = 2
  A[z, y, x] = x + 10 * y + 100 * z
)");
  Call call(kernel, {});
  expect_runs(kernel, call);
  std::vector<double> want;
  for (int z = 0; z < 2; ++z) {
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 4; ++x) want.push_back(x + 10 * y + 100 * z);
    }
  }
  EXPECT_THAT(call.get("A"), ElementsAreArray(want));
}

}  // namespace
}  // namespace plait::test
