#pragma once

#include "plan/schedule.h"

namespace plait::plan::test {

/// The kernel with each pipelined loop written out in the order of its plan, serially: turn by turn, statement by
/// statement, each buffer in as many copies as the plan gives it. What it computes is what the plan means. Loops that
/// may end early are left as they are.
ir::Kernel play(const ir::Kernel& kernel, const std::vector<graph::TaskGraph>& graphs,
                const std::vector<LoopPlan>& plans);

}  // namespace plait::plan::test
