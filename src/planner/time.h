#pragma once

#include "planner/npu.h"

namespace plait::planner {

/// Cycles of a call with these dims: the tiles that a multiprocessor gets (whole waves of those that run at once), each
/// its iterations at the rate that was predicted, or at that of L2 where that is slower; and no less than its tensors
/// take from main memory once. Nothing where an extent depends on what the kernel computes.
std::optional<double> predicted_cycles(const ir::Kernel& kernel, const machine::Device& device, const Planned& planned,
                                       const std::map<std::string, std::int64_t>& dims);
/// The same of the AI cores of an NPU.
std::optional<double> predicted_cycles(const machine::Device& device, const NpuPlanned& planned,
                                       const std::map<std::string, std::int64_t>& dims);

/// Tiles of a call with these dims. Nothing where one is not known, or an extent depends on what the kernel computes.
std::optional<std::int64_t> tiles_of(const ir::Kernel& kernel, const std::map<std::string, std::int64_t>& dims);

}  // namespace plait::planner
