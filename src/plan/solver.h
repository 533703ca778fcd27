#pragma once

#include <algorithm>
#include <optional>

#include "plan/modulo.h"

namespace plait::plan {

/// Asks Z3 for the times of a problem, all numbers being whole.
class Solver {
 public:
  Solver(const Problem& problem, const ModuloOptions& options) : problem_(problem), options_(options) {}

  struct Answer {
    std::optional<Timetable> table;
    bool proved = false;  ///< without a table: there is none
  };
  /// For this interval, iterations no longer than `makespan`.
  Answer solve(std::int64_t ii, std::optional<std::int64_t> makespan) const;
  /// One run of the body in `makespan`.
  Answer solve_once(std::int64_t makespan) const;
  /// Steps that the next question may take; 0: none are left.
  std::int64_t steps() const;
  void most(std::int64_t steps) { options_.question_steps = std::min(options_.question_steps, steps); }

 private:
  const Problem& problem_;
  ModuloOptions options_;
};

}  // namespace plait::plan
