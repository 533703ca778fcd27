// Builds a matrix product as a tile program, compiles it for this machine, and runs it on this program's own buffers.
#include <cmath>
#include <cstdio>
#include <plait/plait.hpp>
#include <vector>

plait::Kernel matmul(int block_M = 64, int block_N = 64, int block_K = 64) {
  plait::KernelBuilder b("matmul");
  auto [M, N, K] = b.dims("M", "N", "K");
  auto A = b.input("A", plait::f32, {M, K}), B = b.input("B", plait::f32, {K, N});
  auto C = b.output("C", plait::f32, {M, N});
  auto [bx, by] = b.grid(ceildiv(N, block_N), ceildiv(M, block_M));
  auto A_s = b.shared(plait::f32, {block_M, block_K}), B_s = b.shared(plait::f32, {block_K, block_N});
  auto C_l = b.fragment(plait::f32, {block_M, block_N});
  b.clear(C_l);
  b.pipelined(ceildiv(K, block_K), {.stages = 3}, [&](plait::Var k) {
    b.copy(A(by * block_M, k * block_K), A_s);
    b.copy(B(k * block_K, bx * block_N), B_s);
    b.gemm(A_s, B_s, C_l);
  });
  b.copy(C_l, C(by * block_M, bx * block_N));
  return b.build();
}

int main() {
  const std::int64_t m = 100, n = 90, k = 70;
  std::vector<float> a(m * k), b(k * n), c(m * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  auto f = plait::compile(matmul(), {.device = "host"});
  f(plait::tensor(a.data(), {m, k}), plait::tensor(b.data(), {k, n}), plait::tensor(c.data(), {m, n}));
  double error = 0;
  for (std::int64_t i = 0; i < m * n; ++i) {
    double want = 0;
    for (std::int64_t j = 0; j < k; ++j) want += a[i / n * k + j] * b[j * n + i % n];
    error = std::max(error, std::fabs(want - c[i]));
  }
  std::printf("matmul %ldx%ldx%ld: largest error %g\n", long(m), long(n), long(k), error);
  return error == 0 ? 0 : 1;
}
