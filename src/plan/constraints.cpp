#include "plan/constraints.h"

#include <algorithm>

namespace plait::plan {

std::optional<std::vector<std::int64_t>> earliest(std::size_t times, const std::vector<Apart>& apart, std::int64_t ii) {
  std::vector<std::int64_t> at(times, 0);
  for (std::size_t round = 0; round <= times; ++round) {
    bool moved = false;
    for (const Apart& a : apart) {
      std::int64_t least = at[a.from] + a.delay - ii * a.distance;
      if (at[a.to] >= least) continue;
      at[a.to] = least;
      moved = true;
    }
    if (!moved) return at;
  }
  return std::nullopt;
}

std::optional<std::int64_t> least_interval(std::size_t times, const std::vector<Apart>& apart, std::int64_t from,
                                           std::int64_t to, std::int64_t step) {
  // Longer intervals meet what shorter ones do: on every cycle the distances add up to more than nothing, or there are
  // no times at all.
  std::int64_t low = (from + step - 1) / step, high = to / step;
  if (low > high || !earliest(times, apart, high * step)) return std::nullopt;
  while (low < high) {
    std::int64_t middle = low + (high - low) / 2;
    if (earliest(times, apart, middle * step)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low * step;
}

std::vector<Apart> demands_of(const Problem& problem) {
  std::vector<Apart> out;
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    out.push_back({issue_of(i), run_of(problem, i), 0, 0});
    if (!problem.tasks[i].async) out.push_back({run_of(problem, i), issue_of(i), 0, 0});
  }
  for (const Problem::Edge& edge : problem.edges) {
    const Problem::Task& from = problem.tasks[edge.from];
    if (edge.chained) {
      out.push_back({run_of(problem, edge.from), run_of(problem, edge.to), edge.distance, turn(from)});
    } else {
      out.push_back({run_of(problem, edge.from), issue_of(edge.to), edge.distance, from.cost.latency});
    }
  }
  return out;
}

}  // namespace plait::plan
