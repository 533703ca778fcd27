#pragma once

#include <map>

#include "ir/tensor.h"
#include "support/result.h"

namespace plait::runtime {

/// What a caller offers for one parameter.
struct TensorArg {
  ir::TensorView view;      ///< strides may be empty: contiguous, last dimension fastest
  std::int64_t bytes = -1;  ///< size of the memory behind `data`, -1 when unknown
  std::string device = "host";
};
struct Args {
  std::map<std::string, TensorArg> tensors;
  std::map<std::string, ir::ScalarValue> scalars;
  std::map<std::string, std::int64_t> dims;  ///< values the caller expects; those of the tensors must agree
};

/// Checks a call and computes its dims: every parameter given once, dtype, rank, shape and stride equations,
/// non-negative strides, alignment to the element, memory large enough, no overlap of a written tensor with another,
/// device, `require`, grid extents. All findings at once.
Result<ir::BoundArgs> bind(const ir::Kernel& kernel, const Args& args);

/// Shape of each tensor parameter for given dims, for callers that allocate. Missing dims are reported by name.
Result<std::map<std::string, std::vector<std::int64_t>>> shapes_for(const ir::Kernel& kernel,
                                                                    const std::map<std::string, std::int64_t>& dims);

/// The message on dims that a kernel does not have, with those it has.
std::string unknown_dims_text(const ir::Kernel& kernel, const std::vector<std::string>& unknown);

struct Layout {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};
/// Shape and strides of each tensor parameter. A dim that only names a stride and is not given gets the value that
/// packs its tensor.
Result<std::map<std::string, Layout>> layouts_for(const ir::Kernel& kernel,
                                                  const std::map<std::string, std::int64_t>& dims);

}  // namespace plait::runtime
