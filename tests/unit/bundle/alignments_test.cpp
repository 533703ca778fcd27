#include "bundle/alignments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lang/elaborate.h"
#include "pipeline/assume.h"
#include "syntax/tree.h"

namespace plait::bundle {
namespace {

ir::Kernel kernel_of(const std::string& text) {
  auto file = syntax::parse(std::make_shared<SourceFile>("test.tile", text));
  EXPECT_TRUE(file) << file.diagnostics().render();
  auto kernel = lang::elaborate(*file, "k", {});
  EXPECT_TRUE(kernel) << kernel.diagnostics().render();
  return *kernel;
}

ir::Kernel copy_of_rows() { return kernel_of("kernel k(X: in bf16[M, N], Y: out f32[M, N]):\n  grid b = M\n"); }

TEST(Alignments, EveryCallByDimsIsOneOfThem) {
  ir::Kernel kernel = copy_of_rows();
  auto found = alignments(kernel, {});
  for (std::int64_t n = 0; n < 300; ++n) {
    place::Assumptions call = pipeline::assume(kernel, {{"M", 3}, {"N", n}});
    EXPECT_THAT(found, testing::Contains(call)) << n;
  }
}

TEST(Alignments, ThoseThatTakeLessComeFirstAndTheLastTakesAll) {
  auto found = alignments(copy_of_rows(), {});
  EXPECT_EQ(found.front(), place::Assumptions());
  place::Assumptions all{{"X", "Y"}, {"X", "Y"}, {}, {{"X", 2}, {"Y", 4}}};
  EXPECT_EQ(found.back(), all);
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (std::size_t j = i + 1; j < found.size(); ++j) {
      bool takes_less = true;
      for (const char* name : {"X", "Y"}) {
        takes_less = takes_less && granule_of(found[j], name) >= granule_of(found[i], name) &&
                     found[j].unaligned.contains(name) <= found[i].unaligned.contains(name) &&
                     found[j].ragged.contains(name) <= found[i].ragged.contains(name);
      }
      EXPECT_FALSE(takes_less && found[j].unaligned != found[i].unaligned) << i << " " << j;
    }
  }
}

TEST(Alignments, DimsThatAreGivenAreNotVaried) {
  EXPECT_EQ(alignments(copy_of_rows(), {{"N", 4096}}).size(), 2u);
  auto straddling = alignments(copy_of_rows(), {{"N", 4104}});
  ASSERT_EQ(straddling.size(), 2u);
  EXPECT_THAT(straddling.front().straddling, testing::ElementsAre("X"));
}

TEST(Alignments, ManyDimsAreToldApartLessFinely) {
  std::string params;
  for (char name = 'A'; name <= 'D'; ++name) {
    if (name > 'A') params += ", ";
    params += std::string(1, name) + ": " + (name == 'D' ? "out" : "in") + " bf16[M, N" + name + "]";
  }
  auto found = alignments(kernel_of("kernel k(" + params + "):\n  grid b = M\n"), {});
  EXPECT_LE(found.size(), kMostAlignments);
  EXPECT_GE(found.size(), 16u);
  EXPECT_EQ(found.front(), place::Assumptions());
  for (const place::Assumptions& a : found) EXPECT_TRUE(a.straddling.empty());
}

TEST(Alignments, ElementsOfSixteenBytesAndMoreHaveNoGranule) {
  auto found = alignments(kernel_of("kernel k(X: in f64[N], Y: out f64[N]):\n  grid b = N\n"), {});
  for (const place::Assumptions& a : found) EXPECT_GE(granule_of(a, "X"), 8);
}

}  // namespace
}  // namespace plait::bundle
