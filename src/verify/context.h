#pragma once

#include <unordered_map>
#include <unordered_set>

#include "ir/kernel.h"

namespace plait::verify {

/// What surrounds the statement under inspection.
struct Scope {
  bool in_parallel = false;
  bool in_pipelined = false;
  /// Whether break and continue have a loop to belong to.
  bool can_jump = false;
};

struct BufferUse {
  bool written = false;
  /// Place of the first read, if any.
  Loc first_read;
  bool read = false;
};

/// State of one verification: findings, and what was learned of the buffers on the way.
struct Context {
  Diagnostics& diags;
  std::unordered_map<const ir::BufferDecl*, ir::ParamKind> params;
  /// Local buffers defined outside the parallel loop that is being inspected.
  std::unordered_set<const ir::BufferDecl*> outer_locals;
  std::unordered_set<const ir::BufferDecl*> locals;
  std::unordered_map<const ir::BufferDecl*, BufferUse> uses;
};

/// Rules of one tile operation: scopes, types, extents, attributes (tile_ops.cpp).
void check_tile_op(const ir::TileOp& op, const Loc& loc, Context& context);

/// Bounds and conflicts that the analysis decides (bounds.cpp).
void check_bounds(const ir::Kernel& kernel, Diagnostics& diags);

/// Notes that a statement reads or writes a buffer, and checks that a parameter's direction allows it.
void note_read(const ir::Buffer& buffer, const Loc& loc, Context& context);
void note_write(const ir::Buffer& buffer, const Loc& loc, Context& context);
void note_update(const ir::Buffer& buffer, const Loc& loc, Context& context);

/// `128x64`, with `?` for an extent that is not a literal.
std::string extents_text(const std::vector<ir::ExprRef>& extents);

}  // namespace plait::verify
