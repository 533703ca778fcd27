#pragma once

#include "plan/position.h"

namespace plait::plan {

/// An edge that the stages and orders of a loop do not keep, both ends in one role.
struct BrokenEdge {
  graph::Edge edge;
  std::int64_t distance = 0;  ///< that counts: of a storage edge as many iterations as the buffer has versions
};
std::vector<BrokenEdge> broken_edges(const graph::TaskGraph& graph, const LoopPlan& plan);

}  // namespace plait::plan
