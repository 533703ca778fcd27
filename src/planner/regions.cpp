#include "planner/regions.h"

#include <algorithm>
#include <numeric>

#include "plan/once.h"
#include "planner/choice.h"

namespace plait::planner {

namespace {

constexpr int kComputing = 0, kLoading = 1;  // the roles of a problem

std::vector<std::size_t> in_order(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

/// A load that the role makes which loads.
plan::Problem::Task load_of(const graph::Node& node, const plan::TaskCost& cost) {
  plan::Problem::Task task{graph::text_of(node.name), kLoading, true, cost, {}};
  task.cost.issue = 1;
  if (task.cost.busy.contains(machine::UnitKind::tma)) task.unit = machine::UnitKind::tma;
  return task;
}

/// What several nodes of one statement do, one after the other.
plan::Problem::Task together(const graph::StmtName& name, const std::vector<plan::Problem::Task>& parts) {
  plan::Problem::Task task;
  task.name = graph::text_of(name);
  task.role = kComputing;
  for (const plan::Problem::Task& part : parts) {
    task.cost.issue += std::max(part.cost.issue, part.cost.latency);
    for (const auto& [unit, cycles] : part.cost.busy) task.cost.busy[unit] += cycles;
    task.cost.source = part.cost.source;
  }
  task.cost.issue = std::max<std::int64_t>(task.cost.issue, 1);
  task.cost.latency = task.cost.issue;
  return task;
}

/// `loads`: whether a role of its own does.
plan::Problem problem_of(const graph::StraightRegion& region, const LoopCosts& costs, bool loads) {
  std::vector<std::vector<plan::Problem::Task>> parts(region.tasks.size());
  for (std::size_t node = 0; node < region.graph.nodes.size(); ++node) {
    plan::Problem::Task task = loads && costs.ahead[node] ? load_of(region.graph.nodes[node], costs.tasks[node])
                                                          : task_of(region.graph, costs, node, Turns::together);
    parts[region.task_of[node]].push_back(std::move(task));
  }
  plan::Problem problem;
  for (std::size_t task = 0; task < parts.size(); ++task) {
    bool one = parts[task].size() == 1;
    problem.tasks.push_back(one ? parts[task].front() : together(region.names[task], parts[task]));
  }
  for (const graph::StraightRegion::Wait& wait : region.waits) {
    bool chained = true;
    for (const graph::Edge& edge : region.graph.edges) {
      if (region.task_of[edge.from] != wait.from || region.task_of[edge.to] != wait.to || edge.from >= edge.to)
        continue;
      chained = chained && is_chained(region.graph, edge, problem.tasks[wait.from], problem.tasks[wait.to]);
    }
    chained = chained && problem.tasks[wait.from].async && problem.tasks[wait.to].async;
    problem.edges.push_back({wait.from, wait.to, 0, chained});
  }
  return problem;
}

}  // namespace

std::optional<OpenRegion> open_region(graph::StraightRegion region, plan::Problem problem) {
  OpenRegion open;
  open.region = std::move(region);
  open.problem = std::move(problem);
  open.in_program_order = plan::run_in_order(open.problem, in_order(open.problem.tasks.size())).ii;
  const auto least = static_cast<double>(plan::least_run(open.problem));
  if (static_cast<double>(open.in_program_order) <= kRoughly * least) return std::nullopt;
  return open;
}

Result<std::vector<OpenRegion>> open_regions(const ir::Kernel& kernel, const roles::Program& base,
                                             const machine::Device& device) {
  std::vector<OpenRegion> found;
  const sim::Costs rates = sim::costs_of(device);
  bool loads = std::any_of(base.roles.begin(), base.roles.end(), [](const roles::Role& r) { return r.name == "load"; });
  for (graph::StraightRegion& region : graph::regions_of(kernel)) {
    explain::Loop explained = explain::explain_region(base, rates, region.graph, region.times);
    auto costs = costs_of(region.graph, explained, base, device, nullptr);
    if (!costs) return costs.diagnostics();
    plan::Problem problem = problem_of(region, *costs, loads);
    auto open = open_region(std::move(region), std::move(problem));
    if (!open) continue;
    open->busy = explained.busy;
    found.push_back(std::move(*open));
  }
  return found;
}

std::optional<TimedRegion> timed(Kind kind, const OpenRegion& open) {
  plan::Timetable table = plan::plan_run(open.problem, kind != Kind::greedy);
  std::vector<std::string> broken = plan::certify_once(open.problem, table);
  PLAIT_ASSERT(broken.empty(), "a timetable does not keep what it is for: " + broken.front());
  if (static_cast<double>(open.in_program_order) < kRoughly * static_cast<double>(table.ii)) return std::nullopt;
  TimedRegion out;
  out.plan.region = open.region.name;
  out.plan.planner = name_of(kind);
  out.plan.makespan = table.ii;
  std::vector<std::size_t> order = in_order(open.problem.tasks.size());
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return table.issue[a] < table.issue[b]; });
  for (std::size_t task : order) out.plan.order.push_back({open.region.names[task], {}});
  PlannedLoop& told = out.told;
  told.loop = open.region.name;
  told.loc = open.region.loc;
  told.planner = out.plan.planner;
  told.bounds = plan::bounds_of(open.problem);
  told.bounds.recurrence = plan::least_run(open.problem);
  told.ii = table.ii;
  told.optimal = table.optimal;
  told.why_not = table.why_not;
  told.costs = open.problem.tasks.front().cost.source;
  told.in_program_order = open.in_program_order;
  for (const plan::Problem::Task& task : open.problem.tasks) told.tasks.push_back({task.name, task.cost});
  return out;
}

}  // namespace plait::planner
