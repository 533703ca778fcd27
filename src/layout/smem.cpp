#include "layout/smem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "support/diagnostic.h"

namespace plait::layout {
namespace {

using Error = std::optional<std::string>;

/// More than any shared memory, so that products stay far from overflow.
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;

bool in_range(std::int64_t extent) { return extent >= 1 && extent <= kMaxExtent; }
bool is_span(int span) { return span == 0 || span == 32 || span == 64 || span == 128; }

}  // namespace

std::int64_t swizzled(std::int64_t offset, int span) {
  std::int64_t mask = span == 0 ? 0 : span / 16 - 1;
  return offset ^ ((offset >> 7 & mask) << 4);
}

std::int64_t swizzle_period(int span) { return span == 0 ? 16 : 8 * std::int64_t{span}; }

std::int64_t SmemTile::panel_columns() const { return span == 0 ? columns : span * 8 / bits; }

std::int64_t SmemTile::panels() const { return (columns + panel_columns() - 1) / panel_columns(); }

std::int64_t SmemTile::pitch() const { return span == 0 ? ((columns + pad) * bits + 7) / 8 : span; }

std::int64_t SmemTile::panel_bytes() const { return rows * pitch(); }

std::int64_t SmemTile::copy_bytes() const { return panels() * panel_bytes(); }

std::int64_t SmemTile::bytes() const { return copies * copy_bytes(); }

int SmemTile::alignment() const { return span == 0 ? 16 : 1024; }

std::int64_t SmemTile::linear_offset(std::int64_t row, std::int64_t column, std::int64_t copy) const {
  std::int64_t width = panel_columns();
  return copy * copy_bytes() + column / width * panel_bytes() + row * pitch() + column % width * bits / 8;
}

std::int64_t SmemTile::offset(std::int64_t row, std::int64_t column, std::int64_t copy) const {
  return swizzled(linear_offset(row, column, copy), span);
}

std::optional<SmemTile::Position> SmemTile::position(std::int64_t offset) const {
  if (offset < 0 || offset >= bytes()) return {};
  std::int64_t linear = swizzled(offset, span);
  std::int64_t panel = linear % copy_bytes() / panel_bytes(), within = linear % panel_bytes();
  std::int64_t inner = within % pitch() * 8 / bits, column = panel * panel_columns() + inner;
  if (column >= columns) return {};
  return Position{linear / copy_bytes(), within / pitch(), column};
}

Error tile_error(const SmemTile& tile) {
  if (!in_range(tile.rows) || !in_range(tile.columns) || !in_range(tile.copies) || tile.pad < 0 ||
      tile.pad > kMaxExtent)
    return fmt::format("has extents beyond 1 to {}", kMaxExtent);
  if (!is_span(tile.span)) return fmt::format("has swizzle {}; 32, 64 and 128 are known", tile.span);
  if (tile.bits < 1 || tile.bits > 64 || (tile.bits & (tile.bits - 1)) != 0)
    return fmt::format("has elements of {} bits", tile.bits);
  if (tile.span != 0 && tile.pad != 0) return std::string("has both a swizzle and padding");
  if (tile.span != 0 && tile.rows % 8 != 0)
    return fmt::format("has {} rows; with a swizzle a multiple of 8 is taken", tile.rows);
  if (tile.pitch() > kMaxExtent || tile.copies > (kMaxExtent << 8) / (tile.pitch() * tile.panels()) / tile.rows)
    return std::string("is larger than any shared memory");
  return {};
}

std::int64_t TmaBox::inner_bytes() const { return extents.back() * bits / 8; }

std::int64_t TmaBox::pitch() const { return span == 0 ? inner_bytes() : span; }

std::int64_t TmaBox::rows() const {
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 1 < extents.size(); ++i) count *= extents[i];
  return count;
}

std::int64_t TmaBox::bytes() const { return rows() * inner_bytes(); }

Error box_error(const TmaBox& box) {
  if (box.extents.empty() || box.extents.size() > 5)
    return fmt::format("has {} dimensions; TMA takes 1 to 5", box.extents.size());
  for (std::int64_t extent : box.extents) {
    if (extent < 1 || extent > 256) return fmt::format("has an extent of {}; TMA takes 1 to 256", extent);
  }
  if (!is_span(box.span)) return fmt::format("has swizzle {}; 32, 64 and 128 are known", box.span);
  if (box.extents.back() * box.bits % 128 != 0)
    return fmt::format("has rows of {} bits; TMA takes a multiple of 16 bytes", box.extents.back() * box.bits);
  if (box.span != 0 && box.inner_bytes() > box.span)
    return fmt::format("has rows of {} bytes, more than its swizzle of {}", box.inner_bytes(), box.span);
  return {};
}

std::vector<std::int64_t> box_offsets(const TmaBox& box, std::int64_t destination) {
  PLAIT_ASSERT(!box_error(box), "a box that TMA moves");
  std::vector<std::int64_t> offsets;
  std::int64_t inner = box.extents.back();
  offsets.reserve(static_cast<std::size_t>(box.rows() * inner));
  for (std::int64_t row = 0; row < box.rows(); ++row) {
    for (std::int64_t i = 0; i < inner; ++i)
      offsets.push_back(swizzled(destination + row * box.pitch() + i * box.bits / 8, box.span));
  }
  return offsets;
}

Error box_place_error(const TmaBox& box, const SmemTile& tile, std::int64_t row, std::int64_t column) {
  std::int64_t width = box.extents.back();
  if (box.bits != tile.bits) return fmt::format("has elements of {} bits, the tile of {}", box.bits, tile.bits);
  if (box.span != tile.span) return fmt::format("has swizzle {}, the tile {}", box.span, tile.span);
  if (row < 0 || column < 0 || row + box.rows() > tile.rows || column + width > tile.columns)
    return fmt::format("of {} x {} leaves the tile of {} x {}", box.rows(), width, tile.rows, tile.columns);
  std::int64_t at = tile.linear_offset(row, column);
  if (tile.span != 0 && column % tile.panel_columns() != 0)
    return fmt::format("begins at column {}, inside a panel of {}", column, tile.panel_columns());
  if (tile.span != 0 && row % 8 != 0) return fmt::format("begins at row {}, which is no multiple of 8", row);
  if (at % 128 != 0) return fmt::format("begins at byte {} of the tile; TMA takes a multiple of 128", at);
  if (tile.copies > 1 && tile.copy_bytes() % 128 != 0)
    return fmt::format("is one of copies of {} bytes; TMA takes multiples of 128", tile.copy_bytes());
  if (box.rows() > 1 && box.pitch() != tile.pitch())
    return fmt::format("has a pitch of {} bytes, the tile of {}", box.pitch(), tile.pitch());
  return {};
}

}  // namespace plait::layout
