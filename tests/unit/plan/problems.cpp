#include "problems.h"

#include <algorithm>
#include <functional>

namespace plait::plan::test {

using machine::UnitKind;

Problem random_problem(plait::test::Rng& rng, int most, int replicas) {
  Problem problem;
  problem.replicas = replicas;
  auto count = static_cast<std::size_t>(rng.between(2, most));
  for (std::size_t i = 0; i < count; ++i) {
    Problem::Task task;
    task.name = "t" + std::to_string(i);
    task.role = rng.chance(20) ? 1 : 0;
    task.async = rng.chance(40);
    if (task.async) {
      task.unit = rng.chance(80) ? UnitKind::tensor : UnitKind::tma;
      std::int64_t busy = rng.between(1, 3);
      task.cost.busy[*task.unit] = busy;
      task.cost.latency = busy + rng.between(0, 2);
      task.cost.issue = 1;
    } else {
      task.cost.latency = task.cost.issue = rng.between(1, 2);
      if (rng.chance(50)) task.cost.busy[UnitKind::cuda] = 1;
    }
    problem.tasks.push_back(task);
  }
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t distance = i < j ? 0 : rng.between(1, 2);
      if (!rng.chance(i < j ? 35 : 10)) continue;
      bool one_issuer = problem.tasks[i].async && problem.tasks[j].async &&
                        problem.tasks[i].unit == problem.tasks[j].unit &&
                        problem.tasks[i].role == problem.tasks[j].role;
      problem.edges.push_back({i, j, distance, one_issuer && rng.chance(60)});
    }
  }
  return problem;
}

namespace {

/// Offsets within a turn are tried one by one; in which turn each task then stands follows from its edges.
class IntervalSearch {
 public:
  IntervalSearch(const Problem& problem, std::int64_t ii)
      : problem_(problem), ii_(ii), issue_(problem.tasks.size()), run_(problem.tasks.size()) {}

  bool found() {
    std::map<UnitKind, std::int64_t> busy;
    for (const Problem::Task& task : problem_.tasks) {
      for (const auto& [unit, cycles] : task.cost.busy) busy[unit] += cycles * problem_.replicas;
      if (task.cost.issue > ii_ || turn(task) * problem_.replicas > ii_) return false;
    }
    if (std::any_of(busy.begin(), busy.end(), [&](const auto& b) { return b.second > ii_; })) return false;
    return next(0);
  }

 private:
  const Problem::Task& task(std::size_t i) const { return problem_.tasks[i]; }

  static bool clear(std::int64_t a, std::int64_t a_long, std::int64_t b, std::int64_t b_long, std::int64_t period) {
    for (std::int64_t x = 0; x < a_long; ++x) {
      for (std::int64_t y = 0; y < b_long; ++y) {
        if ((a + x - b - y) % period == 0) return false;
      }
    }
    return true;
  }

  /// All run times within a turn of the issue, which stands in turn 0.
  bool next(std::size_t i) {
    if (i == problem_.tasks.size()) return turns_exist();
    for (issue_[i] = 0; issue_[i] < (i == 0 ? 1 : ii_); ++issue_[i]) {
      std::int64_t last = task(i).async ? issue_[i] + ii_ : issue_[i];
      for (run_[i] = issue_[i]; run_[i] <= last; ++run_[i]) {
        if (fits(i) && next(i + 1)) return true;
      }
    }
    return false;
  }

  bool fits(std::size_t i) const {
    for (std::size_t j = 0; j < i; ++j) {
      if (task(i).role == task(j).role && !clear(issue_[i], task(i).cost.issue, issue_[j], task(j).cost.issue, ii_))
        return false;
      if (!task(i).unit || task(i).unit != task(j).unit) continue;
      if (!clear(run_[i], turn(task(i)), run_[j], turn(task(j)), ii_ / problem_.replicas)) return false;
      if (task(i).role != task(j).role || !task(i).async || !task(j).async) continue;
      // With both in any turn: the order of issues is that of runs.
      for (std::int64_t turns = -3; turns <= 3; ++turns) {
        if ((issue_[i] + turns * ii_ < issue_[j]) != (run_[i] + turns * ii_ < run_[j])) return false;
      }
    }
    return true;
  }

  bool turns_exist() const {
    std::vector<std::int64_t> at(problem_.tasks.size(), 0);
    for (std::size_t round = 0; round <= at.size(); ++round) {
      bool moved = false;
      for (const Problem::Edge& e : problem_.edges) {
        std::int64_t end = run_[e.from] + (e.chained ? turn(task(e.from)) : task(e.from).cost.latency);
        std::int64_t begin = e.chained ? run_[e.to] : issue_[e.to];
        while (begin + ii_ * (at[e.to] + e.distance) < end + ii_ * at[e.from]) {
          ++at[e.to];
          moved = true;
          if (at[e.to] > 4 * static_cast<std::int64_t>(at.size())) return false;
        }
      }
      if (!moved) return true;
    }
    return false;
  }

  const Problem& problem_;
  std::int64_t ii_;
  std::vector<std::int64_t> issue_, run_;
};

}  // namespace

std::int64_t brute_interval(const Problem& problem) {
  std::int64_t ii = problem.replicas;
  while (!IntervalSearch(problem, ii).found()) ii += problem.replicas;
  return ii;
}

std::int64_t brute_makespan(const Problem& problem) {
  const std::size_t count = problem.tasks.size();
  std::vector<std::int64_t> issue(count), run(count);
  std::int64_t best = 1 << 20;
  auto task = [&](std::size_t i) -> const Problem::Task& { return problem.tasks[i]; };
  auto meet = [](std::int64_t a, std::int64_t a_long, std::int64_t b, std::int64_t b_long) {
    return a_long > 0 && b_long > 0 && a < b + b_long && b < a + a_long;
  };
  auto fits = [&](std::size_t i) {
    for (const Problem::Edge& e : problem.edges) {
      if (e.distance > 0 || e.to != i || e.from >= i) continue;
      std::int64_t end = run[e.from] + (e.chained ? turn(task(e.from)) : task(e.from).cost.latency);
      if ((e.chained ? run[i] : issue[i]) < end) return false;
    }
    for (std::size_t j = 0; j < i; ++j) {
      bool role = task(i).role == task(j).role, unit = task(i).unit && task(i).unit == task(j).unit;
      if (role && meet(issue[i], task(i).cost.issue, issue[j], task(j).cost.issue)) return false;
      if (unit && meet(run[i], turn(task(i)), run[j], turn(task(j)))) return false;
      if (role && unit && task(i).async && task(j).async) {
        if ((issue[i] < issue[j] && run[i] > run[j]) || (issue[i] > issue[j] && run[i] < run[j])) return false;
      }
    }
    return true;
  };
  std::function<void(std::size_t, std::int64_t)> next = [&](std::size_t i, std::int64_t end) {
    if (end >= best) return;
    if (i == count) {
      best = end;
      return;
    }
    for (issue[i] = 0; issue[i] + task(i).cost.latency < best; ++issue[i]) {
      for (run[i] = issue[i]; run[i] + task(i).cost.latency < best; ++run[i]) {
        if (fits(i)) next(i + 1, std::max(end, run[i] + std::max(task(i).cost.latency, turn(task(i)))));
        if (!task(i).async) break;
      }
    }
  };
  // A first bound: one after the other.
  best = 1;
  for (std::size_t i = 0; i < count; ++i) best += std::max(task(i).cost.latency, turn(task(i)));
  next(0, 0);
  return best;
}

}  // namespace plait::plan::test
