#include "layout/smem.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace plait::layout {
namespace {

/// The tile by its definition: panels, rows at the pitch of the span, 16-byte units exchanged by the row's number.
std::int64_t offset_by_units(const SmemTile& tile, std::int64_t row, std::int64_t column) {
  if (tile.span == 0) return (row * (tile.columns + tile.pad) + column) * tile.bits / 8;
  std::int64_t byte = column * tile.bits / 8, panel = byte / tile.span, unit = byte % tile.span / 16;
  std::int64_t rows_a_line = 128 / tile.span;
  unit ^= row / rows_a_line % (tile.span / 16);
  return panel * tile.rows * tile.span + row * tile.span + unit * 16 + byte % 16;
}

std::vector<SmemTile> tiles() {
  std::vector<SmemTile> result;
  for (int bits : {8, 16, 32}) {
    for (int span : {0, 32, 64, 128}) {
      for (std::int64_t rows : {8, 64, 80, 176}) {
        for (std::int64_t bytes : {32, 128, 160, 192, 256})
          result.push_back({rows, bytes * 8 / bits, bits, span, 0, 1});
      }
    }
  }
  result.push_back({7, 30, 16, 0, 3, 2});
  result.push_back({16, 64, 16, 0, 8, 3});
  result.push_back({16, 64, 4, 0, 0, 1});
  return result;
}

TEST(SmemTile, ElementsStandInSwizzledPanels) {
  for (const SmemTile& tile : tiles()) {
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      for (std::int64_t column = 0; column < tile.columns; ++column)
        ASSERT_EQ(tile.offset(row, column), offset_by_units(tile, row, column)) << tile.span << " " << tile.bits;
    }
  }
}

TEST(SmemTile, CopiesDoNotMeetAndPositionIsTheInverse) {
  for (SmemTile tile : tiles()) {
    tile.copies = 3;
    if (tile.bits < 8) continue;
    std::set<std::int64_t> seen;
    for (std::int64_t copy = 0; copy < tile.copies; ++copy) {
      for (std::int64_t row = 0; row < tile.rows; ++row) {
        for (std::int64_t column = 0; column < tile.columns; ++column) {
          std::int64_t offset = tile.offset(row, column, copy);
          ASSERT_EQ(offset - tile.offset(row, column), copy * tile.copy_bytes());
          ASSERT_TRUE(offset >= 0 && offset + tile.bits / 8 <= tile.bytes());
          ASSERT_TRUE(seen.insert(offset).second);
          ASSERT_EQ(tile.position(offset), (SmemTile::Position{copy, row, column}));
        }
      }
    }
    EXPECT_EQ(tile.position(tile.bytes()), std::nullopt);
    EXPECT_EQ(tile.position(-1), std::nullopt);
  }
}

TEST(SmemTile, PaddingHoldsNothing) {
  SmemTile tile{4, 10, 16, 0, 6, 1};
  EXPECT_EQ(tile.pitch(), 32);
  EXPECT_EQ(tile.position(20), std::nullopt);
  EXPECT_EQ(tile.position(32), (SmemTile::Position{0, 1, 0}));
  // The last panel of a swizzled tile may be half used.
  SmemTile half{8, 80, 16, 128, 0, 1};
  EXPECT_EQ(half.panels(), 2);
  EXPECT_EQ(half.copy_bytes(), 2 * 8 * 128);
  EXPECT_EQ(half.position(1024 + 32), std::nullopt);
}

TEST(SmemTile, LinearOffsetIsTheOffsetOfAlignedRows) {
  for (const SmemTile& tile : tiles()) {
    for (std::int64_t row = 0; row < tile.rows; row += 8) {
      for (std::int64_t column = 0; column < tile.columns; ++column)
        ASSERT_EQ(tile.offset(row, column), tile.linear_offset(row, column));
    }
  }
}

TEST(Swizzle, IsItsOwnInverseAndRepeats) {
  for (int span : {0, 32, 64, 128}) {
    std::int64_t period = swizzle_period(span);
    for (std::int64_t offset = 0; offset < 4096; ++offset) {
      ASSERT_EQ(swizzled(swizzled(offset, span), span), offset);
      ASSERT_EQ(swizzled(offset + period, span), swizzled(offset, span) + period);
    }
    bool shorter = span != 0;
    for (std::int64_t offset = 0; shorter && offset < period; ++offset)
      shorter = swizzled(offset + period / 2, span) == swizzled(offset, span) + period / 2;
    EXPECT_FALSE(shorter);
  }
}

std::string error(const SmemTile& tile) { return tile_error(tile).value_or("none"); }

TEST(SmemTile, ErrorsNameWhatIsTaken) {
  for (const SmemTile& tile : tiles()) EXPECT_EQ(error(tile), "none");
  EXPECT_EQ(error({12, 64, 16, 128, 0, 1}), "has 12 rows; with a swizzle a multiple of 8 is taken");
  EXPECT_EQ(error({8, 64, 16, 128, 8, 1}), "has both a swizzle and padding");
  EXPECT_EQ(error({8, 64, 16, 96, 0, 1}), "has swizzle 96; 32, 64 and 128 are known");
  EXPECT_EQ(error({8, 64, 24, 0, 0, 1}), "has elements of 24 bits");
  EXPECT_EQ(error({0, 64, 16, 0, 0, 1}), "has extents beyond 1 to 16777216");
  EXPECT_EQ(error({INT64_MAX, 64, 16, 0, 0, 1}), "has extents beyond 1 to 16777216");
  EXPECT_EQ(error({1 << 20, 1 << 20, 64, 0, 0, 1 << 20}), "is larger than any shared memory");
}

TEST(TmaBox, LoadsLieAsTheTileDoes) {
  for (const SmemTile& tile : tiles()) {
    if (tile.bits < 8 || tile.pad != 0) continue;
    std::int64_t width = tile.span == 0 ? tile.columns : tile.panel_columns();
    for (std::int64_t column = 0; column + width <= tile.columns; column += width) {
      TmaBox box{{std::min<std::int64_t>(tile.rows - 8 * (tile.rows > 8), 256), width}, tile.bits, tile.span};
      std::int64_t row = tile.rows > 8 ? 8 : 0;
      if (box_error(box)) continue;
      if (tile.span == 0 && tile.linear_offset(row, column) % 128 != 0) continue;
      ASSERT_EQ(box_place_error(box, tile, row, column), std::nullopt);
      std::vector<std::int64_t> image = box_offsets(box, tile.linear_offset(row, column));
      std::size_t i = 0;
      for (std::int64_t r = 0; r < box.rows(); ++r) {
        for (std::int64_t c = 0; c < width; ++c) ASSERT_EQ(image[i++], tile.offset(row + r, column + c));
      }
    }
  }
}

TEST(TmaBox, OuterDimensionsBecomeRows) {
  SmemTile tile{128, 64, 16, 128, 0, 1};
  TmaBox box{{1, 4, 32, 64}, 16, 128};
  EXPECT_EQ(box.bytes(), 16384);
  EXPECT_EQ(box_place_error(box, tile, 0, 0), std::nullopt);
  EXPECT_EQ(box_offsets(box, 0)[(2 * 32 + 5) * 64 + 9], tile.offset(2 * 32 + 5, 9));
}

TEST(TmaBox, ErrorsNameWhatIsTaken) {
  auto error = [](const TmaBox& box) { return box_error(box).value_or("none"); };
  EXPECT_EQ(error({{}, 16, 0}), "has 0 dimensions; TMA takes 1 to 5");
  EXPECT_EQ(error({{1, 1, 1, 1, 1, 8}, 16, 0}), "has 6 dimensions; TMA takes 1 to 5");
  EXPECT_EQ(error({{257, 64}, 16, 0}), "has an extent of 257; TMA takes 1 to 256");
  EXPECT_EQ(error({{0, 64}, 16, 0}), "has an extent of 0; TMA takes 1 to 256");
  EXPECT_EQ(error({{64, 12}, 16, 0}), "has rows of 192 bits; TMA takes a multiple of 16 bytes");
  EXPECT_EQ(error({{64, 128}, 16, 128}), "has rows of 256 bytes, more than its swizzle of 128");
  EXPECT_EQ(error({{64, 64}, 16, 48}), "has swizzle 48; 32, 64 and 128 are known");
}

TEST(TmaBox, PlacesThatDoNotFitAreNamed) {
  SmemTile tile{128, 128, 16, 128, 0, 1};
  auto error = [&](const TmaBox& box, std::int64_t row, std::int64_t column) {
    return box_place_error(box, tile, row, column).value_or("none");
  };
  TmaBox box{{64, 64}, 16, 128};
  EXPECT_EQ(error(box, 0, 32), "begins at column 32, inside a panel of 64");
  EXPECT_EQ(error(box, 4, 0), "begins at row 4, which is no multiple of 8");
  EXPECT_EQ(error(box, 72, 0), "of 64 x 64 leaves the tile of 128 x 128");
  EXPECT_EQ(error({{64, 128}, 8, 128}, 0, 0), "has elements of 8 bits, the tile of 16");
  EXPECT_EQ(error({{64, 32}, 16, 64}, 0, 0), "has swizzle 64, the tile 128");
  tile = {128, 128, 16, 0, 8, 1};
  EXPECT_EQ(error({{64, 128}, 16, 0}, 0, 0), "has a pitch of 256 bytes, the tile of 272");
  EXPECT_EQ(error({{64, 128}, 16, 0}, 1, 0), "begins at byte 272 of the tile; TMA takes a multiple of 128");
}

}  // namespace
}  // namespace plait::layout
