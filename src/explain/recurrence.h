#pragma once

#include "graph/graph.h"

namespace plait::explain {

/// What iterations that need each other's results cost: the least interval at which every flow dependence is met.
struct Recurrence {
  std::int64_t ii = 0;             ///< cycles; 0: no iteration needs the one before
  std::vector<std::size_t> cycle;  ///< nodes of the longest one, in the order of the flow
};
/// The largest ratio, over cycles of flow dependences, of the nodes' latencies to the iterations that the cycle spans.
Recurrence recurrence_bound(const graph::TaskGraph& graph, const std::vector<double>& latencies);

}  // namespace plait::explain
