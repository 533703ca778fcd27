#include <sys/mman.h>

#include <cmath>
#include <limits>

#include "unit/interp/run.h"

// Small programs that broke other tile compilers, against plain loops.
namespace plait::test {
namespace {

using testing::Each;
using testing::ElementsAre;

std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, std::size_t m, std::size_t n,
                            std::size_t k) {
  std::vector<double> c(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t p = 0; p < k; ++p) {
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + p] * b[p * n + j];
    }
  }
  return c;
}

TEST(Cases, ReadThenRefillAndFillThenRead) {
  const char* text = R"(
kernel k(A: in i32[8, 32], S0: in i32[32], C: out i32[32]; fill_first = false, stages = 2):
  grid bx = 1
  threads 32
  S = shared i32[32]
  acc = fragment i32[32]
  clear(acc)
  copy(S0, S)
  for k in pipelined(8, stages=stages):
    if fill_first:
      copy(A[k, 0:32], S)
    for i in parallel(32):
      acc[i] += S[i]
    if not fill_first:
      copy(A[k, 0:32], S)
  copy(acc, C)
)";
  const std::vector<double> a = numbers(8 * 32, 1000), s0 = numbers(32, 1000, 5);
  for (const bool fill_first : {false, true}) {
    const ir::Kernel kernel = kernel_of(text, {{"fill_first", fill_first ? "true" : "false"}});
    Call call(kernel, {});
    call.set("A", a).set("S0", s0);
    expect_runs(kernel, call);
    for (std::size_t i = 0; i < 32; ++i) {
      double want = fill_first ? a[7 * 32 + i] : s0[i];
      for (std::size_t k = 0; k < 7; ++k) want += a[k * 32 + i];
      EXPECT_EQ(call.get("C")[i], want);
    }
  }
}

TEST(Cases, BiasCopiedBeforeAndUsedAfterThePipeline) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f16[M, K], B: in f16[K, N], bias: in f16[N], C: out f16[M, N]):
  grid bx = ceildiv(N, 32), by = ceildiv(M, 32)
  A_s = shared f16[32, 32]
  B_s = shared f16[32, 32]
  bias_s = shared f16[32]
  C_l = fragment f32[32, 32]
  copy(bias[bx * 32], bias_s)
  clear(C_l)
  for k in pipelined(ceildiv(K, 32), stages=3):
    copy(A[by * 32, k * 32], A_s)
    copy(B[k * 32, bx * 32], B_s)
    gemm(A_s, B_s, C_l)
  for i, j in parallel(32, 32):
    C_l[i, j] = max(C_l[i, j] + bias_s[j], 0)
  copy(C_l, C[by * 32, bx * 32])
)");
  Call call(kernel, {{"M", 64}, {"N", 96}, {"K", 128}});
  const std::vector<double> a = numbers(64 * 128, 2), b = numbers(128 * 96, 2, 2), bias = numbers(96, 50, 3);
  call.set("A", a).set("B", b).set("bias", bias);
  expect_runs(kernel, call);
  std::vector<double> want = product(a, b, 64, 96, 128);
  for (std::size_t n = 0; n < want.size(); ++n) want[n] = std::max(want[n] + bias[n % 96], 0.0);
  EXPECT_EQ(call.get("C"), want);
}

TEST(Cases, GuardedBodyInAPersistentLoop) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f16[64, 128], B: in f16[128, 32], C: out f32[64, 32]):
  grid bx = 2
  A_s = shared f16[16, 32]
  B_s = shared f16[32, 32]
  C_l = fragment f32[16, 32]
  for tile in persistent(4):
    clear(C_l)
    for k in pipelined(4, stages=2):
      if k < 2:
        copy(A[tile * 16, k * 32], A_s)
        copy(B[k * 32, 0], B_s)
        gemm(A_s, B_s, C_l)
    copy(C_l, C[tile * 16, 0])
)");
  Call call(kernel, {});
  const std::vector<double> a = numbers(64 * 128, 9), b = numbers(128 * 32, 9, 2);
  call.set("A", a).set("B", b);
  expect_runs(kernel, call);
  std::vector<double> want(64 * 32);
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = 0; j < 32; ++j) {
      for (std::size_t p = 0; p < 64; ++p) want[i * 32 + j] += a[i * 128 + p] * b[p * 32 + j];
    }
  }
  EXPECT_EQ(call.get("C"), want);
}

TEST(Cases, TripCountsAndStages) {
  const char* text = R"(
kernel k(A: in f32[N, 4], C: out f32[4]; stages = 1):
  grid bx = 1
  s = shared f32[4]
  acc = fragment f32[4]
  clear(acc)
  for k in pipelined(N, stages=stages):
    copy(A[k, 0:4], s)
    for i in parallel(4):
      acc[i] = acc[i] * 2 + s[i]
  copy(acc, C)
)";
  for (const std::int64_t n : {0, 1, 2, 3}) {
    const std::vector<double> a = numbers(n * 4, 100);
    for (const char* stages : {"1", "2", "3", "4"}) {
      const ir::Kernel kernel = kernel_of(text, {{"stages", stages}});
      Call call(kernel, {{"N", n}});
      call.set("A", a);
      expect_runs(kernel, call);
      for (std::size_t i = 0; i < 4; ++i) {
        double want = 0;
        for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) want = want * 2 + a[k * 4 + i];
        EXPECT_EQ(call.get("C")[i], want);
      }
    }
  }
}

TEST(Cases, LetsThatReadWhatTheLoopWrites) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in i32[16], C: out i32[16]):
  grid bx = 1
  s = shared i32[4]
  n = shared i32[1]
  n[0] = 1
  for k in pipelined(4, stages=2):
    before = n[0]
    at = k * 4
    copy(A[at], s)
    for i in parallel(4):
      C[at + i] = s[i] * before
    n[0] = before + s[0]
    C[at] = C[at] + n[0]
)");
  Call call(kernel, {});
  const std::vector<double> a = numbers(16, 20);
  call.set("A", a);
  expect_runs(kernel, call);
  std::vector<double> want;
  double before = 1;
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t i = 0; i < 4; ++i) want.push_back(a[k * 4 + i] * before);
    want[k * 4] += before + a[k * 4];
    before += a[k * 4];
  }
  EXPECT_EQ(call.get("C"), want);
}

TEST(Cases, TwoCopiesFillTwoHalves) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f32[8, 4], B: in f32[8, 4], C: out f32[8, 8]):
  grid bx = 1
  s = shared f32[2, 8]
  for k in pipelined(4, stages=2):
    copy(A[k * 2, 0], s[0:2, 0:4])
    copy(B[k * 2, 0], s[0:2, 4:8])
    copy(s, C[k * 2, 0])
)");
  Call call(kernel, {});
  call.set("A", iota(32)).set("B", iota(32, 100));
  expect_runs(kernel, call);
  for (std::size_t n = 0; n < 64; ++n) {
    const std::size_t row = n / 8, column = n % 8;
    EXPECT_EQ(call.get("C")[n], static_cast<double>(column < 4 ? row * 4 + column : 100 + row * 4 + column - 4));
  }
}

TEST(Cases, OneDimensionalCopies) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f32[N], B: out f32[N]; block = 256):
  grid bx = ceildiv(N, block)
  s = shared f32[block]
  copy(A[bx * block], s)
  copy(s, B[bx * block])
)");
  for (const std::int64_t n : {0, 61, 63, 64, 256, 1000}) {
    Call call(kernel, {{"N", n}});
    call.set("A", iota(n, 1));
    expect_runs(kernel, call);
    EXPECT_EQ(call.get("B"), iota(n, 1));
  }
}

TEST(Cases, ReductionsOfAnyWidth) {
  for (const int width : {48, 96, 100, 120, 127, 576}) {
    const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f32[width], B: out f32[2]; width: int):
  grid bx = 1
  threads 128
  s = fragment f32[width]
  total = fragment f32[1]
  most = fragment f32[1]
  copy(A, s)
  reduce_sum(s, total)
  reduce_absmax(s, most)
  B[0] = total[0]
  B[1] = most[0]
)",
                                        {{"width", std::to_string(width)}});
    Call call(kernel, {});
    std::vector<double> a = iota(width, 1);
    a[static_cast<std::size_t>(width) / 2] *= -1;
    call.set("A", a);
    expect_runs(kernel, call);
    EXPECT_THAT(call.get("B"), ElementsAre(width * (width + 1) / 2 - 2 * (width / 2 + 1), width));
  }
}

TEST(Cases, ConversionsThatRound) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in i32[2], x: f32, B: out bf16[3], C: out e5m2[1], y: bf16):
  grid bx = 1
  B[0] = bf16(A[0])
  B[1] = bf16(A[1])
  B[2] = exp(y)
  C[0] = x
)");
  Call call(kernel, {});
  call.set("A", {259, 33000}).set_scalar("x", std::numeric_limits<double>::infinity()).set_scalar("y", 1);
  expect_runs(kernel, call);
  EXPECT_THAT(call.get("B"), ElementsAre(260, 33024, 2.71875));
  EXPECT_THAT(call.get("C"), ElementsAre(std::numeric_limits<double>::infinity()));
}

TEST(Cases, ProductsOfF16AreNotRoundedToF16) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f16[16, 16], B: in f16[16, 16], C: out f32[16, 16]):
  grid bx = 1
  a = shared f16[16, 16]
  b = shared f16[16, 16]
  c = fragment f32[16, 16]
  copy(A, a)
  copy(B, b)
  clear(c)
  gemm(a, b, c)
  copy(c, C)
)");
  Call call(kernel, {});
  call.set("A", std::vector<double>(256, 300)).set("B", std::vector<double>(256, 300));
  expect_runs(kernel, call);
  EXPECT_THAT(call.get("C"), Each(1440000));
}

TEST(Cases, PaddingValue) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f32[M, N], B: out f32[64, 64]):
  grid bx = 1
  s = shared f32[64, 64]
  copy(A[0, 0], s, pad=-99)
  copy(s, B)
)");
  Call call(kernel, {{"M", 60}, {"N", 60}});
  call.set("A", iota(3600));
  expect_runs(kernel, call);
  for (std::size_t n = 0; n < 4096; ++n) {
    const bool inside = n / 64 < 60 && n % 64 < 60;
    ASSERT_EQ(call.get("B")[n], inside ? static_cast<double>(n / 64 * 60 + n % 64) : -99);
    if (n > 200 && n < 3800) n += 37;
  }
}

TEST(Cases, PaddedTilesAndSlicesAsOperands) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f16[8, 16], B: in f16[8, 16], left: out f16[8, 5], C: out f32[8, 16]):
  grid bx = 1
  a = shared f16[8, 16] pad 8
  b = shared f16[8, 16] pad 3
  c = fragment f32[8, 16]
  copy(A, a)
  copy(B, b)
  copy(a[0:8, 0:5], left)
  gemm(a[0:8, 0:8], b[0:8, 0:8], c[0:8, 0:8], clear_accum=true)
  gemm(a[0:8, 8:16], b[0:8, 8:16], c[0:8, 8:16], clear_accum=true)
  copy(c, C)
)");
  Call call(kernel, {});
  const std::vector<double> a = numbers(128, 9), b = numbers(128, 9, 2);
  call.set("A", a).set("B", b);
  expect_runs(kernel, call);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(call.get("left")[i * 5 + j], a[i * 16 + j]);
    for (std::size_t j = 0; j < 16; ++j) {
      double want = 0;
      for (std::size_t p = 0; p < 8; ++p) want += a[i * 16 + j / 8 * 8 + p] * b[p * 16 + j];
      EXPECT_EQ(call.get("C")[i * 16 + j], want);
    }
  }
}

TEST(Cases, FlatIndexAbove2To31) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in u8[2, N] strides [lda, 1], V: in u8[L], C: out u8[4]):
  grid bx = 1
  s = shared u8[1, 2]
  C[0] = A[1, 5]
  C[1] = V[2147483653]
  copy(A[1, 5], s)
  C[2] = s[0, 1]
  copy(V[2147483653], s)
  C[3] = s[0, 1]
)");
  const std::int64_t pitch = (std::int64_t{1} << 31) + 8, bytes = pitch + 4096;
  void* memory = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* data = static_cast<std::uint8_t*>(memory);
  data[pitch + 5] = 77;
  data[pitch + 6] = 78;
  data[2147483653] = 55;
  data[2147483654] = 56;
  Call call(kernel, {{"N", 64}, {"lda", 64}, {"L", 1}});
  call.view("A").data = call.view("V").data = memory;
  call.view("A").strides[0] = pitch;
  call.view("V").shape[0] = bytes;
  expect_runs(kernel, call);
  EXPECT_THAT(call.get("C"), ElementsAre(77, 55, 78, 56));
  munmap(memory, static_cast<std::size_t>(bytes));
}

TEST(Cases, TableIndexedModuloItsRows) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f32[7, 4], B: in f32[K, 4], C: out f32[7, 4]):
  grid bx = 1
  s = shared f32[1, 4]
  for j in pipelined(7, stages=2):
    copy(B[j % K, 0], s)
    for i in parallel(4):
      C[j, i] = A[j, i] * s[0, i] + B[(j + 1) % K, i]
)");
  for (const std::int64_t rows : {2, 3}) {
    Call call(kernel, {{"K", rows}});
    const std::vector<double> a = numbers(28, 9), b = numbers(rows * 4, 9, 2);
    call.set("A", a).set("B", b);
    expect_runs(kernel, call);
    const auto k = static_cast<std::size_t>(rows);
    for (std::size_t j = 0; j < 7; ++j) {
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(call.get("C")[j * 4 + i], a[j * 4 + i] * b[j % k * 4 + i] + b[(j + 1) % k * 4 + i]);
      }
    }
  }
}

TEST(Cases, SymbolicExtents) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f16[M, K], B: in f16[K, N], C: out f32[M, N]):
  grid bx = ceildiv(N, 64), by = ceildiv(M, 128)
  A_s = shared f16[128, 16]
  B_s = shared f16[16, 64]
  C_l = fragment f32[128, 64]
  clear(C_l)
  for k in pipelined(ceildiv(K, 16), stages=2):
    copy(A[by * 128, k * 16], A_s)
    copy(B[k * 16, bx * 64], B_s)
    gemm(A_s, B_s, C_l)
  copy(C_l, C[by * 128, bx * 64])
)");
  for (const std::int64_t m : {0, 1, 255, 257}) {
    for (const std::int64_t n : {0, 1, 256}) {
      for (const std::int64_t k : {0, 17}) {
        Call call(kernel, {{"M", m}, {"N", n}, {"K", k}});
        const std::vector<double> a = numbers(m * k, 9), b = numbers(k * n, 9, 2);
        call.set("A", a).set("B", b).set("C", std::vector<double>(static_cast<std::size_t>(m * n), NAN));
        expect_runs(kernel, call);
        EXPECT_EQ(call.get("C"),
                  product(a, b, static_cast<std::size_t>(m), static_cast<std::size_t>(n), static_cast<std::size_t>(k)));
      }
    }
  }
}

TEST(Cases, PipelinedLoopsInAWhileAndAfterEachOther) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in i32[8], C: out i32[2]):
  grid bx = 1
  s = shared i32[1]
  n = shared i32[3]
  clear(n)
  while n[0] < 3:
    for k in pipelined(n[0] + 1, stages=2):
      copy(A[k], s)
      n[1] += s[0]
    for k in pipelined(2, stages=3):
      copy(A[k + 4], s)
      n[2] += s[0]
    n[0] += 1
  copy(n[1:3], C)
)");
  Call call(kernel, {});
  call.set("A", {1, 10, 100, 1000, 7, 8, 0, 0});
  expect_runs(kernel, call);
  EXPECT_THAT(call.get("C"), ElementsAre(123, 45));
}

}  // namespace
}  // namespace plait::test
