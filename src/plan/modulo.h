#pragma once

#include "plan/problem.h"

namespace plait::plan {

/// Solver steps (Z3's rlimit), no time: the same problem has the same plan.
struct Steps {
  std::int64_t left = 0;
};

struct ModuloOptions {
  std::int64_t question_steps = 40'000'000;  ///< of one question
  /// Those of all questions together, which may be several problems'; none: as many as it takes. Where they are
  /// limited, no interval is asked for that the list scheduler reaches, and few go into shorter iterations.
  Steps* steps = nullptr;
  std::int64_t grain = 128;  ///< parts into which the least interval is divided for the solver
  int most_turns = 3;        ///< that an iteration may take
};
/// The least interval that is possible, of those the shortest iteration. What the solver cannot settle within its steps
/// leaves the best that was found, and says so.
Timetable plan_modulo(const Problem& problem, const ModuloOptions& options = {});
/// One run of the body in the least time: `ii` is its makespan.
Timetable plan_once(const Problem& problem, const ModuloOptions& options = {});

}  // namespace plait::plan
