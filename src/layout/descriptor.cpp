#include "layout/descriptor.h"

#include <fmt/format.h>

#include "support/diagnostic.h"

namespace plait::layout {
namespace {

using Error = std::optional<std::string>;

/// Bytes of k that one instruction takes.
constexpr std::int64_t kDepthBytes = 32;

Error k_major_error(const WgmmaOperand& operand, std::int64_t depth) {
  const SmemTile& tile = operand.tile;
  if (operand.row % 8 != 0) return fmt::format("begins at row {}, which is no multiple of 8", operand.row);
  if (operand.column % depth != 0)
    return fmt::format("begins at column {}, which is no multiple of {}", operand.column, depth);
  if (operand.row + operand.extent > tile.rows || operand.column + depth > tile.columns)
    return fmt::format("of {} x {} leaves the tile of {} x {}", operand.extent, depth, tile.rows, tile.columns);
  return {};
}

Error mn_major_error(const WgmmaOperand& operand, std::int64_t depth) {
  const SmemTile& tile = operand.tile;
  if (tile.bits != 16)
    return fmt::format("has elements of {} bits with k along the rows; only 16-bit operands may", tile.bits);
  if (operand.row % 8 != 0) return fmt::format("begins at row {}, which is no multiple of 8", operand.row);
  if (operand.column % tile.panel_columns() != 0)
    return fmt::format("begins at column {}, inside a panel of {}", operand.column, tile.panel_columns());
  if (operand.row + depth > tile.rows || operand.column + operand.extent > tile.columns)
    return fmt::format("of {} x {} leaves the tile of {} x {}", depth, operand.extent, tile.rows, tile.columns);
  return {};
}

std::uint64_t field(std::int64_t bytes, int shift) {
  return (static_cast<std::uint64_t>(bytes) >> 4 & 0x3fff) << shift;
}

}  // namespace

Error operand_error(const WgmmaOperand& operand) {
  const SmemTile& tile = operand.tile;
  if (Error error = tile_error(tile)) return error;
  if (tile.span == 0) return std::string("has no swizzle; wgmma reads tiles with swizzle 32, 64 or 128");
  if (tile.bits != 8 && tile.bits != 16 && tile.bits != 32)
    return fmt::format("has elements of {} bits; wgmma takes 8, 16 and 32 (tf32)", tile.bits);
  if (operand.extent < 8 || operand.extent > 256 || operand.extent % 8 != 0)
    return fmt::format("has an extent of {}; wgmma takes multiples of 8 up to 256", operand.extent);
  if (operand.row < 0 || operand.column < 0 || operand.copy < 0 || operand.copy >= tile.copies)
    return std::string("begins outside its tile");
  std::int64_t depth = kDepthBytes * 8 / tile.bits;
  return operand.major == Major::k ? k_major_error(operand, depth) : mn_major_error(operand, depth);
}

int swizzle_code(int span) { return span == 128 ? 1 : span == 64 ? 2 : span == 32 ? 3 : 0; }

WgmmaDescriptor wgmma_descriptor(const WgmmaOperand& operand) {
  Error error = operand_error(operand);
  PLAIT_ASSERT(!error, "wgmma operand " + error.value_or(""));
  const SmemTile& tile = operand.tile;
  WgmmaDescriptor descriptor;
  descriptor.start = tile.linear_offset(operand.row, operand.column, operand.copy);
  if (operand.major == Major::mn) descriptor.leading = tile.panel_bytes();
  descriptor.stride = 8 * tile.pitch();
  descriptor.span = tile.span;
  return descriptor;
}

std::uint64_t WgmmaDescriptor::encode(std::int64_t tile_address) const {
  return field(tile_address + start, 0) | field(leading, 16) | field(stride, 32) |
         static_cast<std::uint64_t>(swizzle_code(span)) << 62;
}

std::int64_t descriptor_address(std::uint64_t descriptor, Major major, int bits, std::int64_t mn, std::int64_t k) {
  auto bytes = [&](int shift) { return static_cast<std::int64_t>(descriptor >> shift & 0x3fff) << 4; };
  std::int64_t start = bytes(0), leading = bytes(16), stride = bytes(32);
  int code = static_cast<int>(descriptor >> 62);
  PLAIT_ASSERT(code != 0, "a descriptor with a swizzle");
  int span = 256 >> code;
  std::int64_t row = major == Major::k ? mn : k, along = (major == Major::k ? k : mn) * bits / 8;
  std::int64_t linear = start + row / 8 * stride + row % 8 * span + along / span * leading + along % span;
  return swizzled(linear, span);
}

}  // namespace plait::layout
