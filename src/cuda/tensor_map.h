#pragma once

#include "cuda/driver.h"
#include "ir/tensor.h"
#include "roles/program.h"

namespace plait::cuda {

/// How the driver calls an element type; those narrower than a byte are moved by bytes.
MapType map_type(ir::DType type);
MapSwizzle map_swizzle(roles::Swizzle swizzle);

/// The descriptor of `map` for a tensor in device memory. A tensor without elements gets a descriptor of zeros, which
/// no kernel may use; there is nothing it could read or write.
Result<TensorMap> encode_map(const Driver& driver, const roles::MapDecl& map, const ir::TensorView& tensor);

}  // namespace plait::cuda
