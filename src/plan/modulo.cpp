#include "plan/modulo.h"

#include <algorithm>

#include "plan/gather.h"
#include "plan/greedy.h"
#include "plan/scale.h"
#include "plan/solver.h"
#include "support/result.h"

namespace plait::plan {

namespace {

constexpr const char* kOutOfSteps = "the solver ran out of steps";

constexpr std::int64_t kPartToShorten = 8;  // of limited steps

/// Halves towards the shortest iteration that the solver finds, from one of `high`.
void shorten(Solver& solver, const Problem& problem, std::int64_t ii, std::int64_t high,
             std::optional<Timetable>& best) {
  std::int64_t low = 0;
  // A task's own latency is what no order shortens.
  for (const Problem::Task& task : problem.tasks) low = std::max(low, task.cost.latency);
  while (low < high) {
    std::int64_t middle = low + (high - low) / 2;
    Solver::Answer answer = solver.solve(ii, middle);
    if (answer.table) {
      best = std::move(*answer.table);
      high = makespan(problem, *best);
    } else if (answer.proved) {
      low = middle + 1;
    } else {
      return;
    }
  }
}

}  // namespace

Timetable plan_modulo(const Problem& problem, const ModuloOptions& options) {
  if (problem.tasks.empty()) return {problem.replicas, {}, {}, true, {}};
  Timetable greedy = plan_greedy(problem);
  Bounds bounds = bounds_of(problem);
  const std::int64_t unit = std::max<std::int64_t>(1, bounds.least(problem.replicas) / options.grain);
  Problem coarse = scaled(problem, unit);
  const std::int64_t least = bounds_of(coarse).least(problem.replicas);
  Solver solver(coarse, options);
  std::optional<Timetable> best;
  bool proved = true;
  bool reached = options.steps != nullptr && greedy.ii == bounds.least(problem.replicas);
  const std::int64_t given = solver.steps();
  for (std::int64_t ii = least; !reached && !best && ii * unit <= greedy.ii + unit * problem.replicas;
       ii += problem.replicas) {
    Solver::Answer answer = solver.solve(ii, {});
    best = std::move(answer.table);
    proved = proved && (best || answer.proved);
  }
  if (options.steps != nullptr) solver.most(std::max<std::int64_t>(1, given / kPartToShorten));
  if (best) shorten(solver, coarse, best->ii, makespan(coarse, *best), best);
  if (reached) shorten(solver, coarse, least, (makespan(problem, greedy) + unit - 1) / unit, best);
  if (best) {
    Timetable table = tighten(problem, unscaled(std::move(*best), unit));
    if (table.ii <= greedy.ii) greedy = std::move(table);
  }
  greedy = gathered(problem, std::move(greedy));
  greedy.optimal = greedy.ii == bounds.least(problem.replicas) || (proved && unit == 1);
  greedy.why_not.clear();
  if (!greedy.optimal)
    greedy.why_not = proved ? "times were counted in units of " + std::to_string(unit) + " cycles" : kOutOfSteps;
  return greedy;
}

Timetable plan_once(const Problem& problem, const ModuloOptions& options) {
  if (problem.tasks.empty()) return {0, {}, {}, true, {}};
  Timetable best = plan_greedy_once(problem);
  std::int64_t low = 1;
  for (const Problem::Task& task : problem.tasks) low = std::max(low, task.cost.latency);
  Solver solver(problem, options);
  bool proved = true;
  std::int64_t high = best.ii;
  while (low < high) {
    std::int64_t middle = low + (high - low) / 2;
    Solver::Answer answer = solver.solve_once(middle);
    if (answer.table) {
      best = std::move(*answer.table);
      best.ii = high = makespan(problem, best);
      continue;
    }
    proved = proved && answer.proved;
    low = middle + 1;
  }
  best.optimal = proved;
  best.why_not = proved ? "" : kOutOfSteps;
  return best;
}

}  // namespace plait::plan
