#include "interp/reproducer.h"

#include <fstream>
#include <sstream>

#include "unit/interp/run.h"

namespace plait::test {
namespace {

constexpr const char* text = R"(kernel k(A: in f32[N], B: out f32[N]):
  grid bx = N
  B[bx] = A[bx]
)";

TEST(Reproducer, IsAProgramWithItsCommandInComments) {
  const ir::Kernel kernel = kernel_of(text);
  interp::FailedRun run;
  run.problem = "B differs at [3]:\n  1 instead of 2";
  run.dims = {{"N", 7}};
  run.seed = 42;
  run.options = {"--device", "host", "--verify"};
  const std::string file = interp::reproducer_text(kernel, run, "a dir/it's.tile");
  EXPECT_EQ(file,
            std::string("# B differs at [3]:\n"
                        "#   1 instead of 2\n"
                        "# Repeat with: plait run 'a dir/it'\\''s.tile' --device host --verify --dim N=7 --seed 42\n") +
                ir::print(kernel));
  const Result<ir::Kernel> again = load(file);
  ASSERT_TRUE(again.ok()) << again.diagnostics().render();
  EXPECT_TRUE(ir::equal(*again, kernel));
}

TEST(Reproducer, IsWritten) {
  const ir::Kernel kernel = kernel_of(text);
  const std::string path = testing::TempDir() + "/reproducer_test.tile";
  EXPECT_TRUE(interp::write_reproducer(kernel, {}, path).empty());
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  EXPECT_EQ(content.str(), interp::reproducer_text(kernel, {}, path));
}

TEST(Reproducer, TellsWhyItCannotBeWritten) {
  const Diagnostics found = interp::write_reproducer(kernel_of(text), {}, "/nowhere/at/all.tile");
  EXPECT_THAT(found.render(),
              testing::AllOf(testing::HasSubstr("[file-access]"), testing::HasSubstr("/nowhere/at/all.tile")));
}

}  // namespace
}  // namespace plait::test
