#include "plan/problem.h"

#include <algorithm>
#include <map>

#include "plan/constraints.h"
#include "support/result.h"

namespace plait::plan {

using machine::UnitKind;

bool takes_turns(UnitKind unit) {
  switch (unit) {
    case UnitKind::cuda:
    case UnitKind::sfu:
    case UnitKind::smem:
    case UnitKind::lsu:
    case UnitKind::issue:
    case UnitKind::l2:
      return false;
    default:
      return true;
  }
}

namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

}  // namespace

std::int64_t stage_of(const Timetable& table, std::size_t task) { return floor_div(table.issue[task], table.ii); }

std::vector<std::size_t> order_of(const Timetable& table) {
  std::vector<std::size_t> tasks(table.issue.size());
  for (std::size_t t = 0; t < tasks.size(); ++t) tasks[t] = t;
  auto phase = [&](std::size_t t) { return table.issue[t] - stage_of(table, t) * table.ii; };
  std::stable_sort(tasks.begin(), tasks.end(), [&](std::size_t a, std::size_t b) { return phase(a) < phase(b); });
  return tasks;
}

std::int64_t turn(const Problem::Task& task) {
  if (!task.unit) return 0;
  auto it = task.cost.busy.find(*task.unit);
  return it == task.cost.busy.end() ? 0 : it->second;
}

std::int64_t Bounds::least(int replicas) const {
  std::int64_t ii = std::max<std::int64_t>({resource, recurrence, 1});
  return (ii + replicas - 1) / replicas * replicas;
}

std::int64_t in_sequence(const Problem& problem) {
  std::int64_t sum = 1;
  for (const Problem::Task& task : problem.tasks) {
    std::int64_t longest = std::max(task.cost.issue, task.cost.latency);
    for (const auto& [unit, cycles] : task.cost.busy) longest = std::max(longest, cycles);
    sum += longest * problem.replicas;
  }
  return sum;
}

Bounds bounds_of(const Problem& problem) {
  Bounds out;
  std::map<int, std::int64_t> roles;
  std::map<UnitKind, std::int64_t> units;
  for (const Problem::Task& task : problem.tasks) {
    roles[task.role] += task.cost.issue;
    for (const auto& [unit, cycles] : task.cost.busy) units[unit] += cycles * problem.replicas;
  }
  auto bound = [&](std::int64_t cycles, std::string name) {
    if (cycles <= out.resource) return;
    out.resource = cycles;
    out.critical = std::move(name);
  };
  for (const auto& [unit, cycles] : units) bound(cycles, std::string(machine::name_of(unit)));
  for (const auto& [role, cycles] : roles) bound(cycles, "the role");
  auto least = least_interval(2 * problem.tasks.size(), demands_of(problem), 0, in_sequence(problem), 1);
  PLAIT_ASSERT(least.has_value(), "tasks of one iteration that need each other");
  out.recurrence = *least;
  return out;
}

std::int64_t makespan(const Problem& problem, const Timetable& table) {
  if (problem.tasks.empty()) return 0;
  std::int64_t first = *std::min_element(table.issue.begin(), table.issue.end()), last = first;
  for (std::size_t i = 0; i < problem.tasks.size(); ++i)
    last = std::max(last, table.run[i] + std::max(problem.tasks[i].cost.latency, turn(problem.tasks[i])));
  return last - first;
}

namespace {

/// Keeps b as far behind a, and before the next a, as a timetable has them.
void keep_order(std::vector<Apart>& apart, std::size_t a, std::int64_t a_long, std::size_t b, std::int64_t b_long,
                std::int64_t between, std::int64_t period, std::int64_t scale) {
  std::int64_t turns = floor_div(between, period);
  apart.push_back({a, b, -turns * scale, a_long});
  apart.push_back({b, a, (turns + 1) * scale, b_long});
}

}  // namespace

std::optional<Timetable> try_tighten(const Problem& problem, const Timetable& table) {
  std::vector<Apart> apart = demands_of(problem);
  const std::int64_t replicas = problem.replicas, period = table.ii / replicas;
  // In units of the shortest period that recurs, ii / replicas.
  for (Apart& a : apart) a.distance *= replicas;
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    for (std::size_t j = i + 1; j < problem.tasks.size(); ++j) {
      const Problem::Task &a = problem.tasks[i], &b = problem.tasks[j];
      if (a.role == b.role)
        keep_order(apart, issue_of(i), a.cost.issue, issue_of(j), b.cost.issue, table.issue[j] - table.issue[i],
                   table.ii, replicas);
      if (a.unit && a.unit == b.unit)
        keep_order(apart, run_of(problem, i), turn(a), run_of(problem, j), turn(b), table.run[j] - table.run[i], period,
                   1);
    }
  }
  Bounds bounds = bounds_of(problem);
  auto least = least_interval(2 * problem.tasks.size(), apart, bounds.least(problem.replicas) / replicas, period, 1);
  if (!least) return std::nullopt;
  auto times = earliest(2 * problem.tasks.size(), apart, *least);
  Timetable out = table;
  out.ii = *least * replicas;
  auto middle = times->begin() + static_cast<std::ptrdiff_t>(problem.tasks.size());
  out.issue.assign(times->begin(), middle);
  out.run.assign(middle, times->end());
  return out;
}

Timetable tighten(const Problem& problem, const Timetable& table) {
  auto found = try_tighten(problem, table);
  PLAIT_ASSERT(found.has_value(), "the order of a timetable has no times");
  return std::move(*found);
}

}  // namespace plait::plan
