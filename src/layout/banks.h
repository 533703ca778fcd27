#pragma once

#include <cstdint>
#include <vector>

namespace plait::layout {

/// An access of a warp to shared memory: a byte address a lane (negative: the lane takes no part), `bytes` (1, 2, 4, 8
/// or 16) from each. ldmatrix and stmatrix are accesses of 16 bytes by the lanes that give addresses.
struct WarpAccess {
  std::vector<std::int64_t> addresses;
  int bytes = 4;
};

/// Passes through the 32 banks of 4 bytes. Accesses of 8 bytes go by half warps, of 16 by quarter warps; within each,
/// every bank gives one word a pass, to all who want that word.
int bank_passes(const WarpAccess& access);
/// Passes beyond one for each part of the warp that takes part: 0 is free of conflicts.
int bank_conflicts(const WarpAccess& access);

}  // namespace plait::layout
