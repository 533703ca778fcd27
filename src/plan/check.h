#pragma once

#include "plan/schedule.h"

namespace plait::plan {

/// Checks a schedule against the kernel it is for: names, and every rule of docs/schedules.md, "What is legal".
Diagnostics check(const Schedule& schedule, const ir::Kernel& kernel, const std::vector<graph::TaskGraph>& graphs,
                  const machine::Device& device);
/// One loop of it.
Diagnostics check(const LoopPlan& plan, const graph::TaskGraph& graph, const std::vector<Role>& roles = {});

/// The orders of statements between loops.
Diagnostics check_regions(const Schedule& schedule, const ir::Kernel& kernel);

/// Bytes of shared memory of a block: every shared buffer of the kernel as often as the schedule has copies of it,
/// those that no copy from global memory fills as far as they live at the same time, and what stores are staged
/// through.
std::int64_t shared_bytes(const Schedule& schedule, const ir::Kernel& kernel);

}  // namespace plait::plan
