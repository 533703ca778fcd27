#pragma once

#include "plan/modulo.h"

namespace plait::plan {

/// One run of the tasks, each role issuing its own in this order, as early as it can; `ii` is the makespan.
/// Precondition: no task stands before one that it waits for in the same iteration.
Timetable run_in_order(const Problem& problem, const std::vector<std::size_t>& order);

/// No order makes a run shorter: the longest chain of tasks, and what a role or a unit has to do.
std::int64_t least_run(const Problem& problem);

/// One run by the list scheduler, or with `exact` by the solver, in true cycles; never longer than in the order of the
/// tasks' numbers.
Timetable plan_run(const Problem& problem, bool exact);

}  // namespace plait::plan
