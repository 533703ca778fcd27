#include "lang/elaborate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "roundtrip.h"

namespace plait {
namespace {

using test::expect_round_trip;
using test::load;

constexpr const char* kMatmul = R"(
kernel matmul_relu(A: in f16[M, K], B: in f16[K, N], C: out f16[M, N];
                   block_M = 128, block_N = 128, block_K = 64):
  grid bx = ceildiv(N, block_N), by = ceildiv(M, block_M)
  A_s = shared f16[block_M, block_K]
  B_s = shared f16[block_K, block_N]
  C_l = fragment f32[block_M, block_N]
  clear(C_l)
  for k in pipelined(ceildiv(K, block_K), stages=3):     # or range(...): the planner decides
    copy(A[by * block_M, k * block_K], A_s)
    copy(B[k * block_K, bx * block_N], B_s)
    gemm(A_s, B_s, C_l)
  for i, j in parallel(block_M, block_N):
    C_l[i, j] = max(C_l[i, j], 0)
  copy(C_l, C[by * block_M, bx * block_N])
)";

TEST(Elaborate, MatmulOfTheDesign) {
  auto kernel = load(kMatmul, {{"block_K", "32"}});
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics().render();
  EXPECT_EQ(ir::print(*kernel), R"(kernel matmul_relu(A: in f16[M, K], B: in f16[K, N], C: out f16[M, N]):
  grid bx = ceildiv(N, 128), by = ceildiv(M, 128)
  A_s = shared f16[128, 32]
  B_s = shared f16[32, 128]
  C_l = fragment f32[128, 128]
  clear(C_l)
  for k in pipelined(ceildiv(K, 32), stages=3):
    copy(A[by * 128 : by * 128 + 128, k * 32 : k * 32 + 32], A_s)
    copy(B[k * 32 : k * 32 + 32, bx * 128 : bx * 128 + 128], B_s)
    gemm(A_s, B_s, C_l)
  for i, j in parallel(128, 128):
    C_l[i, j] = max(C_l[i, j], 0.0)
  copy(C_l, C[by * 128 : by * 128 + 128, bx * 128 : bx * 128 + 128])
)");
  expect_round_trip(*kernel);
}

}  // namespace
}  // namespace plait
