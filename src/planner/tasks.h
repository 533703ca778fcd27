#pragma once

#include "planner/costs.h"
#include "planner/planner.h"

namespace plait::planner {

/// The tasks of a kernel's pipelined loops with what they cost, in the program in which nothing overlaps but what its
/// author says.
struct Tasks {
  std::vector<graph::TaskGraph> graphs;
  pipeline::Derived base;
  std::vector<LoopCosts> costs;  ///< by graph, modelled
};
Result<Tasks> tasks_of(const ir::Kernel& kernel, const machine::Device& device, const Options& options);

}  // namespace plait::planner
