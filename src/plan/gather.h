#pragma once

#include "plan/problem.h"

namespace plait::plan {

/// The same interval, and an iteration no longer, with fewer turns between asynchronous tasks and others: what stands
/// between two asynchronous tasks of a role goes before the first or behind the second where that costs no time. A role
/// that issues them together gives their unit work for longer, and comes back late without it waiting.
Timetable gathered(const Problem& problem, Timetable table);

}  // namespace plait::plan
