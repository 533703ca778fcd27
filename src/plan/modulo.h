#pragma once

#include "plan/problem.h"

namespace plait::plan {

struct ModuloOptions {
  /// Solver steps (Z3's rlimit) of one question and of all together: no time, so that the same problem has the same
  /// plan.
  unsigned question_steps = 40'000'000;
  std::int64_t grain = 128;  ///< parts into which the least interval is divided for the solver
  int most_turns = 3;        ///< that an iteration may take
};
/// The least interval that is possible, of those the shortest iteration. What the solver cannot settle within its steps
/// leaves the best that was found, and says so.
Timetable plan_modulo(const Problem& problem, const ModuloOptions& options = {});
/// One run of the body in the least time: `ii` is its makespan.
Timetable plan_once(const Problem& problem, const ModuloOptions& options = {});

}  // namespace plait::plan
