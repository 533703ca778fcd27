// Compiled code that is kept between runs, through the C interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "plait/plait.h"

namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kProduct = R"(
kernel product(A: in bf16[M, K], B: in bf16[N, K], C: out bf16[M, N]):
  grid bx = ceildiv(N, 64), by = ceildiv(M, 64)
  A_s = shared bf16[64, 64]
  B_s = shared bf16[64, 64]
  acc = fragment f32[64, 64]
  clear(acc)
  for k in pipelined(ceildiv(K, 64), stages=2):
    copy(A[by * 64, k * 64], A_s)
    copy(B[bx * 64, k * 64], B_s)
    gemm(A_s, B_s, acc, trans_B=true)
  copy(acc, C[by * 64, bx * 64])
)";

class CacheTest : public testing::Test {
 protected:
  CacheTest() {
    std::string name = std::filesystem::temp_directory_path() / "plait_api_XXXXXX";
    folder_ = mkdtemp(name.data());
    setenv("PLAIT_CACHE", folder_.c_str(), 1);
  }
  ~CacheTest() override {
    setenv("PLAIT_CACHE", "none", 1);
    unsetenv("PLAIT_JIT");
    std::filesystem::remove_all(folder_);
  }

  struct Made {
    plait_status status = PLAIT_OK;
    plait_roles* roles = nullptr;
    std::string messages, report, cubin;
    Made() = default;
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;
    ~Made() { plait_roles_destroy(roles); }
  };
  static std::string text_of(plait_diagnostics* diagnostics) {
    const char* text = nullptr;
    std::string out = plait_diagnostics_text(diagnostics, &text) == PLAIT_OK ? text : "";
    plait_diagnostics_destroy(diagnostics);
    return out;
  }
  static void compile(Made& out) {
    plait_roles_options options{};
    options.size = sizeof options;
    options.architecture = "sm_90a";
    plait_diagnostics* diagnostics = nullptr;
    out.status = plait_roles_compile("product.tile", kProduct, std::strlen(kProduct), nullptr, 0, &options, &out.roles,
                                     &diagnostics);
    out.messages = text_of(diagnostics);
    if (out.status != PLAIT_OK) return;
    const char* report = nullptr;
    const void* image = nullptr;
    std::size_t bytes = 0;
    if (plait_roles_report(out.roles, &report) == PLAIT_OK) out.report = report;
    if (plait_roles_cubin(out.roles, &image, &bytes) == PLAIT_OK)
      out.cubin.assign(static_cast<const char*>(image), bytes);
  }
  /// Whether this machine has the compiler.
  static bool missing(const Made& made) {
    const char* required = std::getenv("PLAIT_REQUIRE_NVRTC");
    bool is_required = required != nullptr && std::strcmp(required, "1") == 0;
    return !is_required && made.messages.find("[gpu-nvrtc]") != std::string::npos;
  }
  /// Of a call whose rows of C end within 16 bytes: another kernel.
  static plait_status select(const Made& made, std::int64_t n, std::string& report, std::string& messages) {
    std::int64_t a[] = {64, 64}, b[] = {n, 64}, c[] = {64, n};
    auto tensor = [&](const char* name, const std::int64_t* shape, std::uintptr_t address) {
      plait_argument argument{};
      argument.name = name;
      argument.kind = PLAIT_ARGUMENT_TENSOR;
      argument.tensor = {reinterpret_cast<void*>(address), PLAIT_BF16, 2, shape, nullptr,
                         shape[0] * shape[1] * 2,          "cuda"};
      return argument;
    };
    plait_argument arguments[] = {tensor("A", a, 0x10000000), tensor("B", b, 0x20000000), tensor("C", c, 0x30000000)};
    const plait_roles* selected = nullptr;
    plait_diagnostics* diagnostics = nullptr;
    plait_status status = plait_roles_select(made.roles, arguments, 3, &selected, &diagnostics);
    messages = text_of(diagnostics);
    const char* text = nullptr;
    if (status == PLAIT_OK && selected != made.roles && plait_roles_report(selected, &text) == PLAIT_OK) report = text;
    return status;
  }

  std::filesystem::path folder_;
};

TEST_F(CacheTest, CodeIsCompiledOnce) {
  Made first, second;
  compile(first);
  if (missing(first)) GTEST_SKIP() << "NVRTC is not here";
  ASSERT_EQ(first.status, PLAIT_OK) << first.messages;
  EXPECT_THAT(first.report, HasSubstr("\"nvrtc\": "));
  compile(second);
  ASSERT_EQ(second.status, PLAIT_OK) << second.messages;
  EXPECT_THAT(second.report, Not(HasSubstr("\"nvrtc\": ")));
  EXPECT_THAT(second.report, HasSubstr("\"cache\": "));
  EXPECT_EQ(second.cubin, first.cubin);
  EXPECT_EQ(second.messages, first.messages);
}

TEST_F(CacheTest, KernelsForOtherAlignmentsAreKeptToo) {
  Made first, second;
  compile(first);
  if (missing(first)) GTEST_SKIP() << "NVRTC is not here";
  ASSERT_EQ(first.status, PLAIT_OK) << first.messages;
  std::string cold, warm, messages;
  ASSERT_EQ(select(first, 100, cold, messages), PLAIT_OK) << messages;
  EXPECT_THAT(cold, HasSubstr("\"nvrtc\": "));
  compile(second);
  ASSERT_EQ(select(second, 36, warm, messages), PLAIT_OK) << messages;
  EXPECT_THAT(warm, Not(HasSubstr("\"nvrtc\": ")));
  EXPECT_THAT(warm, HasSubstr("\"cache\": "));
}

TEST_F(CacheTest, WithoutCompilationWhatIsKeptServes) {
  Made first, second, third;
  setenv("PLAIT_JIT", "forbid", 1);
  compile(first);
  EXPECT_EQ(first.status, PLAIT_REJECTED);
  EXPECT_THAT(first.messages, HasSubstr("product.tile:2:8: error: product is not compiled: PLAIT_JIT=forbid"));
  EXPECT_THAT(first.messages, HasSubstr("fix: compile it ahead (`plait cache add`) and bring it with `plait cache"));
  unsetenv("PLAIT_JIT");
  compile(second);
  if (missing(second)) GTEST_SKIP() << "NVRTC is not here";
  ASSERT_EQ(second.status, PLAIT_OK) << second.messages;
  setenv("PLAIT_JIT", "forbid", 1);
  compile(third);
  ASSERT_EQ(third.status, PLAIT_OK) << third.messages;
  EXPECT_EQ(third.cubin, second.cubin);
  std::string report, messages;
  EXPECT_EQ(select(third, 100, report, messages), PLAIT_REJECTED);
  EXPECT_THAT(messages, HasSubstr("product is not compiled: PLAIT_JIT=forbid"));
  EXPECT_EQ(select(third, 128, report, messages), PLAIT_OK) << messages;
}

TEST_F(CacheTest, AFolderThatTakesNothingIsARemark) {
  std::string file = folder_ / "file";
  ASSERT_TRUE(std::filesystem::create_directory(folder_ / "there"));
  std::filesystem::create_symlink("/nonexistent/file", file);
  setenv("PLAIT_CACHE", (file + "/code").c_str(), 1);
  Made made;
  compile(made);
  if (missing(made)) GTEST_SKIP() << "NVRTC is not here";
  ASSERT_EQ(made.status, PLAIT_OK) << made.messages;
  EXPECT_THAT(made.messages, HasSubstr("/file/code: warning: compiled code is not kept here: "));
}

}  // namespace
