#pragma once

#include <map>
#include <set>

#include "roles/program.h"

namespace plait::pipeline {

/// Puts barriers between the threads of a role, and fences before products and copies, where one thread accesses in
/// memory what another one wrote, or overwrites what another one accessed. Tiles in `apart` have barriers of their own.
struct Meeting {
  const roles::Role& role;
  std::int64_t id = 0;  ///< of the named barrier
  std::set<const ir::BufferDecl*> apart;
  /// Tiles that stand in the same memory: one stands for all of them.
  std::map<const ir::BufferDecl*, const ir::BufferDecl*> together;
  /// Variables of loops whose iterations access other elements each, of buffers that do not meet either.
  std::set<const ir::VarDecl*> swept = {};
};
roles::Body with_barriers(const Meeting& meeting, const roles::Builtins& builtins);

}  // namespace plait::pipeline
