#include "layout/role_layout.h"

#include <gtest/gtest.h>

#include "ir/build.h"

namespace plait::layout {
namespace {

using ir::DType;

ir::Buffer buffer(DType type, const std::vector<std::int64_t>& shape, std::int64_t pad = 0) {
  auto decl = std::make_shared<ir::BufferDecl>();
  decl->name = "x";
  decl->type = type;
  for (std::int64_t extent : shape) decl->shape.push_back(ir::int_literal(extent));
  decl->pad = pad;
  return decl;
}

roles::FragmentDecl fragment(DType type, const std::vector<std::int64_t>& shape, roles::FragmentKind kind) {
  roles::FragmentDecl decl;
  decl.buffer = buffer(type, shape);
  decl.kind = kind;
  return decl;
}

TEST(RoleLayout, FragmentsHaveTheirKindsMap) {
  using Kind = roles::FragmentKind;
  auto map = [](DType type, std::int64_t rows, std::int64_t columns, Kind kind) {
    return fragment_map(fragment(type, {rows, columns}, kind), 128);
  };
  EXPECT_EQ(map(DType::f32, 64, 256, Kind::wgmma_acc), fragment_map({FragmentKind::wgmma_acc, 64, 256, DType::f32}));
  EXPECT_EQ(map(DType::bf16, 64, 64, Kind::wgmma_a), fragment_map({FragmentKind::wgmma_a, 64, 64, DType::bf16}));
  EXPECT_EQ(map(DType::f32, 32, 64, Kind::mma_acc), fragment_map({FragmentKind::mma_acc, 32, 64, DType::f32}));
  EXPECT_EQ(map(DType::i8, 32, 64, Kind::mma_a), fragment_map({FragmentKind::mma_a, 32, 64, DType::i8}));
  EXPECT_EQ(map(DType::i8, 32, 64, Kind::mma_b), fragment_map({FragmentKind::mma_b, 32, 64, DType::i8}));
  roles::FragmentDecl row = fragment(DType::f32, {1024}, Kind::vector);
  row.vec = 4;
  row.lanes = 64;
  EXPECT_EQ(fragment_map(row, 64), fragment_map({FragmentKind::vector, 1, 1024, DType::f32, 4, 64, 64}));
}

TEST(RoleLayout, RowsLieAsTheirFragment) {
  auto acc = std::make_shared<roles::FragmentDecl>(fragment(DType::f32, {64, 128}, roles::FragmentKind::wgmma_acc));
  roles::FragmentDecl rows = fragment(DType::f32, {64}, roles::FragmentKind::rows);
  EXPECT_EQ(fragment_error(rows, 128), "names no fragment whose rows it has");
  rows.of = acc;
  EXPECT_EQ(fragment_error(rows, 128), std::nullopt);
  EXPECT_EQ(fragment_map(rows, 128), rows_map(fragment_map(*acc, 128)));
  rows.buffer = buffer(DType::f32, {32});
  EXPECT_EQ(fragment_error(rows, 128), "has not the shape [64] of the rows of x");
  rows.of = std::make_shared<roles::FragmentDecl>(rows);
  EXPECT_EQ(fragment_error(rows, 128), "has the rows of a fragment of rows");
  rows.of = std::make_shared<roles::FragmentDecl>(fragment(DType::f32, {60, 128}, roles::FragmentKind::wgmma_acc));
  EXPECT_EQ(fragment_error(rows, 128), "lies as one that has 60 rows; wgmma_acc takes a multiple of 64");
}

TEST(RoleLayout, ColumnsLieAsTheirFragment) {
  auto of = std::make_shared<roles::FragmentDecl>(fragment(DType::f32, {8, 256}, roles::FragmentKind::vector));
  of->vec = 4;
  of->lanes = 32;
  roles::FragmentDecl columns = fragment(DType::f32, {256}, roles::FragmentKind::columns);
  EXPECT_EQ(fragment_error(columns, 128), "names no fragment whose columns it has");
  columns.of = of;
  EXPECT_EQ(fragment_error(columns, 128), std::nullopt);
  FragmentMap map = fragment_map(columns, 128);
  EXPECT_EQ(map.elements_per_thread(), 8);
  EXPECT_EQ(map.replication(), 4);
  // Lane 5 of any warp: four neighbours, then four more 128 columns on.
  EXPECT_EQ(map.coord(37, 1), (Coord{0, 21}));
  EXPECT_EQ(map.coord(5, 6), (Coord{0, 150}));
  columns.buffer = buffer(DType::f32, {8});
  EXPECT_EQ(fragment_error(columns, 128), "has not the shape [256] of the columns of x");
  columns.of = std::make_shared<roles::FragmentDecl>(columns);
  EXPECT_EQ(fragment_error(columns, 128), "has the columns of a fragment of columns");
}

TEST(RoleLayout, FragmentErrorsNameThreadsAndDims) {
  EXPECT_EQ(fragment_error(fragment(DType::f32, {64, 8}, roles::FragmentKind::wgmma_acc), 256),
            "is spread over 128 threads, and the replica has 256");
  EXPECT_EQ(fragment_error(fragment(DType::f32, {2, 64, 8}, roles::FragmentKind::vector), 32),
            "has 3 dims; a fragment has 1 or 2");
}

TEST(RoleLayout, TilesAndBoxes) {
  roles::SmemDecl smem;
  smem.buffer = buffer(DType::bf16, {2, 3, 64, 96}, 8);
  SmemTile tile = smem_tile(smem);
  EXPECT_EQ(tile.copies, 6);
  EXPECT_EQ(tile.bytes(), 6 * 64 * 104 * 2);
  smem.buffer = buffer(DType::f32, {256});
  EXPECT_EQ(smem_tile(smem).rows, 1);
  smem.buffer = buffer(DType::e4m3, {128, 128});
  smem.swizzle = roles::Swizzle::b64;
  EXPECT_EQ(smem_tile(smem).offset(2, 64), 128 * 64 + 2 * 64 + 16);
  smem.buffer = buffer(DType::bf16, {INT64_MAX, INT64_MAX, 8, 8});
  EXPECT_TRUE(tile_error(smem_tile(smem)));
  roles::MapDecl map;
  map.tensor = buffer(DType::bf16, {4, 128, 64});
  map.box = {1, 128, 64};
  map.swizzle = roles::Swizzle::b128;
  TmaBox box = tma_box(map);
  EXPECT_EQ(box.bytes(), 16384);
  EXPECT_EQ(box.span, 128);
}

}  // namespace
}  // namespace plait::layout
