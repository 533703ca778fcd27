#pragma once

#include <memory>

#include "emit/cpu/region.h"

namespace plait::cpu {

/// A row-major tile in the operation's scratch.
struct Temporary {
  ir::BufferDecl decl;
  BufferInfo info;
  Tile tile;
};
/// With the type and extents of `like`.
std::unique_ptr<Temporary> make_temporary(Emitter& e, const ir::Stmt& stmt, const Tile& like);

}  // namespace plait::cpu
