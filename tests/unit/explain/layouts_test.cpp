#include "explain/layouts.h"
#include "fixture.h"

namespace plait::explain {
namespace {

TEST(Layouts, SwizzledTilesHaveNoConflicts) {
  test::Subject s = test::subject("matmul_nt", {{"dtype", "bf16"}});
  Layouts layouts = layouts_of(s.derived.program);
  bool stores = false;
  for (const SharedLayout& shared : layouts.shared) {
    for (const BankUse& use : shared.uses) {
      EXPECT_EQ(use.conflicts, 0) << shared.smem->buffer->name << " " << use.word;
      stores = stores || use.word == "stmatrix";
    }
  }
  EXPECT_TRUE(stores);
}

TEST(Layouts, PicturesNameThreadsAndUnits) {
  test::Subject s = test::subject("matmul_nt", {{"dtype", "bf16"}});
  Layouts layouts = layouts_of(s.derived.program);
  auto tile = layout_svg(layouts, "A_s"), fragment = layout_svg(layouts, "C_l");
  ASSERT_TRUE(tile && fragment);
  // Row 1 begins a swizzle's step further: its first 16 bytes hold columns 8 to 15.
  EXPECT_NE(tile->find("bytes 128 to 143: [1, 8] to [1, 15]"), std::string::npos);
  EXPECT_NE(fragment->find("[8, 0]: t0 e2"), std::string::npos);
  EXPECT_FALSE(layout_svg(layouts, "nothing"));
}

}  // namespace
}  // namespace plait::explain
