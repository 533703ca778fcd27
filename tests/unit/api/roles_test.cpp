// The C interface to role programs, as far as it goes without a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "plait/plait.h"

namespace {

using ::testing::HasSubstr;

/// Tests are the same on a machine with a device.
[[maybe_unused]] const int kNoDriver = ::setenv("PLAIT_LIBCUDA", "/nonexistent/libcuda.so.1", 1);

const char* kCopy = R"(
roles copy(X: in f32[N], Y: out f32[N], n: i32 = 7; vec = 4) device h200:
  launch ceildiv(i32(N), 32 * vec)
  role work warps 4:
    if thread < n:
      put Y[thread] = X[thread]
)";

struct Compiled {
  plait_status status = PLAIT_OK;
  plait_roles* roles = nullptr;
  std::string messages;
  ~Compiled() { plait_roles_destroy(roles); }
};

std::string take(plait_diagnostics* diagnostics) {
  const char* text = nullptr;
  std::string copy = plait_diagnostics_text(diagnostics, &text) == PLAIT_OK ? text : "";
  plait_diagnostics_destroy(diagnostics);
  return copy;
}

void compile(Compiled& compiled, const std::string& text, plait_roles_options options) {
  options.size = sizeof options;
  plait_diagnostics* diagnostics = nullptr;
  compiled.status =
      plait_roles_compile("copy.roles", text.data(), text.size(), nullptr, 0, &options, &compiled.roles, &diagnostics);
  compiled.messages = take(diagnostics);
}

plait_roles_options source_only() {
  plait_roles_options options{};
  options.source_only = 1;
  return options;
}

TEST(RolesTest, GivesTheSourceWithoutACompiler) {
  Compiled copy;
  compile(copy, kCopy, source_only());
  ASSERT_EQ(copy.status, PLAIT_OK) << copy.messages;
  const char* text = nullptr;
  ASSERT_EQ(plait_roles_name(copy.roles, &text), PLAIT_OK);
  EXPECT_STREQ(text, "copy");
  ASSERT_EQ(plait_roles_source(copy.roles, &text), PLAIT_OK);
  EXPECT_THAT(text, HasSubstr("__global__"));
  ASSERT_EQ(plait_roles_ptx(copy.roles, &text), PLAIT_OK);
  EXPECT_STREQ(text, "");
  const void* image = nullptr;
  std::size_t bytes = 1;
  ASSERT_EQ(plait_roles_cubin(copy.roles, &image, &bytes), PLAIT_OK);
  EXPECT_EQ(bytes, 0u);
}

TEST(RolesTest, TellsTheParameters) {
  Compiled copy;
  compile(copy, kCopy, source_only());
  std::size_t count = 0;
  ASSERT_EQ(plait_roles_parameter_count(copy.roles, &count), PLAIT_OK);
  ASSERT_EQ(count, 3u);
  plait_parameter parameter;
  ASSERT_EQ(plait_roles_parameter(copy.roles, 1, &parameter), PLAIT_OK);
  EXPECT_STREQ(parameter.name, "Y");
  EXPECT_EQ(parameter.kind, PLAIT_PARAMETER_OUT);
  EXPECT_EQ(parameter.dtype, PLAIT_F32);
  EXPECT_EQ(parameter.rank, 1);
  ASSERT_EQ(plait_roles_parameter(copy.roles, 2, &parameter), PLAIT_OK);
  EXPECT_EQ(parameter.kind, PLAIT_PARAMETER_SCALAR);
  EXPECT_EQ(parameter.has_default, 1);
  EXPECT_EQ(plait_roles_parameter(copy.roles, 3, &parameter), PLAIT_BAD_ARGUMENT);
}

TEST(RolesTest, ReportsWhatIsWrongWithTheProgram) {
  Compiled broken;
  compile(broken, "roles copy(X: in f32[N]) device h200:\n  launch M\n", source_only());
  EXPECT_EQ(broken.status, PLAIT_REJECTED);
  EXPECT_EQ(broken.roles, nullptr);
  EXPECT_THAT(broken.messages, HasSubstr("copy.roles:2:10: error: "));
}

TEST(RolesTest, WantsAnArchitectureThatItKnows) {
  Compiled other;
  std::string text = kCopy;
  text.replace(text.find("h200"), 4, "host");
  compile(other, text, source_only());
  EXPECT_EQ(other.status, PLAIT_REJECTED);
  EXPECT_THAT(other.messages, HasSubstr("device 'host' has no NVIDIA architecture [gpu-architecture]"));
}

/// False where this machine has no NVRTC and need not have one.
bool have_code(const Compiled& compiled) {
  if (compiled.status == PLAIT_OK) return true;
  const char* required = std::getenv("PLAIT_REQUIRE_NVRTC");
  bool is_missing = compiled.messages.find("[gpu-nvrtc]") != std::string::npos;
  if (!is_missing || (required != nullptr && std::strcmp(required, "1") == 0)) ADD_FAILURE() << compiled.messages;
  return false;
}

TEST(RolesTest, ReportsOnTheCode) {
  Compiled copy;
  compile(copy, kCopy, {});
  if (!have_code(copy)) GTEST_SKIP() << "NVRTC is not here";
  const char* text = nullptr;
  ASSERT_EQ(plait_roles_report(copy.roles, &text), PLAIT_OK);
  for (const char* part : {R"("name": "copy")", R"("architecture": "sm_90a")", R"("registers": )", R"("nvrtc": )",
                           R"("spill_store_bytes": 0)", R"("warnings": [])"})
    EXPECT_THAT(text, HasSubstr(part));
  ASSERT_EQ(plait_roles_ptx(copy.roles, &text), PLAIT_OK);
  EXPECT_THAT(text, HasSubstr(".entry copy"));
  const void* image = nullptr;
  std::size_t bytes = 0;
  ASSERT_EQ(plait_roles_cubin(copy.roles, &image, &bytes), PLAIT_OK);
  ASSERT_GT(bytes, 4u);
  EXPECT_EQ(std::memcmp(image,
                        "\x7f"
                        "ELF",
                        4),
            0);
}

TEST(RolesTest, CompilesSourceOfTheCaller) {
  Compiled copy;
  plait_roles_options options{};
  options.cuda_source = "this is no program";
  compile(copy, kCopy, options);
  if (copy.messages.find("[gpu-nvrtc]") != std::string::npos) {
    ASSERT_FALSE(have_code(copy));
    GTEST_SKIP() << "NVRTC is not here";
  }
  EXPECT_EQ(copy.status, PLAIT_REJECTED);
  EXPECT_THAT(copy.messages, HasSubstr("this is no program"));
}

TEST(RolesTest, PreparesNothingWithoutADriver) {
  Compiled copy;
  compile(copy, kCopy, source_only());
  plait_launch* launch = nullptr;
  plait_diagnostics* diagnostics = nullptr;
  EXPECT_EQ(plait_launch_prepare(copy.roles, nullptr, 0, &launch, &diagnostics), PLAIT_REJECTED);
  EXPECT_EQ(launch, nullptr);
  EXPECT_THAT(take(diagnostics), HasSubstr("there is no NVIDIA driver here"));
  EXPECT_EQ(plait_roles_load(copy.roles, &diagnostics), PLAIT_REJECTED);
  EXPECT_THAT(take(diagnostics), HasSubstr("[gpu-driver]"));
}

TEST(RolesTest, RefusesMisuse) {
  plait_roles* roles = nullptr;
  plait_launch* launch = nullptr;
  const char* text = nullptr;
  std::size_t count = 0;
  const void* image = nullptr;
  EXPECT_EQ(plait_roles_compile(nullptr, nullptr, 3, nullptr, 0, nullptr, &roles, nullptr), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_roles_compile(nullptr, "", 0, nullptr, 0, nullptr, nullptr, nullptr), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_roles_compile(nullptr, "", 0, nullptr, 1, nullptr, &roles, nullptr), PLAIT_BAD_ARGUMENT);
  plait_roles_options options{};
  options.size = 1;
  EXPECT_EQ(plait_roles_compile(nullptr, "", 0, nullptr, 0, &options, &roles, nullptr), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_roles_name(nullptr, &text), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_roles_source(nullptr, &text), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_roles_ptx(nullptr, &text), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_roles_report(nullptr, &text), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_roles_cubin(nullptr, &image, &count), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_roles_parameter_count(nullptr, &count), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_roles_load(nullptr, nullptr), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_launch_prepare(nullptr, nullptr, 0, &launch, nullptr), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_launch_run(nullptr, nullptr, nullptr), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_roles_destroy(nullptr), PLAIT_OK);
  EXPECT_EQ(plait_launch_destroy(nullptr), PLAIT_OK);
  Compiled copy;
  compile(copy, kCopy, source_only());
  EXPECT_EQ(plait_launch_prepare(copy.roles, nullptr, 1, &launch, nullptr), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_launch_prepare(copy.roles, nullptr, 0, nullptr, nullptr), PLAIT_BAD_ARGUMENT);
}

}  // namespace
