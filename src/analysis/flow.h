#pragma once

#include "analysis/accesses.h"

namespace plait::analysis {

/// An access in a loop body, with what is needed to place it in time.
struct LoopAccess {
  Access access;
  std::vector<Step> path;        ///< from the loop's own variables on
  Domain inner;                  ///< variables, conditions and lets beyond the surroundings of the loop
  std::size_t statement = 0;     ///< number in the loop body
  std::size_t private_vars = 0;  ///< the buffer is new for each value of this many of the first variables of `path`
};

/// Distances in iterations of the loop between two accesses that depend on each other.
struct FlowEdge {
  DependenceKind kind;
  std::size_t from, to;  ///< numbers of accesses
  std::optional<std::int64_t> distance;
  bool exact = false;
};

/// The dependences among the accesses to one buffer; nullopt when isl gives up.
std::optional<std::vector<FlowEdge>> flow_edges(const std::vector<LoopAccess>& accesses, const ir::For& loop,
                                                const Domain& outer);

}  // namespace plait::analysis
