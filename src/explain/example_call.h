#pragma once

#include <map>
#include <string>

#include "ir/kernel.h"

namespace plait::explain {

/// Extents of a call that shows how a kernel runs, where nobody gives any: 1024 for each dim that is cut into tiles
/// (a literal divides it, in the grid or in a loop's bounds), 1 for the others.
std::map<std::string, std::int64_t> example_dims(const ir::Kernel& kernel);

}  // namespace plait::explain
