#pragma once

#include "machine/device.h"
#include "npu/homes.h"
#include "npu/lower/rows.h"
#include "plan/schedule.h"

namespace plait::npu {

/// What the buffers of a separated kernel take of each memory, each as often as the schedule has copies of it; of UB
/// what one vector core has.
struct MemoryUse {
  machine::MemoryKind kind;
  std::int64_t need = 0, limit = 0;  ///< bytes
};
std::vector<MemoryUse> memory_use(const ir::Kernel& kernel, const plan::Schedule& schedule,
                                  const machine::Device& device);

}  // namespace plait::npu
