#pragma once

#include "ir/kernel.h"

namespace plait::pipeline {

/// The kernel with tile operations and `parallel` nests in the place of tasks around one of them alone: what such a
/// task says of its cost is for planners, and changes nothing of how it is carried out.
ir::Kernel without_costs(const ir::Kernel& kernel);

}  // namespace plait::pipeline
