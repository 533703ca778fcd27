#pragma once

#include "plan/schedule.h"

namespace plait::plan {

/// The kernel with the statements of its regions in the order that a schedule, which was checked, gives them:
/// allocations first, a let that is replayed before the first statement that needs it. The same kernel where the
/// schedule names no region.
ir::Kernel ordered(const ir::Kernel& kernel, const Schedule& schedule);

}  // namespace plait::plan
