#pragma once

#include "plan/schedule.h"

namespace plait::pipeline {

/// The schedule of the kernel as it was written, with the names that its statements have where products are swapped.
plan::Schedule renamed(plan::Schedule schedule, const ir::Kernel& written, const ir::Kernel& made);

}  // namespace plait::pipeline
