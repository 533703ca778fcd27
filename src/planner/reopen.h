#pragma once

#include "ir/kernel.h"

namespace plait::planner {

/// The kernel with pipelined loops that say nothing of stages and orders.
ir::Kernel reopened(const ir::Kernel& kernel);

}  // namespace plait::planner
