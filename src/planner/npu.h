#pragma once

#include "npu/lower/derive.h"
#include "planner/planner.h"

namespace plait::planner {

struct NpuPlanned : Planning {
  npu::Derived derived;
};

/// `plan` on an NPU: the same planners, of tasks that run on the pipes of its cores. docs/planners.md.
Result<NpuPlanned> plan_on_npu(const ir::Kernel& kernel, const machine::Device& device, const Options& options);

}  // namespace plait::planner
