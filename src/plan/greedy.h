#pragma once

#include "plan/problem.h"

namespace plait::plan {

/// Event by event, as PipeThreader does inside a tile (OSDI 2025, figure 9): of the tasks that are ready, asynchronous
/// ones first, then those that depend least on what was placed, then those that make most others ready, each as soon as
/// its role and unit are free. In a loop they are free where no other iteration has them; the interval is the least for
/// which that ends well.
Timetable plan_greedy(const Problem& problem);
/// One run of the body: `ii` is its makespan.
Timetable plan_greedy_once(const Problem& problem);

}  // namespace plait::plan
