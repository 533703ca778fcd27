#pragma once

#include "explain/busy.h"
#include "graph/graph.h"

namespace plait::explain {

/// Which nodes of a graph a place of the tile program belongs to: several where a function is called again or an inner
/// loop was taken apart.
using NodesOf = std::map<Origin, std::vector<std::size_t>>;
NodesOf nodes_by_origin(const graph::TaskGraph& graph);

/// The loop of a role's body that holds most of a loop's tasks: what stands before and behind it fills and drains the
/// pipeline. Null where the role does none of them.
const roles::For* steady_loop(const roles::Body& body, const graph::TaskGraph& graph);

}  // namespace plait::explain
