// Rules that the text form cannot break, because elaboration resolves extents: programs built node by node can.
#include "gtest/gtest.h"
#include "ir/build.h"
#include "verify/verify.h"

namespace plait::verify {
namespace {

using namespace ir;

Buffer tile(const std::string& name, std::vector<std::int64_t> shape) {
  auto decl = std::make_shared<BufferDecl>();
  decl->name = name;
  decl->scope = ir::Scope::shared;
  for (std::int64_t extent : shape) decl->shape.push_back(typed_int(DType::i64, extent));
  return decl;
}

Region whole(const Buffer& buffer) {
  Region region{buffer, {}, {}};
  for (const ExprRef& extent : buffer->shape) region.ranges.push_back({typed_int(DType::i64, 0), extent});
  return region;
}

/// What verify says of a kernel that fills x and then runs one operation on x and y.
std::string findings(OpKind kind, OpAttrs attrs, const Buffer& x, const Buffer& y) {
  auto source = std::make_shared<SourceFile>("built.cpp", "");
  Loc loc{source, 7, 3, 1};
  Kernel kernel;
  kernel.name = "k";
  for (const Buffer& buffer : {x, y}) {
    kernel.body.push_back(make_stmt(Alloc{buffer}, loc));
    kernel.body.push_back(
        make_stmt(TileOp{OpKind::fill, {whole(buffer)}, FillAttrs{typed_literal(DType::f32, 0)}}, loc));
  }
  kernel.body.push_back(make_stmt(TileOp{kind, {whole(x), whole(y)}, std::move(attrs)}, loc));
  return verify(kernel).render();
}

TEST(Shapes, copy_between_unequal_tiles) {
  EXPECT_EQ(findings(OpKind::copy, CopyAttrs{}, tile("x", {8, 32}), tile("y", {8, 16})),
            "built.cpp:7:3: error: copy: 'x' is 8x32, 'y' is 8x16 [tile-shape]\n"
            "  fix: write both tiles with a:b ranges of equal extent\n");
  EXPECT_EQ(findings(OpKind::copy, CopyAttrs{}, tile("x", {1, 8, 32}), tile("y", {8, 32})), "");
}

TEST(Shapes, transpose_wants_swapped_extents) {
  EXPECT_EQ(findings(OpKind::transpose, NoAttrs{}, tile("x", {8, 32}), tile("y", {8, 32})),
            "built.cpp:7:3: error: transpose: 'x' is 8x32, 'y' is 8x32 [tile-shape]\n"
            "  fix: transpose takes an m x n tile to an n x m tile\n");
  EXPECT_EQ(findings(OpKind::transpose, NoAttrs{}, tile("x", {8, 32}), tile("y", {32, 8})), "");
}

TEST(Shapes, running_sum_keeps_its_shape) {
  EXPECT_EQ(findings(OpKind::cumsum, CumsumAttrs{1, false}, tile("x", {8, 32}), tile("y", {16})),
            "built.cpp:7:3: error: cumsum: 'x' is 8x32, 'y' is 16 [tile-shape]\n"
            "  fix: write both tiles with a:b ranges of equal extent\n");
}

TEST(Shapes, reduced_dimension_exists) {
  EXPECT_EQ(findings(OpKind::reduce_max, ReduceAttrs{2, true}, tile("x", {8, 32}), tile("y", {8})),
            "built.cpp:7:3: error: reduce_max along dim 2 of 'x', which has rank 2 [reduce-dim]\n"
            "  fix: choose dim between 0 and the rank of the source, less one\n");
  EXPECT_EQ(findings(OpKind::reduce_max, ReduceAttrs{1, true}, tile("x", {8, 32}), tile("y", {8})), "");
}

}  // namespace
}  // namespace plait::verify
