#pragma once

#include <functional>
#include <set>

#include "ir/kernel.h"

namespace plait::pipeline {

/// Buffers that a statement or its body reads, or writes.
struct Touched {
  std::set<ir::Buffer> reads, writes;
};
Touched touched(const ir::Stmt& stmt);
/// The bodies that stand in a statement.
void for_each_body_of(const ir::Stmt& stmt, const std::function<void(const ir::Body&)>& fn);
/// The same of the statement without its body.
Touched touched_alone(const ir::Stmt& stmt);
/// Whether what touches `then` must not overtake what touches `first`: one of them writes what the other touches.
bool in_conflict(const Touched& first, const Touched& then);

}  // namespace plait::pipeline
