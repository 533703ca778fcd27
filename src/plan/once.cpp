#include "plan/once.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "plan/greedy.h"
#include "plan/scale.h"
#include "support/result.h"

namespace plait::plan {

namespace {

constexpr std::int64_t kGrain = 256;                // parts of a run in sequence in which times are counted
constexpr std::int64_t kQuestionSteps = 2'000'000;  // of the solver
constexpr std::size_t kMostTasks = 24;              // that the solver is asked about

/// Issues tasks one by one.
class InOrder {
 public:
  explicit InOrder(const Problem& problem) : problem_(problem), placed_(problem.tasks.size(), false) {
    table_.issue.resize(problem.tasks.size());
    table_.run.resize(problem.tasks.size());
  }

  void put(std::size_t i) {
    const Problem::Task& task = problem_.tasks[i];
    std::int64_t issue = role_[task.role], run = 0;
    for (const Problem::Edge& e : problem_.edges) {
      if (e.to != i || e.distance > 0 || e.from == i) continue;
      PLAIT_ASSERT(placed_[e.from], "a task stands before one that it waits for");
      const Problem::Task& from = problem_.tasks[e.from];
      if (e.chained) {
        run = std::max(run, table_.run[e.from] + turn(from));
      } else {
        issue = std::max(issue, table_.run[e.from] + from.cost.latency);
      }
    }
    if (task.unit) run = std::max(run, unit_[*task.unit]);
    if (!task.async) issue = std::max(issue, run);
    run = std::max(run, issue);
    table_.issue[i] = issue;
    table_.run[i] = run;
    role_[task.role] = issue + task.cost.issue;
    // What runs behind its issue keeps the order of issues, however short it is.
    if (task.unit) unit_[*task.unit] = run + std::max<std::int64_t>(turn(task), task.async ? 1 : 0);
    placed_[i] = true;
  }

  Timetable done() {
    table_.ii = makespan(problem_, table_);
    return std::move(table_);
  }

 private:
  const Problem& problem_;
  std::vector<bool> placed_;
  std::map<int, std::int64_t> role_;
  std::map<machine::UnitKind, std::int64_t> unit_;
  Timetable table_;
};

std::vector<std::size_t> by_number(const Problem& problem) {
  std::vector<std::size_t> order(problem.tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

/// By issue; of tasks that are issued at one time those of lower number first.
std::vector<std::size_t> by_issue(const Problem& problem, const Timetable& table) {
  std::vector<std::size_t> order = by_number(problem);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(table.issue[a], table.run[a]) < std::tuple(table.issue[b], table.run[b]);
  });
  return order;
}

}  // namespace

Timetable run_in_order(const Problem& problem, const std::vector<std::size_t>& order) {
  InOrder run(problem);
  for (std::size_t task : order) run.put(task);
  return run.done();
}

std::int64_t least_run(const Problem& problem) {
  std::map<int, std::int64_t> roles;
  std::map<machine::UnitKind, std::int64_t> units;
  std::int64_t least = 0;
  std::vector<std::int64_t> end(problem.tasks.size());
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    const Problem::Task& task = problem.tasks[i];
    std::int64_t begin = 0;
    for (const Problem::Edge& e : problem.edges) {
      if (e.to == i && e.distance == 0 && e.from < i && !e.chained) begin = std::max(begin, end[e.from]);
    }
    end[i] = begin + task.cost.latency;
    roles[task.role] += task.cost.issue;
    for (const auto& [unit, cycles] : task.cost.busy) units[unit] += cycles;
    least = std::max(least, end[i]);
  }
  for (const auto& [role, cycles] : roles) least = std::max(least, cycles);
  for (const auto& [unit, cycles] : units) least = std::max(least, cycles);
  return least;
}

Timetable plan_run(const Problem& problem, bool exact) {
  Timetable best = run_in_order(problem, by_number(problem));
  const std::int64_t least = least_run(problem);
  const std::int64_t unit = std::max<std::int64_t>(1, in_sequence(problem) / kGrain);
  const Problem coarse = scaled(problem, unit);
  std::string why_not = "the planner takes tasks as they become ready";
  auto consider = [&](const Timetable& table) {
    Timetable found = run_in_order(problem, by_issue(problem, table));
    if (found.ii < best.ii) best = std::move(found);
  };
  if (best.ii > least) consider(plan_greedy_once(coarse));
  bool proved = false;
  if (exact && best.ii > least && problem.tasks.size() <= kMostTasks) {
    ModuloOptions options;
    options.question_steps = kQuestionSteps;
    Timetable table = plan_once(coarse, options);
    proved = table.optimal && unit == 1;
    why_not = table.optimal ? "times were counted in units of " + std::to_string(unit) + " cycles" : table.why_not;
    consider(table);
  } else if (exact) {
    why_not = "the solver is asked about no more than " + std::to_string(kMostTasks) + " tasks";
  }
  best.optimal = proved || best.ii == least;
  best.why_not = best.optimal ? "" : why_not;
  return best;
}

}  // namespace plait::plan
