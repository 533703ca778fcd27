#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "plait/program.hpp"
#include "roundtrip.h"

namespace plait {
namespace {

using testing::HasSubstr;

/// The example of the language reference, with names for what C++ leaves unnamed.
Kernel matmul_relu(int block_M = 128, int block_N = 128, int block_K = 64) {
  KernelBuilder b("matmul_relu");
  auto [M, N, K] = b.dims("M", "N", "K");
  auto A = b.input("A", f16, {M, K}), B = b.input("B", f16, {K, N});
  auto C = b.output("C", f16, {M, N});
  auto [bx, by] = b.grid(ceildiv(N, block_N), ceildiv(M, block_M));
  auto As = b.shared(f16, {block_M, block_K}, {.name = "A_s"}), Bs = b.shared(f16, {block_K, block_N}, {.name = "B_s"});
  auto Cl = b.fragment(f32, {block_M, block_N}, {.name = "C_l"});
  b.clear(Cl);
  b.pipelined(ceildiv(K, block_K), {.stages = 3, .name = "k"}, [&](Var k) {
    b.copy(A(by * block_M, k * block_K), As);
    b.copy(B(k * block_K, bx * block_N), Bs);
    b.gemm(As, Bs, Cl);
  });
  b.parallel({block_M, block_N}, [&](Var i, Var j) { Cl(i, j) = max(Cl(i, j), 0); });
  b.copy(Cl, C(by * block_M, bx * block_N));
  return b.build();
}

TEST(Builder, MatmulEqualsTheTextForm) {
  auto text = test::load(R"(
kernel matmul_relu(A: in f16[M, K], B: in f16[K, N], C: out f16[M, N];
                   block_M = 128, block_N = 128, block_K = 64):
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
)");
  ASSERT_TRUE(text.ok()) << text.diagnostics().render();
  Kernel built = matmul_relu();
  EXPECT_TRUE(ir::equal(*text, *built.ir())) << ir::print(*text) << built.text();
  test::expect_round_trip(*built.ir());
}

Kernel softmax(DType dtype = f32, int block_M = 4, int block_N = 1024) {
  KernelBuilder b("softmax");
  auto [M, N] = b.dims("M", "N");
  auto X = b.input("X", dtype, {M, N}), Y = b.output("Y", dtype, {M, N});
  auto [bm] = b.grid({"bm", ceildiv(M, block_M)});
  auto x = b.fragment(f32, {block_M, block_N}, {.name = "x"});
  auto row_max = b.fragment(f32, {block_M}, {.name = "row_max"});
  auto last_max = b.fragment(f32, {block_M}, {.name = "last_max"});
  auto row_sum = b.fragment(f32, {block_M}, {.name = "row_sum"});
  auto shift = [&](const Value& i) { return select(row_max(i) == -INFINITY, 0.0, row_max(i)); };
  b.fill(row_max, -INFINITY);
  b.clear(row_sum);
  b.pipelined(ceildiv(N, block_N), {.stages = 2, .name = "j"}, [&](Var j) {
    b.copy(X(bm * block_M, j * block_N), x, {.pad = -INFINITY});
    b.copy(row_max, last_max);
    b.reduce_max(x, row_max, {.dim = 1, .clear = false});
    b.parallel({block_M, block_N}, {.names = {"i", "c"}}, [&](Var i, Var c) { x(i, c) = exp(x(i, c) - shift(i)); });
    b.parallel(block_M, [&](Var i) { row_sum(i) *= exp(last_max(i) - shift(i)); });
    b.reduce_sum(x, row_sum, {.dim = 1, .clear = false});
  });
  b.pipelined(ceildiv(N, block_N), {.stages = 2, .name = "j"}, [&](Var j) {
    b.copy(X(bm * block_M, j * block_N), x, {.pad = -INFINITY});
    b.parallel({block_M, block_N}, {.names = {"i", "c"}},
               [&](Var i, Var c) { x(i, c) = exp(x(i, c) - row_max(i)) / row_sum(i); });
    b.copy(x, Y(bm * block_M, j * block_N));
  });
  return b.build();
}

TEST(Builder, SoftmaxEqualsTheTextForm) {
  std::string source = test::read_file(PLAIT_SOURCE_DIR "/kernels/softmax.tile");
  auto text = test::load(source, {{"dtype", "bf16"}});
  ASSERT_TRUE(text.ok()) << text.diagnostics().render();
  Kernel built = softmax(bf16);
  EXPECT_TRUE(ir::equal(*text, *built.ir())) << ir::print(*text) << built.text();
}

}  // namespace
}  // namespace plait
