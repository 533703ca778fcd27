#pragma once

#include "ir/kernel.h"
#include "support/result.h"

namespace plait::npu {

/// The same kernel in which every buffer lies in one memory of an NPU: what passes from the cube core to the vector
/// cores and back does so by copies of its own, each to a buffer that nothing else fills. docs/npu.md says which.
Result<ir::Kernel> separate(const ir::Kernel& kernel);

}  // namespace plait::npu
