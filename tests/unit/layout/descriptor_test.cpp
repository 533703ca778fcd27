#include "layout/descriptor.h"

#include <gtest/gtest.h>

#include "support/diagnostic.h"

namespace plait::layout {
namespace {

/// A model of the tensor core's reads in terms of core matrices: 8 rows of 16 bytes, as the instruction set manual has
/// them. Rows of a core matrix are a span apart; the core matrices of a row of the tile lie side by side within the
/// span.
std::int64_t core_matrix_read(std::uint64_t descriptor, bool k_major, int bits, std::int64_t mn, std::int64_t k) {
  std::int64_t start = static_cast<std::int64_t>(descriptor & 0x3fff) * 16;
  std::int64_t leading = static_cast<std::int64_t>(descriptor >> 16 & 0x3fff) * 16;
  std::int64_t stride = static_cast<std::int64_t>(descriptor >> 32 & 0x3fff) * 16;
  int span = descriptor >> 62 == 1 ? 128 : descriptor >> 62 == 2 ? 64 : 32;
  int per_core = 128 / bits;
  std::int64_t row = k_major ? mn : k, unit = (k_major ? k : mn) / per_core, rest = (k_major ? k : mn) % per_core;
  std::int64_t at = start + row % 8 * span + rest * bits / 8;
  if (k_major) {
    at += row / 8 * stride + unit * 16;
  } else {
    std::int64_t units_a_panel = span / 16;
    at += row / 8 * stride + unit / units_a_panel * leading + unit % units_a_panel * 16;
  }
  std::int64_t line = at / 128;
  return at ^ line % (span / 16) * 16;
}

/// Every element that the instruction reads is the tile's.
void expect_reads_tile(const WgmmaOperand& operand) {
  constexpr std::int64_t base = 3 * 1024;
  const SmemTile& tile = operand.tile;
  std::uint64_t bits = wgmma_descriptor(operand).encode(base);
  bool k_major = operand.major == Major::k;
  for (std::int64_t mn = 0; mn < operand.extent; ++mn) {
    for (std::int64_t k = 0; k < 256 / tile.bits; ++k) {
      std::int64_t expected = k_major ? tile.offset(operand.row + mn, operand.column + k, operand.copy)
                                      : tile.offset(operand.row + k, operand.column + mn, operand.copy);
      ASSERT_EQ(core_matrix_read(bits, k_major, tile.bits, mn, k), base + expected);
      ASSERT_EQ(descriptor_address(bits, operand.major, tile.bits, mn, k), base + expected);
    }
  }
}

TEST(WgmmaDescriptor, KMajorReadsTheTile) {
  for (int span : {32, 64, 128}) {
    for (int bits : {8, 16, 32}) {
      for (std::int64_t extent = 8; extent <= 256; extent += extent < 96 ? 8 : 16) {
        SmemTile tile{extent + 64, 2 * span * 8 / bits, bits, span, 0, 2};
        std::int64_t depth = 256 / bits;
        for (std::int64_t column = 0; column < tile.columns; column += depth) {
          expect_reads_tile({tile, Major::k, extent, 0, column, 0});
          expect_reads_tile({tile, Major::k, extent, 64, column, 1});
        }
      }
    }
  }
}

TEST(WgmmaDescriptor, MnMajorReadsTheTile) {
  for (int span : {32, 64, 128}) {
    for (std::int64_t extent = 8; extent <= 256; extent += 8) {
      std::int64_t panel = span / 2;
      SmemTile tile{80, (extent + panel - 1) / panel * panel + panel, 16, span, 0, 2};
      for (std::int64_t row : {0, 16, 64}) {
        expect_reads_tile({tile, Major::mn, extent, row, 0, 0});
        expect_reads_tile({tile, Major::mn, extent, row, panel, 1});
      }
    }
  }
}

TEST(WgmmaDescriptor, LeadingAndStrideMatter) {
  // As V of attention: 128 keys by 128 columns, two panels.
  WgmmaOperand v{{128, 128, 16, 128, 0, 1}, Major::mn, 128, 0, 0, 0};
  WgmmaDescriptor right = wgmma_descriptor(v);
  EXPECT_EQ(right.leading, 128 * 128);
  EXPECT_EQ(right.stride, 1024);
  WgmmaDescriptor wrong = right;
  std::swap(wrong.leading, wrong.stride);
  EXPECT_NE(descriptor_address(wrong.encode(0), Major::mn, 16, 64, 0), v.tile.offset(0, 64));
}

TEST(WgmmaDescriptor, HasTheBitsOfTheManual) {
  SmemTile tile{128, 64, 16, 128, 0, 4};
  // Start 0x8000 + one copy of 16384 + 64 rows of 128 + 32 bytes; leading 16, stride 1024, swizzle 1.
  EXPECT_EQ(wgmma_descriptor({tile, Major::k, 64, 64, 16, 1}).encode(0x8000),
            std::uint64_t{0x8000 + 16384 + 64 * 128 + 32} >> 4 | std::uint64_t{1} << 16 | std::uint64_t{64} << 32 |
                std::uint64_t{1} << 62);
  EXPECT_EQ(swizzle_code(64), 2);
  EXPECT_EQ(swizzle_code(32), 3);
}

TEST(WgmmaOperand, ErrorsNameWhatIsTaken) {
  auto error = [](const WgmmaOperand& operand) { return operand_error(operand).value_or("none"); };
  SmemTile tile{128, 128, 16, 128, 0, 2};
  EXPECT_EQ(error({tile, Major::k, 64, 4, 0, 0}), "begins at row 4, which is no multiple of 8");
  EXPECT_EQ(error({tile, Major::k, 64, 0, 8, 0}), "begins at column 8, which is no multiple of 16");
  EXPECT_EQ(error({tile, Major::k, 136, 0, 0, 0}), "of 136 x 16 leaves the tile of 128 x 128");
  EXPECT_EQ(error({tile, Major::k, 64, 0, 128, 0}), "of 64 x 16 leaves the tile of 128 x 128");
  EXPECT_EQ(error({tile, Major::mn, 64, 0, 32, 0}), "begins at column 32, inside a panel of 64");
  EXPECT_EQ(error({tile, Major::mn, 64, 4, 0, 0}), "begins at row 4, which is no multiple of 8");
  EXPECT_EQ(error({tile, Major::mn, 64, 120, 0, 0}), "of 16 x 64 leaves the tile of 128 x 128");
  EXPECT_EQ(error({tile, Major::mn, 72, 0, 64, 0}), "of 16 x 72 leaves the tile of 128 x 128");
  EXPECT_EQ(error({tile, Major::k, 12, 0, 0, 0}), "has an extent of 12; wgmma takes multiples of 8 up to 256");
  EXPECT_EQ(error({tile, Major::k, 264, 0, 0, 0}), "has an extent of 264; wgmma takes multiples of 8 up to 256");
  EXPECT_EQ(error({tile, Major::k, 64, 0, 0, 2}), "begins outside its tile");
  EXPECT_EQ(error({{128, 128, 8, 128, 0, 1}, Major::mn, 64, 0, 0, 0}),
            "has elements of 8 bits with k along the rows; only 16-bit operands may");
  EXPECT_EQ(error({{128, 128, 16, 0, 0, 1}, Major::k, 64, 0, 0, 0}),
            "has no swizzle; wgmma reads tiles with swizzle 32, 64 or 128");
  EXPECT_EQ(error({{128, 128, 64, 128, 0, 1}, Major::k, 64, 0, 0, 0}),
            "has elements of 64 bits; wgmma takes 8, 16 and 32 (tf32)");
  EXPECT_EQ(error({{12, 128, 16, 128, 0, 1}, Major::k, 8, 0, 0, 0}),
            "has 12 rows; with a swizzle a multiple of 8 is taken");
  EXPECT_THROW(wgmma_descriptor({tile, Major::k, 64, 4, 0, 0}), InternalError);
}

}  // namespace
}  // namespace plait::layout
