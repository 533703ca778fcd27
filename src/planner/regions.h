#pragma once

#include "explain/explain.h"
#include "graph/regions.h"
#include "planner/loop.h"
#include "planner/planner.h"

namespace plait::planner {

/// Statements outside of pipelined loops for which another order than the program's may be faster.
struct OpenRegion {
  graph::StraightRegion region;
  plan::Problem problem;              ///< by task of the region
  explain::Busy busy;                 ///< of all replicas; of NPUs the problem says it
  std::int64_t in_program_order = 0;  ///< makespan, cycles
};
/// Those of a kernel, as its role program in which nothing overlaps carries them out, with what they cost by the model
/// of the machine.
Result<std::vector<OpenRegion>> open_regions(const ir::Kernel& kernel, const roles::Program& base,
                                             const machine::Device& device);

/// The region, where by the problem an order other than the program's may be faster; nothing otherwise.
std::optional<OpenRegion> open_region(graph::StraightRegion region, plan::Problem problem);

/// A certified order by one of the planners that weigh times, and what is told of it; nothing where that is no faster.
struct TimedRegion {
  plan::RegionPlan plan;
  PlannedLoop told;
};
std::optional<TimedRegion> timed(Kind kind, const OpenRegion& open);

}  // namespace plait::planner
