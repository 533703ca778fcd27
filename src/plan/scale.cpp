#include "plan/scale.h"

namespace plait::plan {

Problem scaled(const Problem& problem, std::int64_t unit) {
  Problem out = problem;
  auto up = [&](std::int64_t cycles) { return (cycles + unit - 1) / unit; };
  for (Problem::Task& task : out.tasks) {
    task.cost.issue = up(task.cost.issue);
    task.cost.latency = up(task.cost.latency);
    for (auto& [kind, cycles] : task.cost.busy) cycles = up(cycles);
  }
  return out;
}

Timetable unscaled(Timetable table, std::int64_t unit) {
  table.ii *= unit;
  for (std::int64_t& time : table.issue) time *= unit;
  for (std::int64_t& time : table.run) time *= unit;
  return table;
}

}  // namespace plait::plan
