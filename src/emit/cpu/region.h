#pragma once

#include "emit/cpu/emitter.h"

namespace plait::cpu {

/// One dimension of a tile.
struct TileDim {
  llvm::Value* begin;   ///< in the buffer
  llvm::Value* extent;  ///< of the tile
  llvm::Value* stride;  ///< of the buffer, in elements
  llvm::Value* size;    ///< of the buffer
};
/// A region with its bounds computed.
struct Tile {
  const BufferInfo* buffer;
  std::vector<TileDim> dims;
};

/// Computes a region's bounds. A tile that leaves its buffer traps, but `clips` lets it leave a global tensor.
Tile emit_region(Emitter& e, const ir::Region& region, const Loc& loc, bool clips = false);
/// Number of the tile's first element.
llvm::Value* first_element(Emitter& e, const Tile& tile);
/// Numbers of the dimensions whose extent is not the literal 1.
std::vector<std::size_t> proper_dims(const Tile& tile);
/// Traps unless the extents agree; a constant disagreement was refused earlier.
void require_equal(Emitter& e, llvm::Value* a, llvm::Value* b, const Loc& loc);

}  // namespace plait::cpu
