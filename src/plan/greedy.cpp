#include "plan/greedy.h"

#include <algorithm>
#include <tuple>

#include "plan/scale.h"
#include "support/result.h"

namespace plait::plan {

namespace {

constexpr std::int64_t kGrain = 128;  // parts of the least interval in which times are counted

/// Places the tasks of one iteration, for one interval; without one nothing follows the iteration.
class ListScheduler {
 public:
  ListScheduler(const Problem& problem, std::int64_t ii)
      : problem_(problem), ii_(ii), placed_(problem.tasks.size(), false) {
    table_.ii = ii;
    table_.issue.resize(problem.tasks.size());
    table_.run.resize(problem.tasks.size());
  }

  /// Nothing where a task finds no place before `end`, or an iteration comes too early for the next one.
  std::optional<Timetable> run(std::int64_t end) {
    std::size_t left = problem_.tasks.size();
    for (std::int64_t now = 0; left > 0 && now <= end; ++now) {
      // Placing one may make no other ready at the same time, but may leave room for several.
      while (auto next = best(now)) {
        place(*next, now);
        --left;
      }
    }
    if (left > 0) return std::nullopt;
    for (const Problem::Edge& edge : problem_.edges) {
      if (edge.distance > 0 && ii_ > 0 && begin(edge) + ii_ * edge.distance < end_of(edge)) return std::nullopt;
    }
    return std::move(table_);
  }

 private:
  const Problem::Task& task(std::size_t i) const { return problem_.tasks[i]; }
  std::int64_t begin(const Problem::Edge& e) const { return e.chained ? table_.run[e.to] : table_.issue[e.to]; }
  std::int64_t end_of(const Problem::Edge& e) const {
    return table_.run[e.from] + (e.chained ? turn(task(e.from)) : task(e.from).cost.latency);
  }

  bool ready(std::size_t i, std::int64_t now) const {
    return std::all_of(problem_.edges.begin(), problem_.edges.end(), [&](const Problem::Edge& e) {
      return e.to != i || e.distance > 0 || (placed_[e.from] && (e.chained || end_of(e) <= now));
    });
  }

  bool meet(std::int64_t a, std::int64_t a_long, std::int64_t b, std::int64_t b_long, std::int64_t period) const {
    if (a_long == 0 || b_long == 0) return false;
    if (ii_ == 0) return a < b + b_long && b < a + a_long;
    std::int64_t between = ((b - a) % period + period) % period;
    return between < a_long || period - between < b_long;
  }

  bool role_free(std::size_t i, std::int64_t at) const {
    for (std::size_t j = 0; j < placed_.size(); ++j) {
      if (placed_[j] && task(j).role == task(i).role &&
          meet(at, task(i).cost.issue, table_.issue[j], task(j).cost.issue, ii_))
        return false;
    }
    return ii_ == 0 || task(i).cost.issue <= ii_;
  }

  bool unit_free(std::size_t i, std::int64_t at) const {
    const std::int64_t period = ii_ / problem_.replicas;
    for (std::size_t j = 0; j < placed_.size(); ++j) {
      if (placed_[j] && task(j).unit == task(i).unit && meet(at, turn(task(i)), table_.run[j], turn(task(j)), period))
        return false;
    }
    return ii_ == 0 || turn(task(i)) <= period;
  }

  /// When the unit is free for it: at `at`, or for asynchronous tasks in the turn that follows, behind all that this
  /// role has issued to the unit and what its chain waits for.
  std::optional<std::int64_t> run_time(std::size_t i, std::int64_t at) const {
    if (!task(i).unit) return at;
    if (!task(i).async) return unit_free(i, at) ? std::optional(at) : std::nullopt;
    std::int64_t first = at;
    for (std::size_t j = 0; j < placed_.size(); ++j) {
      if (placed_[j] && task(j).async && task(j).unit == task(i).unit && task(j).role == task(i).role)
        first = std::max(first, table_.run[j] + std::max<std::int64_t>(turn(task(j)), 1));
    }
    for (const Problem::Edge& e : problem_.edges) {
      if (e.to == i && e.distance == 0 && e.chained) first = std::max(first, end_of(e));
    }
    std::int64_t most = ii_ == 0 ? last_end() : at + ii_ - 1;
    for (std::int64_t time = first; time <= std::max(most, first); ++time) {
      if (unit_free(i, time) && keeps_order(i, at, time)) return time;
    }
    return std::nullopt;
  }

  std::int64_t last_end() const {
    std::int64_t last = 0;
    for (std::size_t j = 0; j < placed_.size(); ++j) {
      if (placed_[j]) last = std::max(last, table_.run[j] + turn(task(j)));
    }
    return last;
  }

  /// Whether other iterations' tasks of its unit and role run before it just where they are issued before it.
  bool keeps_order(std::size_t i, std::int64_t issue, std::int64_t run) const {
    if (ii_ == 0) return true;
    auto turns = [&](std::int64_t between) { return between >= 0 ? between / ii_ : -((-between + ii_ - 1) / ii_); };
    for (std::size_t j = 0; j < placed_.size(); ++j) {
      if (!placed_[j] || !task(j).async || task(j).unit != task(i).unit || task(j).role != task(i).role) continue;
      if (turns(issue - table_.issue[j]) != turns(run - table_.run[j])) return false;
    }
    return true;
  }

  std::optional<std::size_t> best(std::int64_t now) const {
    std::optional<std::size_t> found;
    std::tuple<bool, std::int64_t, std::int64_t> rank;
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      if (placed_[i] || !ready(i, now) || !role_free(i, now) || !run_time(i, now)) continue;
      std::tuple<bool, std::int64_t, std::int64_t> own{!task(i).async, depends(i), -unlocks(i)};
      if (found && !(own < rank)) continue;
      found = i;
      rank = own;
    }
    return found;
  }

  std::int64_t depends(std::size_t i) const {
    return std::count_if(problem_.edges.begin(), problem_.edges.end(), [&](const Problem::Edge& e) {
      return e.to == i && e.from != i && e.distance == 0 && placed_[e.from];
    });
  }

  /// Tasks that wait for this one alone.
  std::int64_t unlocks(std::size_t i) const {
    std::int64_t count = 0;
    for (std::size_t j = 0; j < placed_.size(); ++j) {
      bool waits = false, others = placed_[j];
      for (const Problem::Edge& e : problem_.edges) {
        if (e.to != j || e.distance > 0) continue;
        waits = waits || e.from == i;
        others = others || (e.from != i && !placed_[e.from]);
      }
      count += waits && !others ? 1 : 0;
    }
    return count;
  }

  void place(std::size_t i, std::int64_t now) {
    table_.run[i] = *run_time(i, now);
    table_.issue[i] = now;
    placed_[i] = true;
  }

  const Problem& problem_;
  std::int64_t ii_;  ///< 0: one run
  std::vector<bool> placed_;
  Timetable table_;
};

}  // namespace

Timetable plan_greedy(const Problem& problem) {
  Bounds bounds = bounds_of(problem);
  std::int64_t unit = std::max<std::int64_t>(1, bounds.least(problem.replicas) / kGrain);
  Problem coarse = scaled(problem, unit);
  std::int64_t least = bounds_of(coarse).least(problem.replicas);
  std::int64_t end = in_sequence(coarse);
  for (std::int64_t ii = least;; ii += problem.replicas) {
    PLAIT_ASSERT(ii <= 2 * (end + problem.replicas), "tasks in sequence have a timetable");
    auto found = ListScheduler(coarse, ii).run(2 * end);
    if (!found) continue;
    Timetable table = tighten(problem, unscaled(std::move(*found), unit));
    table.optimal = table.ii == bounds.least(problem.replicas);
    if (!table.optimal) table.why_not = "the planner takes tasks as they become ready";
    return table;
  }
}

Timetable plan_greedy_once(const Problem& problem) {
  auto found = ListScheduler(problem, 0).run(in_sequence(problem));
  PLAIT_ASSERT(found.has_value(), "tasks in sequence have a timetable");
  found->ii = makespan(problem, *found);
  found->why_not = "the planner takes tasks as they become ready";
  return *found;
}

}  // namespace plait::plan
