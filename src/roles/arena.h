#pragma once

#include "roles/program.h"

namespace plait::roles {

/// Where the tiles and mbarriers of a block stand in its shared memory: byte offsets from a 1024-aligned address.
struct Arena {
  std::vector<std::int64_t> smem;   ///< one a tile of Program::smem
  std::vector<std::int64_t> mbars;  ///< of the first barrier, one an array of Program::mbars; 8 bytes a barrier
  std::int64_t bytes = 0;
};

/// Tiles in order of declaration, each at the first place behind the one before that keeps its alignment (1024 with a
/// swizzle, otherwise 128) and clear of tiles placed by `at`; then the mbarriers. Precondition: every tile has a
/// layout (layout::tile_error finds nothing).
Arena arena(const Program& program);

/// Multiples of this many bytes at which the tile may begin.
std::int64_t smem_alignment(const SmemDecl& smem);

/// Bytes of a tile, padding and partly filled panels included.
std::int64_t smem_bytes(const SmemDecl& smem);

/// 32-bit registers that a fragment takes in each thread of a replica of `threads`. Precondition: it has a layout
/// (layout::fragment_error finds nothing).
std::int64_t fragment_registers(const FragmentDecl& fragment, std::int64_t threads);

}  // namespace plait::roles
