#pragma once

#include "ir/kernel.h"

namespace plait::cli {

/// Whether the kernel has a `print`.
bool has_prints(const ir::Kernel& kernel);
/// The kernel without its `print` statements, for repetitions of a run that has already shown what they say.
ir::Kernel without_prints(const ir::Kernel& kernel);

}  // namespace plait::cli
