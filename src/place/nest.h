#pragma once

#include "place/placed.h"

namespace plait::place {

/// A parallel nest as lines, one a store: lets are put into the values, a store under `if` keeps the old element where
/// the condition does not hold. The reason in words where it has no such form.
struct NestLines {
  std::vector<NestLine> lines;
  std::string reason;  ///< empty: the lines are the nest
};
NestLines lines_of(const ir::For& nest);

/// Whether the index is exactly these variables, in order.
bool indexed_by(const std::vector<ir::ExprRef>& index, const std::vector<ir::LoopAxis>& axes, std::size_t count);

}  // namespace plait::place
