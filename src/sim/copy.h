#pragma once

#include "sim/access.h"
#include "sim/exec.h"

namespace plait::sim {

/// Calls fn(arena byte, bytes, row, column) for each run of neighbouring bytes of rows x columns elements of a tile;
/// row and column count from `at`.
template <typename Fn>
void for_each_run(const SmemCode& smem, const layout::SmemTile::Position& at, std::int64_t rows, std::int64_t columns,
                  Fn fn) {
  const layout::SmemTile& tile = smem.tile;
  std::int64_t step = tile.span == 0 ? columns : 128 / tile.bits;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; column += step) {
      std::int64_t length = std::min(step, columns - column);
      std::int64_t begin = smem.base + tile.offset(at.row + row, at.column + column, at.copy);
      fn(begin, length * tile.bits / 8, row, column);
    }
  }
}

/// The groups of bulk stores of a lane, made at its first one.
BulkGroups& bulk_groups(Warp& w, int lane);

/// A bulk store has read its source, or written its destination: its group may be done.
void finish_bulk_read(Machine& m, Warp& w, int lane, Clock group);
void finish_bulk_write(Machine& m, Warp& w, int lane, Clock group);

/// A lane's access that counts as one of another component of its.
bool lane_access_as(Machine& m, Warp& w, int lane, Component component, Clock clock, const Bytes& bytes, Kind kind);

}  // namespace plait::sim
