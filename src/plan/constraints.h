#pragma once

#include <optional>

#include "plan/problem.h"

namespace plait::plan {

/// Times that must keep apart: time[to] + ii * distance >= time[from] + delay.
struct Apart {
  std::size_t from = 0, to = 0;
  std::int64_t distance = 0, delay = 0;
};
/// The earliest times, from 0 on, for this interval; nothing where there are none. Bellman and Ford's longest paths.
std::optional<std::vector<std::int64_t>> earliest(std::size_t times, const std::vector<Apart>& apart, std::int64_t ii);
/// The least interval from `from` to `to`, a multiple of `step`, for which there are times; nothing where there is
/// none.
std::optional<std::int64_t> least_interval(std::size_t times, const std::vector<Apart>& apart, std::int64_t from,
                                           std::int64_t to, std::int64_t step);

/// Times of a problem: its tasks' issues, then their runs.
inline std::size_t issue_of(std::size_t task) { return task; }
inline std::size_t run_of(const Problem& problem, std::size_t task) { return problem.tasks.size() + task; }
/// What edges alone ask for, and that tasks run when they are issued, asynchronous ones then or later.
std::vector<Apart> demands_of(const Problem& problem);

}  // namespace plait::plan
