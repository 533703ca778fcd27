#pragma once

#include <unordered_set>

#include "roles/program.h"

namespace plait::sim {

using VarSet = std::unordered_set<const ir::VarDecl*>;

/// The variables whose values may differ between the lanes of a warp: made from `lane` or `thread`, or set where only
/// some lanes run.
VarSet varying_variables(const roles::Builtins& builtins, const std::vector<const roles::Body*>& bodies);
/// Whether the value of an expression may.
bool is_varying(const ir::ExprRef& expr, const VarSet& varying);

}  // namespace plait::sim
