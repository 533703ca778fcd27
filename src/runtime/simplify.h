#pragma once

#include "ir/kernel.h"

namespace plait::runtime {

/// The same program with every index, bound, condition and value simplified where it stands: under the loops, lets and
/// conditions around it. Errors that a run would find stay.
ir::Kernel simplify_kernel(const ir::Kernel& kernel);

}  // namespace plait::runtime
