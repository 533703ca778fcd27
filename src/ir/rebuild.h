#pragma once

#include <functional>

#include "ir/kernel.h"

namespace plait::ir {

/// A statement with other bodies: `change` gives each body that it holds (of a loop, a condition, a task) its new one.
/// The same statement where none changes, or it holds none.
StmtRef with_bodies(const StmtRef& stmt, const std::function<Body(const Body&)>& change);

}  // namespace plait::ir
