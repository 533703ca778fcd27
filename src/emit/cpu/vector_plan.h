#pragma once

#include <optional>
#include <string>

#include "ir/kernel.h"

namespace plait::cpu {

/// How the iterations of a `parallel` loop are put into lanes.
struct VectorPlan {
  std::optional<std::size_t> axis;  ///< the loop axis whose iterations share a vector; none: scalar code
  Loc loc;                          ///< where and why there is none
  std::string reason;
};

/// Chooses the axis with the most contiguous accesses; among equals, the innermost.
VectorPlan plan_vector(const ir::For& parallel, const Loc& loc);

}  // namespace plait::cpu
