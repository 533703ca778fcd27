#include "planner/choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/greedy.h"
#include "plan/rules.h"

namespace plait::planner {

using graph::TaskGraph;

std::vector<place::Remark> not_planned(const Planning& told, const Loc& loc) {
  std::vector<place::Remark> remarks;
  for (const Candidate& c : told.candidates)
    remarks.push_back({loc, fmt::format("not planned: nothing carries out `{}`: {}", c.what, c.refused)});
  return remarks;
}

Timed timed(Kind kind, const TaskGraph& graph, const plan::Problem& problem, const std::string& costs,
            const plan::ModuloOptions& modulo) {
  Timed out;
  out.table = kind == Kind::greedy ? plan::plan_greedy(problem) : plan::plan_modulo(problem, modulo);
  std::vector<std::string> broken = plan::certify(problem, out.table);
  PLAIT_ASSERT(broken.empty(), "a timetable does not keep what it is for: " + broken.front());
  out.told = {graph.loop,
              graph.loc,
              std::string(name_of(kind)),
              plan::bounds_of(problem),
              out.table.ii,
              out.table.optimal,
              out.table.why_not,
              costs,
              {}};
  return out;
}

plan::LoopPlan& place_of(plan::Schedule& schedule, const TaskGraph& graph) {
  return *std::find_if(schedule.loops.begin(), schedule.loops.end(),
                       [&](const plan::LoopPlan& l) { return l.loop == graph.loop; });
}

std::optional<std::vector<PlannedLoop>> put_stages(plan::Schedule& schedule, const std::vector<TaskGraph>& graphs,
                                                   const machine::Device& device, int stages) {
  std::vector<PlannedLoop> told;
  for (const TaskGraph& graph : graphs) {
    if (!is_open(graph.asked)) continue;
    TaskGraph asked = graph;
    asked.asked.stages = stages;
    auto made = plan::plan_by_rules(asked, device);
    if (!made) return std::nullopt;
    place_of(schedule, graph) = made->loop;
    told.push_back({graph.loop, graph.loc, "rules", {}, 0, false, "its author's rules weigh no times", "", {}});
  }
  return told;
}

std::int64_t trial_length(std::int64_t iteration) {
  constexpr std::int64_t kTurns = 40, kLeast = 40'000, kMost = 120'000;
  return std::clamp(iteration * kTurns, kLeast, kMost);
}

}  // namespace plait::planner
