#include "unit/cpu/run.h"

namespace plait::test {
namespace {

using testing::IsEmpty;

TEST(Parallel, TailsOfEveryLength) {
  for (const std::int64_t n : {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33}) {
    expect_as_interpreted(R"(
kernel k(A: in f32[N], B: inout f16[N], C: out i8[N]):
  grid b = 1
  for i in parallel(N):
    B[i] = f16(A[i] * 2) + B[i]
    C[i] = i8(A[i])
)",
                          {{"N", n}});
  }
}

TEST(Parallel, OffsetsAndMultiplesOfTheLaneNumber) {
  expect_as_interpreted(R"(
kernel k(A: in f32[100], C: inout f32[100], D: inout f32[100]):
  grid b = 1
  for i in parallel(87):
    C[i + 3] = A[i] * 2
  for i in parallel(29):
    D[3 * i + 3] = A[98 - 3 * i] * 2
)");
}

TEST(Parallel, TwoAxesAndLiteralExtents) {
  expect_as_interpreted(R"(
kernel k(A: in f32[M, N], s: in f32[M], C: out f32[M, N], T: out f32[N, M]):
  grid b = 1
  for i, j in parallel(M, N):
    C[i, j] = A[i, j] * s[i] + f32(j)
    T[j, i] = A[i, j]
)",
                        {{"M", 5}, {"N", 19}});
  expect_as_interpreted(R"(
kernel k(A: in f32[6, 37], C: out f32[6, 37], D: out f32[37, 3]):
  grid b = 1
  x = fragment f32[6, 37]
  copy(A[0, 0], x)
  for i, j in parallel(6, 37):
    x[i, j] = x[i, j] * 2 + 1
  copy(x, C[0, 0])
  for j, i in parallel(37, 3):
    D[j, i] = x[i, j]
)");
}

TEST(Parallel, QuotientsRemaindersAndComparisonsOfLaneNumbers) {
  expect_as_interpreted(R"(
kernel k(A: in i64[N], C: out i64[8, M, N], E: out bool[7, M, N]):
  grid b = 1
  for i, j in parallel(M, N):
    t = i * 64 + j
    C[0, i, j] = t / 64 + t % 64 * 100
    C[1, i, j] = t / 8 * 1000 + t % 8
    C[2, i, j] = t / 5 * 1000 + t % 5
    C[3, i, j] = (t * 16) / 8 + (t * 16) % 8 + (t * 16) / 32
    C[4, i, j] = ceildiv(t, 32) + ceildiv(t + 1, 7)
    C[5, i, j] = (t - 100) / 8 + (t - 100) % 8
    C[6, i, j] = (96 - t) / 16 + t / -8
    C[7, i, j] = A[t / 16 % N] + A[j % 8]
    E[0, i, j] = t < N
    E[1, i, j] = t <= N + 30
    E[2, i, j] = N > j
    E[3, i, j] = N >= j + 3
    E[4, i, j] = j - 4 < N - 30
    E[5, i, j] = 2 * j < N
    E[6, i, j] = j > 12
)",
                        {{"M", 3}, {"N", 77}});
}

TEST(Parallel, MaskedIfs) {
  expect_as_interpreted(R"(
kernel k(A: in i32[N], C: out i32[N], D: inout i32[N]):
  grid b = 1
  for i in parallel(N):
    C[i] = 0
    if A[i] > 0:
      C[i] = A[i]
      if i + 1 < N:
        C[i] += A[i + 1]
    elif i % 3 == 0:
      C[i] = -1
    else:
      D[i] = 7
    if N > 5:
      D[i] += 1
)",
                        {{"N", 29}});
}

TEST(Parallel, SerialLoopsAndPrivateBuffers) {
  expect_as_interpreted(R"(
kernel k(A: in f32[N, K], C: out f32[N], D: out f32[N]):
  grid b = 1
  for i in parallel(N):
    acc = local f32[2]
    acc[0] = 0
    acc[1] = 1
    for k in range(K):
      if k % 5 == 4:
        continue
      if k > 9:
        break
      acc[k % 2] += A[i, k]
    C[i] = acc[0]
    D[i] = acc[i % 2]
    t = 0
    while acc[0] < -1000:
      acc[0] += 1
)",
                        {{"N", 19}, {"K", 12}});
}

TEST(Parallel, LargePrivateBuffersLiveInScratch) {
  const char* text = R"(
kernel k(A: in f32[N], C: out f32[N]):
  grid b = 1
  for i in parallel(N):
    h = local f32[100]
    for q in range(100):
      h[q] = A[i] + f32(q)
    C[i] = h[99] + h[i % 100]
)";
  expect_as_interpreted(text, {{"N", 19}});
  EXPECT_GT(code_of(kernel_of(text)).scratch_bytes, 100 * 4);
}

TEST(Parallel, GatherScatterAndStrides) {
  expect_as_interpreted(R"(
kernel k(A: in f32[64], I: in u8[16], C: out f32[64], P: in f32[2, 20] strides [s, 2], Q: out f32[20]):
  grid b = 1
  S = shared f32[64]
  for i in parallel(64):
    S[63 - i] = A[i]
  for i in parallel(32):
    C[2 * i] = S[i]
    C[2 * i + 1] = S[i64(I[i / 2]) % 64]
  for i in parallel(20):
    Q[i] = P[0, i] + P[1, i]
)",
                        {{"s", 50}});
}

TEST(Parallel, PackedTypesInGlobalMemory) {
  for (const char* type : {"i1", "u1", "i2", "u2", "i4", "u4", "e2m1"}) {
    SCOPED_TRACE(type);
    expect_as_interpreted(
        std::string("kernel k(A: in ") + type + "[N], C: out " + type + "[N], D: inout " + type + R"([N]):
  grid b = 1
  for i in parallel(N):
    C[N - 1 - i] = A[i]
    if i % 3 == 1:
      D[i] = A[i]
)",
        {{"N", 23}});
  }
}

TEST(Parallel, AtomicsOnChipAndGlobal) {
  expect_as_interpreted(R"(
kernel k(A: in u8[N], C: inout i32[16], D: inout f32[2], E: inout f16[1], F: inout u64[2]):
  grid b = 1
  h = shared i32[16]
  clear(h)
  for i in parallel(N):
    atomic_add(h[A[i] % 16], 1)
    atomic_add(C[A[i] % 16], 2)
    if A[i] > 3:
      atomic_max(D[0], f32(A[i]))
      atomic_min(D[1], f32(A[i]))
    atomic_add(E[0], 1)
    atomic_max(F[i % 2], u64(A[i]))
  atomic_add(C, h)
)",
                        {{"N", 77}});
}

TEST(Parallel, ScalarFallbackSaysWhy) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in i32[N], C: out i32[N]):
  grid b = 1
  for i in parallel(N):
    C[i] = 0
    for q in range(A[i]):
      C[i] += 1
)");
  const cpu::Code code = code_of(kernel);
  ASSERT_EQ(code.slow_paths.size(), 1U);
  EXPECT_EQ(code.slow_paths[0].message,
            "this parallel loop runs one iteration at a time: the bounds of an inner loop differ between iterations");
  EXPECT_EQ(code.slow_paths[0].loc.line, 6);
  Call call(kernel, {{"N", 3}});
  call.set("A", {4, -1, 2});
  expect_runs(kernel, call);
  EXPECT_EQ(call.get("C"), (std::vector<double>{4, 0, 2}));
}

TEST(Parallel, OtherReasonsForScalarCode) {
  const auto reason = [](const std::string& body) {
    const auto code = code_of(kernel_of(
        "kernel k(A: in i32[N], C: out i32[N]):\n  grid b = 1\n  for i in parallel(N):\n    C[i] = 1\n" + body));
    return code.slow_paths.empty() ? std::string() : code.slow_paths[0].message;
  };
  const std::string start = "this parallel loop runs one iteration at a time: ";
  EXPECT_EQ(reason("    print(\"{}\", i)\n"), start + "`print` writes one iteration after the other");
  EXPECT_EQ(reason("    while C[i] < A[i]:\n      C[i] += 1\n"),
            start + "the condition of `while` differs between iterations");
  EXPECT_EQ(reason("    for q in range(4):\n      if A[i] == q:\n        break\n      C[i] += 1\n"),
            start + "`break` or `continue` is taken by some iterations and not by others");
  EXPECT_EQ(reason(""), "");
}

TEST(Parallel, PersistentIterationsAreSpreadOverTheGrid) {
  expect_as_interpreted(R"(
kernel k(C: inout i32[M, N]):
  grid x = 3, y = 2
  for i, j in persistent(M, N):
    for q in parallel(1):
      C[i, j] += i32(x + 10 * y + 100)
)",
                        {{"M", 5}, {"N", 7}});
}

TEST(Serial, LoopsWithBreakContinueAndSteps) {
  expect_as_interpreted(R"(
kernel k(C: out i64[8]):
  grid b = 1
  t = local i64[1]
  for q in range(8):
    C[q] = 0
  for i in range(10):
    if i == 3:
      continue
    if i > 6:
      break
    C[0] += i
  for i in range(1, 20, 4):
    C[1] += i
  for i in range(5, 2):
    C[2] += 1
  for i in unrolled(4):
    C[3] += i
  for i in vectorized(4):
    C[4] += i
  for i in range(9223372036854775800, 9223372036854775807, 5):
    C[5] += 1
  t[0] = 0
  while t[0] < 5:
    t[0] += 1
    if t[0] == 2:
      continue
    C[6] += t[0]
)");
}

TEST(Serial, PipelinedLoopsRunInOrder) {
  expect_as_interpreted(R"(
kernel k(A: in i32[8, 32], S0: in i32[32], C: out i32[32]):
  grid b = 1
  S = shared i32[32]
  acc = fragment i32[32]
  clear(acc)
  copy(S0, S)
  for k in pipelined(8, stages=3):
    for i in parallel(32):
      acc[i] += S[i]
    copy(A[k, 0:32], S)
  copy(acc, C)
)");
}

TEST(Serial, PrintWritesALine) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f32[2], C: out f32[1]):
  grid b = 1
  C[0] = 0
  for i in range(2):
    print("{} is {} {}, {}", i, A[i], A[i] > 0, u8(255))
)");
  Call call(kernel, {});
  call.set("A", {1.5, -0.25});
  testing::internal::CaptureStdout();
  expect_runs(kernel, call);
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "0 is 1.5 true, 255\n1 is -0.25 false, 255\n");
}

}  // namespace
}  // namespace plait::test
