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

/// The same of a kernel that is separated already, by this schedule. `graphs`: the kernel's.
Result<Derived> carry_out(const ir::Kernel& kernel, const std::vector<graph::TaskGraph>& graphs,
                          const machine::Device& device, const plan::Schedule& schedule);

/// Whether a separated kernel fits the memories; where it does not, with the need, the limit and, where the rules made
/// the schedule, the largest number of stages that fits.
Diagnostics check_memory(const ir::Kernel& kernel, const plan::Schedule& schedule, const machine::Device& device,
                         bool by_rules);

}  // namespace plait::npu
