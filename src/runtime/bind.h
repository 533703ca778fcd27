#pragma once

#include <map>

#include "ir/tensor.h"

namespace plait::runtime {

/// What a caller offers for one parameter.
struct TensorArg {
  ir::TensorView view;
  std::int64_t bytes = -1;   ///< size of the memory behind `data`, -1 when unknown
  std::string device = "host";
};
struct Args {
  std::map<std::string, TensorArg> tensors;
  std::map<std::string, ir::ScalarValue> scalars;
};

/// Checks a call and computes its dims: every parameter given once, dtype, rank, shape and stride equations, non-negative strides, alignment to the element,
/// memory large enough, no overlap of a written tensor with another, device, `require`, grid extents. All findings at once.
Result<ir::BoundArgs> bind(const ir::Kernel& kernel, const Args& args);

/// Shape of each tensor parameter for given dims, for callers that allocate. Missing dims are reported by name.
Result<std::map<std::string, std::vector<std::int64_t>>> shapes_for(const ir::Kernel& kernel, const std::map<std::string, std::int64_t>& dims);

}  // namespace plait::runtime
