#pragma once

#include <set>

#include "graph/graph.h"
#include "roles/program.h"

namespace plait::profile {

/// The statements of a task in a role's turn of the loop.
struct Statements {
  roles::Body body;
  /// Lets of the role on which they depend, in order.
  roles::Body lets;
  std::vector<ir::Var> free;           ///< variables that nothing of this defines, but for the builtins
  std::set<const ir::VarDecl*> zeros;  ///< of those: loop variables and counters of the role
  std::vector<roles::Smem> smem;
  std::vector<roles::Fragment> fragments;  ///< those that another one names come behind it
  std::vector<std::string> tensors;        ///< that something besides TMA loads accesses
  std::vector<std::string> barriers;       ///< synchronisation with other roles or replicas
};
Statements statements_of(const roles::Program& program, const roles::Role& role, const graph::TaskGraph& graph,
                         std::size_t node);

}  // namespace plait::profile
