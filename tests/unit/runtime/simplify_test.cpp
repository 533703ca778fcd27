#include "runtime/simplify.h"

#include "fixture.h"
#include "interp/interp.h"
#include "runtime/files.h"
#include "runtime/host_tensor.h"
#include "runtime/random.h"
#include "verify/verify.h"

namespace plait::runtime {
namespace {

const char* kTangle = R"(
kernel tangle(A: in i32[N, 8], C: out i32[N, 8]):
  grid b = ceildiv(N, 4)
  require N >= 4
  S = shared i32[4, 8]
  copy(A[b * 4 + 0, 0 * 8], S)
  for i, j in parallel(4, 8):
    if i < 4 and j + 1 <= 8:
      S[i, j] = S[i, j] * 1 + select(i >= 0, i32(3), 4)
    else:
      S[i, j] = 0
  for k in range(max(0, 2)):
    row = min(k, 1) * 2
    S[row + 0, (k * 8 + 3) / 8] += i32(row)
  for u in unrolled(1):
    assert u == 0, "one iteration"
    S[u, 7] = S[u, 7] + 1
  copy(S, C[4 * b, 0])
)";

TEST(SimplifyTest, ReadsBetterAndMeansTheSame) {
  ir::Kernel plain = kernel_from(kTangle), simple = simplify_kernel(plain);
  std::string text = ir::print(simple);
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("select(")));
  EXPECT_THAT(text, ::testing::HasSubstr("in range(2)"));
  EXPECT_FALSE(verify::verify(simple).has_errors());
  std::vector<std::string> results;
  for (const ir::Kernel* kernel : {&plain, &simple}) {
    HostTensor a(ir::DType::i32, {{10, 8}, {8, 1}}), c(ir::DType::i32, {{10, 8}, {8, 1}});
    fill_random(a, "A", 1);
    Args args;
    args.tensors = {{"A", a.arg()}, {"C", c.arg()}};
    auto bound = bind(*kernel, args);
    ASSERT_TRUE(bound.ok()) << bound.diagnostics().render();
    Diagnostics findings = interp::interpret(*kernel, *bound);
    ASSERT_TRUE(findings.empty()) << findings.render();
    results.emplace_back(reinterpret_cast<const char*>(c.data()), static_cast<std::size_t>(c.bytes()));
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(SimplifyTest, EveryLibraryKernelStaysAProgram) {
  for (const auto& entry : std::filesystem::directory_iterator(PLAIT_SOURCE_DIR "/kernels")) {
    if (entry.path().extension() != ".tile") continue;
    auto source = read_source(entry.path().string());
    ASSERT_TRUE(source.ok());
    auto file = syntax::parse(*source);
    ASSERT_TRUE(file.ok()) << file.diagnostics().render();
    for (const std::string& name : lang::kernel_names(*file)) {
      auto kernel = build_kernel(*file, name, {});
      ASSERT_TRUE(kernel.ok()) << kernel.diagnostics().render();
      ir::Kernel simple = simplify_kernel(*kernel);
      EXPECT_FALSE(verify::verify(simple).has_errors()) << name;
      EXPECT_TRUE(ir::equal(simple, kernel_from(ir::print(simple)))) << name;
      EXPECT_TRUE(ir::equal(simple, simplify_kernel(simple))) << name << ir::print(simple);
    }
  }
}

}  // namespace
}  // namespace plait::runtime
