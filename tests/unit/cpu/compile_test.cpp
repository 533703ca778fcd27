#include <thread>

#include "roundtrip.h"
#include "unit/cpu/run.h"

namespace plait::test {
namespace {

std::string scaled(int factor) {
  return "kernel k" + std::to_string(factor) +
         "(A: in f32[N], C: out f32[N]):\n  grid x = ceildiv(N, 64)\n  S = shared f32[64]\n" +
         "  copy(A[x * 64], S)\n  for i in parallel(64):\n    S[i] *= " + std::to_string(factor) +
         "\n  copy(S, C[x * 64])\n";
}

TEST(Compile, SixteenThreadsCompileSixtyFourKernels) {
  std::vector<ir::Kernel> kernels;
  for (int k = 0; k < 64; ++k) kernels.push_back(kernel_of(scaled(k + 1)));
  std::vector<std::vector<double>> results(64);
  std::vector<std::thread> threads;
  const auto a = numbers(ir::DType::f32, 200);
  for (std::size_t t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t k = t; k < 64; k += 16) {
        Call call(kernels[k], {{"N", 200}});
        call.set("A", a);
        if (run_blocks(code_of(kernels[k]), call.args()).empty()) results[k] = call.get("C");
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t k = 0; k < 64; ++k) {
    ASSERT_EQ(results[k].size(), 200U);
    for (std::size_t i = 0; i < 200; ++i)
      EXPECT_EQ(static_cast<float>(results[k][i]), static_cast<float>(a[i]) * static_cast<float>(k + 1));
  }
}

TEST(Compile, OneThreadPerBlockSharesNothing) {
  const ir::Kernel kernel = kernel_of(scaled(3));
  const cpu::Code code = code_of(kernel);
  std::vector<std::thread> threads;
  std::vector<int> good(8);
  for (std::size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Call call(kernel, {{"N", 1000}});
      const auto a = numbers(ir::DType::f32, 1000, t + 1);
      call.set("A", a);
      if (!run_blocks(code, call.args()).empty()) return;
      good[t] = 1;
      for (std::size_t i = 0; i < 1000; ++i) good[t] &= call.get("C")[i] == static_cast<float>(a[i]) * 3.0F ? 1 : 0;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(good, testing::Each(1));
}

TEST(Compile, CodeOutlivesEverythingButItsHandle) {
  cpu::Code code;
  {
    const ir::Kernel kernel = kernel_of(scaled(5));
    code = code_of(kernel);
  }
  const ir::Kernel again = kernel_of(scaled(5));
  Call call(again, {{"N", 3}});
  call.set("A", {1, 2, 3});
  EXPECT_EQ(run_blocks(code, call.args()), "");
  EXPECT_EQ(call.get("C"), (std::vector<double>{5, 10, 15}));
}

TEST(Compile, OneCompilationServesAllExtents) {
  const ir::Kernel kernel = kernel_of(read_file(PLAIT_SOURCE_DIR "/kernels/matmul.tile"),
                                      {{"block_M", "32"}, {"block_N", "32"}, {"block_K", "16"}});
  const cpu::Code code = code_of(kernel);
  for (const std::int64_t m : {0, 1, 33, 70}) {
    for (const std::int64_t n : {0, 1, 32, 65}) {
      for (const std::int64_t k : {0, 1, 16, 41}) {
        Call call(kernel, {{"M", m}, {"N", n}, {"K", k}});
        const auto a = numbers(ir::DType::i8, m * k, 1);
        const auto b = numbers(ir::DType::i8, k * n, 2);
        call.set("A", a).set("B", b);
        ASSERT_EQ(run_blocks(code, call.args()), "");
        const auto c = call.get("C");
        for (std::int64_t i = 0; i < m; ++i) {
          for (std::int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (std::int64_t p = 0; p < k; ++p)
              sum += a[static_cast<std::size_t>(i * k + p)] * b[static_cast<std::size_t>(p * n + j)];
            ASSERT_EQ(c[static_cast<std::size_t>(i * n + j)], sum);
          }
        }
      }
    }
  }
}

TEST(Compile, UnknownProcessorIsRefused) {
  cpu::Options options;
  options.cpu = "z80";
  const auto code = cpu::compile(kernel_of(scaled(1)), options);
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.diagnostics().list()[0].message, "'z80' is not a processor that LLVM knows");
}

TEST(Compile, OlderProcessors) {
  for (const char* cpu : {"x86-64", "x86-64-v2", "x86-64-v3"}) {
    cpu::Options options;
    options.cpu = cpu;
    const ir::Kernel kernel = kernel_of(scaled(7));
    Call call(kernel, {{"N", 100}});
    call.set("A", numbers(ir::DType::f32, 100));
    expect_runs(kernel, call, options);
  }
}

TEST(Compile, BuffersBeyondReasonAreRefused) {
  const auto refusal = [](const std::string& shape) {
    const auto code = cpu::compile(kernel_of("kernel k(C: out f32[1]):\n  grid b = 1\n  S = shared f32[" + shape +
                                             "]\n  fill(S, 1)\n  copy(S[0:1, 0:1], C)\n"));
    return code.ok() ? std::string() : code.diagnostics().list()[0].message;
  };
  EXPECT_EQ(refusal("1024, 1024"), "");
  EXPECT_EQ(refusal("65536, 65536"),
            "the on-chip buffers of k need 17179869184 bytes for each thread, the largest is S[65536, 65536] with "
            "17179869184 bytes; the limit is 1073741824");
  EXPECT_EQ(refusal("1048576, 1048576"),
            "the on-chip buffers of k need 4398046511104 bytes for each thread, the largest is S[1048576, 1048576] "
            "with 4398046511104 bytes; the limit is 1073741824");
}

TEST(Compile, CopyBetweenPartsThatAreApartNeedsNoRoom) {
  const auto code =
      code_of(kernel_of("kernel k(A: inout f32[2, N]):\n  grid b = 1\n  copy(A[0:1, 0:N], A[1:2, 0:N])\n"));
  EXPECT_EQ(code.scratch_bytes, 0);
}

TEST(Compile, CopyInsideATensorNeedsLiteralExtents) {
  const auto code =
      cpu::compile(kernel_of("kernel k(A: inout f32[2, N]):\n  grid b = 1\n  copy(A[0, 0:N], A[N - 1, 0:N])\n"));
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.diagnostics().list()[0].message,
            "a copy from A to A needs room for the tile, whose size is not known");
  EXPECT_EQ(code.diagnostics().list()[0].loc.line, 3);
}

TEST(Compile, BuffersOfDisjointListsShareScratch) {
  const auto code = code_of(kernel_of(R"(
kernel k(A: in f32[2048], C: out f32[2048]):
  grid b = 1
  if A[0] > 0:
    S = shared f32[2048]
    copy(A, S)
    copy(S, C)
  else:
    T = shared f32[2048]
    copy(A, T)
    copy(T, C)
)"));
  EXPECT_EQ(code.scratch_bytes, 8192);
}

}  // namespace
}  // namespace plait::test
