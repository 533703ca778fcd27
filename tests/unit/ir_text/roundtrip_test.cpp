// What print writes, the parser and the elaborator read back as an equal kernel.
#include <gtest/gtest.h>

#include "lang/elaborate.h"
#include "random_kernel.h"
#include "unit/ir/sample_kernel.h"

namespace plait::ir {
namespace {

void expect_round_trip(const Kernel& kernel) {
  std::string text = print(kernel);
  auto file = syntax::parse(std::make_shared<const SourceFile>("printed.tile", text));
  ASSERT_TRUE(file.ok()) << file.diagnostics().render() << text;
  auto read = lang::elaborate(*file, "", {});
  ASSERT_TRUE(read.ok()) << read.diagnostics().render() << text;
  EXPECT_EQ(print(*read), text);
  EXPECT_TRUE(equal(*read, kernel)) << text;
}

class RoundTrip : public SampleKernel {};

TEST_F(RoundTrip, EveryStatement) { expect_round_trip(sample()); }

TEST_F(RoundTrip, RandomKernels) {
  for (std::uint64_t seed = 1; seed <= 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_round_trip(RandomKernel(seed).make());
  }
}

}  // namespace
}  // namespace plait::ir
