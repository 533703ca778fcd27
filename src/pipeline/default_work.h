#pragma once

#include "ir/kernel.h"
#include "plan/schedule.h"

namespace plait::pipeline {

/// The work map of a kernel whose schedule the rules planner makes. Blocks that stay and take tile after tile pay where
/// another role goes on loading ahead over the end of a tile, and where all tiles cost the same.
plan::Work default_work(const ir::Kernel& kernel, const machine::Device& device);

}  // namespace plait::pipeline
