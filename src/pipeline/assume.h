#pragma once

#include <map>

#include "ir/tensor.h"
#include "place/placed.h"

namespace plait::pipeline {

/// What holds of the tensors of calls with these extents; dims that are not given are taken to suit TMA, which the
/// launch then checks.
place::Assumptions assume(const ir::Kernel& kernel, const std::map<std::string, std::int64_t>& dims);
/// The same of a call, whose tensors' addresses are known too.
place::Assumptions assume(const ir::Kernel& kernel, const ir::BoundArgs& call);

}  // namespace plait::pipeline
