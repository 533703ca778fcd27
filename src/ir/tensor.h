#pragma once

#include "ir/kernel.h"

namespace plait::ir {

/// A tensor in host memory as a kernel sees it. Element (i, j, …) of a type with `bits` bits a element starts at bit
/// (i * strides[0] + j * strides[1] + …) * bits of `data`.
struct TensorView {
  void* data = nullptr;
  DType type = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< elements, one a dimension, >= 0
};

/// The bytes of a tensor whose elements are narrower than that, where each of its rows has whole ones.
TensorView byte_view(const TensorView& view);

/// A scalar argument: integers and bool in `i` (u64 as the same bits), floats in `f`.
struct ScalarValue {
  DType type = DType::i64;
  std::int64_t i = 0;
  double f = 0;
};

/// Arguments that have passed every check of a call (see runtime/bind.h), in the order of the kernel's own lists.
struct BoundArgs {
  std::vector<TensorView> tensors;   ///< the buffer parameters
  std::vector<ScalarValue> scalars;  ///< the scalar parameters
  std::vector<std::int64_t> dims;    ///< Kernel::dims
  std::vector<std::int64_t> grid;    ///< extent of each grid axis, >= 0
};

}  // namespace plait::ir
