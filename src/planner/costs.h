#pragma once

#include "explain/explain.h"
#include "plan/costs.h"
#include "store/database.h"

namespace plait::planner {

/// What the tasks of a loop cost one replica of the role that computes.
struct LoopCosts {
  std::vector<plan::TaskCost> tasks;  ///< by node of the graph
  std::vector<bool> ahead;            ///< loads that are made stages ahead of their readers
  int replicas = 1;
};

/// What explains a loop, of what explains all of a program. Precondition: something does.
const explain::Loop& explained(const std::vector<explain::Loop>& loops, const graph::TaskGraph& graph);

/// From the statements that the tasks became in a role program of the kernel, by the rates that the simulator charges.
/// What was measured of a task overrules that, and what the author gave with `task` overrules both. `loop` explains the
/// loop in that program; `measured` may be null. Errors: those of the file of what was measured.
Result<LoopCosts> costs_of(const graph::TaskGraph& graph, const explain::Loop& loop, const roles::Program& program,
                           const machine::Device& device, const store::Database* measured);

/// Where the costs come from, for people: how many tasks of each source.
std::string sources_of(const LoopCosts& costs);

}  // namespace plait::planner
