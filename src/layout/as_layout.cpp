#include "layout/as_layout.h"

#include "support/diagnostic.h"

namespace plait::layout {
namespace {

Layout digits_layout(const std::vector<Digit>& digits, std::int64_t columns) {
  std::vector<Layout> modes;
  for (const Digit& digit : digits) modes.emplace_back(digit.extent, digit.step.row * columns + digit.step.column);
  return modes.empty() ? Layout(1, 0) : Layout(std::move(modes));
}

/// XORs of 16-byte units by lines of 128 bytes.
Swizzle swizzle_of(int span) {
  switch (span) {
    case 32:
      return {1, 4, 3};
    case 64:
      return {2, 4, 3};
    case 128:
      return {3, 4, 3};
    default:
      return {};
  }
}

}  // namespace

Layout as_layout(const FragmentMap& map) {
  return Layout(
      {digits_layout(map.thread_digits(), map.columns()), digits_layout(map.element_digits(), map.columns())});
}

SwizzledLayout as_layout(const SmemTile& tile) {
  PLAIT_ASSERT(!tile_error(tile) && tile.bits % 8 == 0, "a tile of whole bytes");
  Layout columns({Layout(tile.panel_columns(), tile.bits / 8), Layout(tile.panels(), tile.panel_bytes())});
  Layout layout({Layout(tile.rows, tile.pitch()), columns, Layout(tile.copies, tile.copy_bytes())});
  return {swizzle_of(tile.span), 0, std::move(layout)};
}

}  // namespace plait::layout
