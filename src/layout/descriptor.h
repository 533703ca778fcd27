#pragma once

#include "layout/smem.h"

/// Operands of wgmma in shared memory.
namespace plait::layout {

/// How an operand is stored: `k`: rows are m (or n) and columns k; `mn`: rows are k and columns m (or n).
enum class Major { k, mn };

/// A shared-memory operand of one wgmma: `extent` along m or n, 32 bytes along k, beginning at (row, column) of a copy
/// of the tile.
struct WgmmaOperand {
  SmemTile tile;
  Major major = Major::k;
  std::int64_t extent = 64;
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t copy = 0;
};

/// Why wgmma cannot read it, in words that follow its name.
std::optional<std::string> operand_error(const WgmmaOperand& operand);

/// What the 64-bit matrix descriptor says. Offsets in bytes; `start` from the tile's first byte.
struct WgmmaDescriptor {
  std::int64_t start = 0;
  /// Major::mn: from one panel to the next. Major::k: not used by the hardware, 16.
  std::int64_t leading = 16;
  /// From one group of 8 rows of a panel to the next.
  std::int64_t stride = 0;
  int span = 128;

  /// The descriptor for a tile at this byte address of the shared window (a multiple of 1024).
  std::uint64_t encode(std::int64_t tile_address) const;
};
/// The descriptor of an operand without operand_error. `start` alone depends on row, column and copy, and is the tile's
/// linear_offset of them.
WgmmaDescriptor wgmma_descriptor(const WgmmaOperand& operand);
/// Bits 62 and 63 of a descriptor: 1, 2, 3 for 128, 64, 32 bytes.
int swizzle_code(int span);

/// Where the tensor core reads element (mn, k) of an operand, given its descriptor's bits; a byte address.
std::int64_t descriptor_address(std::uint64_t descriptor, Major major, int bits, std::int64_t mn, std::int64_t k);

}  // namespace plait::layout
