#include "cuda/compile.h"

#include "cuda/log.h"
#include "fixture.h"

namespace plait::cuda {
namespace {

using ::testing::HasSubstr;

emit::cuda::Module module_of(const std::string& source) {
  emit::cuda::Module module;
  module.source = source;
  module.entry = "k";
  module.arch = "sm_90a";
  module.threads = 128;
  return module;
}

const char* kGood = R"(extern "C" __global__ void __launch_bounds__(128) k(float* x) { x[threadIdx.x] *= 2.0f; })";

TEST(CompileTest, MakesCodeAndReadsTheReport) {
  NEEDS_COMPILER(compiler);
  auto code = compile(*compiler, module_of(kGood));
  ASSERT_TRUE(code.ok()) << code.diagnostics().render();
  EXPECT_EQ(code->cubin.substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_THAT(code->ptx, HasSubstr(".target sm_90a"));
  EXPECT_GT(code->report.registers, 0);
  EXPECT_EQ(code->report.spill_store_bytes, 0);
  EXPECT_THAT(code->compiler, HasSubstr("NVRTC 1"));
  EXPECT_TRUE(code->warnings.empty()) << code->warnings.render();
}

TEST(CompileTest, QuotesTheLogWhereTheSourceIsWrong) {
  NEEDS_COMPILER(compiler);
  auto code = compile(*compiler, module_of("extern \"C\" __global__ void k() { nonsense(); }"));
  ASSERT_FALSE(code.ok());
  EXPECT_REPORTS(code.diagnostics(), Rule::gpu_compile, "NVRTC does not compile k for sm_90a");
  EXPECT_REPORTS(code.diagnostics(), Rule::gpu_compile, "identifier \"nonsense\" is undefined");
  EXPECT_REPORTS(code.diagnostics(), Rule::gpu_compile, "says: NVRTC_ERROR_COMPILATION");
}

TEST(CompileTest, ReportsAnUnknownArchitecture) {
  NEEDS_COMPILER(compiler);
  emit::cuda::Module module = module_of(kGood);
  module.arch = "sm_12345";
  EXPECT_REPORTS(compile(*compiler, module).diagnostics(), Rule::gpu_compile, "NVRTC does not compile k for sm_12345");
}

const char* kSerialized = R"(
extern "C" __global__ void __launch_bounds__(128) k(float* x) {
  float a[4] = {0, 0, 0, 0};
  for (int i = 0; i < 4; i++) {
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(a[0]), "+f"(a[1]), "+f"(a[2]), "+f"(a[3]) : "l"(1ll), "l"(2ll));
    asm volatile("wgmma.commit_group.sync.aligned;");
    a[0] *= 2.0f;
    asm volatile("wgmma.wait_group.sync.aligned 0;");
  }
  x[threadIdx.x] = a[0] + a[1] + a[2] + a[3];
})";

TEST(CompileTest, RejectsSerializedMatrixInstructions) {
  NEEDS_COMPILER(compiler);
  auto code = compile(*compiler, module_of(kSerialized));
  ASSERT_FALSE(code.ok());
  EXPECT_REPORTS(code.diagnostics(), Rule::gpu_serialized, "the assembler says: (C75");
  auto allowed = compile(*compiler, module_of(kSerialized), {true});
  ASSERT_TRUE(allowed.ok()) << allowed.diagnostics().render();
  EXPECT_REPORTS(allowed->warnings, Rule::gpu_serialized, "warning: ");
}

TEST(NvrtcTest, ReportsAMissingLibrary) {
  auto missing = load_nvrtc("/nonexistent/libnvrtc.so.13");
  ASSERT_FALSE(missing.ok());
  EXPECT_REPORTS(missing.diagnostics(), Rule::gpu_nvrtc, "NVRTC cannot be loaded from /nonexistent/libnvrtc.so.13");
  EXPECT_REPORTS(missing.diagnostics(), Rule::gpu_nvrtc, "nvidia-cuda-nvrtc");
  EXPECT_REPORTS(load_nvrtc("libc.so.6").diagnostics(), Rule::gpu_nvrtc, "libc.so.6 is no NVRTC");
}

std::string log_with(const std::string& line) {
  return "ptxas info    : " + line +
         "\nptxas info    : 0 bytes gmem\n"
         "ptxas info    : Compiling entry function 'other' for 'sm_90a'\n"
         "ptxas         .     8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads\n"
         "ptxas info    : Used 11 registers, used 0 barriers\n"
         "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
         "ptxas info    : Function properties for k\n"
         "ptxas         .     400 bytes stack frame, 32 bytes spill stores, 48 bytes spill loads\n"
         "ptxas info    : Used 168 registers, used 3 barriers, 400 bytes cumulative stack size\n";
}

TEST(LogTest, ReadsTheKernelsOwnLines) {
  CodeReport report = read_report(log_with(""), "k");
  EXPECT_EQ(report.registers, 168);
  EXPECT_EQ(report.stack_bytes, 400);
  EXPECT_EQ(report.spill_store_bytes, 32);
  EXPECT_EQ(report.spill_load_bytes, 48);
  EXPECT_EQ(read_report("nothing of that", "k").registers, 0);
}

TEST(LogTest, WarnsOfSpills) {
  Diagnostics found = judge(read_report(log_with(""), "k"), false, {});
  EXPECT_FALSE(found.has_errors());
  EXPECT_REPORTS(found, Rule::gpu_spill, "32 bytes a thread stored, 48 loaded");
}

TEST(LogTest, ExplainsEveryCode) {
  for (int code : {7510, 7511, 7512, 7513, 7514, 7515, 7516, 7517, 7518, 7519, 7520}) {
    CodeReport report = read_report(log_with("(C" + std::to_string(code) + ") Potential Performance Loss"), "k");
    EXPECT_REPORTS(judge(report, false, {}), Rule::gpu_serialized, "(C" + std::to_string(code) + ")");
    EXPECT_TRUE(judge(report, false, {}).has_errors()) << code;
    EXPECT_FALSE(judge(report, true, {}).has_errors()) << code;
  }
}

TEST(LogTest, IgnoredRegisterCountsAreAnErrorWhereTheyAreAlwaysIgnored) {
  CodeReport report = read_report(log_with("(C7507) 'setmaxnreg' ignored"), "k");
  EXPECT_REPORTS(judge(report, false, {}), Rule::gpu_registers, "asks for fewer registers than the role needs");
  EXPECT_FALSE(judge(report, false, {}).has_errors());
  report.log += "(C7508) 'setmaxnreg' ignored; unable to determine register count at entry.\n";
  Diagnostics both = judge(report, true, {});
  EXPECT_TRUE(both.has_errors());
  EXPECT_REPORTS(both, Rule::gpu_registers, "error: setmaxnreg is ignored: the register count at the kernel's start");
}

}  // namespace
}  // namespace plait::cuda
