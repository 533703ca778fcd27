#pragma once

#include "plan/problem.h"

namespace plait::plan {

/// The problem in units of `unit` cycles, rounded up: what is planned for it holds for the problem.
Problem scaled(const Problem& problem, std::int64_t unit);
/// Its timetable in cycles.
Timetable unscaled(Timetable table, std::int64_t unit);

}  // namespace plait::plan
