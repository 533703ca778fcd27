#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/fragment.h"

/// Where the elements of a tile stand in shared memory, and which bytes TMA writes.
namespace plait::layout {

/// XORs bits 4… of a byte offset with bits 7…: 3 bits for a span of 128 bytes, 2 for 64, 1 for 32, none for 0. Its own
/// inverse. Offsets count from an address that is a multiple of 1024.
std::int64_t swizzled(std::int64_t offset, int span);
/// Bytes after which the pattern repeats: 1024, 512, 256; 16 without a swizzle.
std::int64_t swizzle_period(int span);

/// A block tile in shared memory: `copies` of rows x columns. With a span (32, 64 or 128 bytes), columns are cut into
/// panels that wide, a panel being all rows at a pitch of the span, its bytes swizzled; without, rows follow each other
/// with `pad` elements behind each. Copies follow each other.
struct SmemTile {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  int bits = 16;  ///< of an element
  int span = 0;
  std::int64_t pad = 0;
  std::int64_t copies = 1;

  std::int64_t panel_columns() const;  ///< all columns without a span
  std::int64_t panels() const;
  std::int64_t pitch() const;  ///< bytes from row to row of a panel
  std::int64_t panel_bytes() const;
  std::int64_t copy_bytes() const;
  std::int64_t bytes() const;
  int alignment() const;  ///< of the tile's first byte: 1024 with a span, 16 without

  /// Byte offset of an element from the tile's first byte; of elements narrower than a byte, the byte that holds it.
  std::int64_t offset(std::int64_t row, std::int64_t column, std::int64_t copy = 0) const;
  /// The same before the swizzle. Equal to offset() where a row is a multiple of 8.
  std::int64_t linear_offset(std::int64_t row, std::int64_t column, std::int64_t copy = 0) const;
  struct Position {
    std::int64_t copy, row, column;
    bool operator==(const Position&) const = default;
  };
  /// The (first) element at a byte offset; nothing in padding or outside.
  std::optional<Position> position(std::int64_t offset) const;
};

/// Why there is no such tile, in words that follow its name.
std::optional<std::string> tile_error(const SmemTile& tile);

/// A box as TMA moves it: extents innermost last, dense in shared memory except that with a span rows have its pitch
/// and bytes are swizzled.
struct TmaBox {
  std::vector<std::int64_t> extents;
  int bits = 16;
  int span = 0;

  std::int64_t inner_bytes() const;
  std::int64_t pitch() const;  ///< bytes from inner row to inner row in shared memory
  std::int64_t rows() const;   ///< product of the outer extents
  /// Bytes that a load writes and counts on its mbarrier, those outside the tensor included.
  std::int64_t bytes() const;
};
std::optional<std::string> box_error(const TmaBox& box);

/// Offset of each element of the box (row-major over its extents) from the 1024-aligned address that `destination`
/// counts from.
std::vector<std::int64_t> box_offsets(const TmaBox& box, std::int64_t destination);

/// Why the box, moved to or from the tile at (row, column), does not lie as the tile does: its inner rows shall be rows
/// row, row + 1, … of the tile from `column` on, beginning at a multiple of 128 bytes. (The tile itself must begin at
/// one.)
std::optional<std::string> box_place_error(const TmaBox& box, const SmemTile& tile, std::int64_t row,
                                           std::int64_t column);

}  // namespace plait::layout
