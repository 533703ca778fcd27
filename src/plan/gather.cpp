#include "plan/gather.h"

#include <algorithm>

namespace plait::plan {
namespace {

std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return ((a % b) + b) % b; }

/// A role's tasks in the order in which a turn of the steady loop issues them.
std::vector<std::size_t> turn_of(const Problem& problem, const Timetable& table, int role) {
  std::vector<std::size_t> order = order_of(table);
  std::erase_if(order, [&](std::size_t task) { return problem.tasks[task].role != role; });
  return order;
}

/// What a role does between two asynchronous tasks, which may be one and the same a turn later.
struct Gap {
  std::size_t before = 0, behind = 0;  ///< the asynchronous tasks
  std::vector<std::size_t> between;
};

std::vector<Gap> gaps_of(const Problem& problem, const std::vector<std::size_t>& order) {
  std::vector<Gap> gaps;
  const std::size_t count = order.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (!problem.tasks[order[i]].async) continue;
    Gap gap;
    gap.before = order[i];
    std::size_t at = i + 1;
    for (; !problem.tasks[order[at % count]].async; ++at) gap.between.push_back(order[at % count]);
    gap.behind = order[at % count];
    if (!gap.between.empty()) gaps.push_back(std::move(gap));
  }
  return gaps;
}

/// The table with finer times, in which what stands in the gap is issued just before it begins, or just behind its end.
Timetable moved(const Timetable& table, const Gap& gap, bool ahead) {
  const auto places = static_cast<std::int64_t>(gap.between.size()) + 1;
  Timetable out = table;
  out.ii *= places;
  for (std::vector<std::int64_t>* times : {&out.issue, &out.run}) {
    for (std::int64_t& time : *times) time *= places;
  }
  for (std::size_t k = 0; k < gap.between.size(); ++k) {
    std::int64_t& time = out.issue[gap.between[k]];
    if (ahead) {
      std::int64_t back = floor_mod(time - out.issue[gap.before], out.ii);
      time -= back + places - 1 - static_cast<std::int64_t>(k);
    } else {
      std::int64_t on = floor_mod(out.issue[gap.behind] - time, out.ii);
      time += on + 1 + static_cast<std::int64_t>(k);
    }
    out.run[gap.between[k]] = time;
  }
  return out;
}

}  // namespace

Timetable gathered(const Problem& problem, Timetable table) {
  int roles = 0;
  for (const Problem::Task& task : problem.tasks) roles = std::max(roles, task.role + 1);
  for (int role = 0; role < roles; ++role) {
    bool better = true;
    while (better) {
      better = false;
      std::vector<Gap> gaps = gaps_of(problem, turn_of(problem, table, role));
      if (gaps.size() < 2) break;
      for (const Gap& gap : gaps) {
        for (bool ahead : {true, false}) {
          if (better) continue;
          auto found = try_tighten(problem, moved(table, gap, ahead));
          if (!found || found->ii > table.ii || makespan(problem, *found) > makespan(problem, table)) continue;
          if (gaps_of(problem, turn_of(problem, *found, role)).size() >= gaps.size()) continue;
          if (!certify(problem, *found).empty()) continue;
          table = std::move(*found);
          better = true;
        }
      }
    }
  }
  return table;
}

}  // namespace plait::plan
