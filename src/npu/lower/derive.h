#pragma once

#include "npu/lower/memory.h"
#include "pipeline/derive.h"

namespace plait::npu {

/// What a tile program becomes on an NPU, for simulation: a role program whose statements issue tasks on the pipes of
/// the cube core and of the vector cores. docs/npu.md.
struct Derived {
  pipeline::Derived made;  ///< program, schedule, remarks
  ir::Kernel kernel;       ///< separated: that whose statements and buffers the schedule names
  std::vector<MemoryUse> memory;
  int vector_cores = 1;  ///< that share out the work
};
Result<Derived> derive(const ir::Kernel& kernel, const machine::Device& device,
                       const std::optional<plan::Schedule>& schedule = {});

}  // namespace plait::npu
