#include "planner/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/work.h"
#include "profile/isolate.h"
#include "store/measured.h"

namespace plait::planner {

using machine::UnitKind;
using sim::Unit;

namespace {

UnitKind kind_of(Unit unit) {
  switch (unit) {
    case Unit::tensor:
      return UnitKind::tensor;
    case Unit::tma:
      return UnitKind::tma;
    case Unit::sfu:
      return UnitKind::sfu;
    case Unit::smem:
      return UnitKind::smem;
    case Unit::l2:
      return UnitKind::l2;
    default:
      return UnitKind::cuda;
  }
}

std::int64_t whole(double cycles) { return std::llround(std::ceil(cycles)); }

int replicas_of(const roles::Program& program) {
  for (const roles::Role& role : program.roles) {
    if (role.name == "math") return role.replicas;
  }
  return 1;
}

void overrule(plan::TaskCost& cost, const graph::Node& node, UnitKind unit) {
  if (!node.latency && !node.ii) return;
  cost.source = "author";
  if (node.latency) cost.latency = *node.latency;
  if (node.ii) cost.busy[unit] = *node.ii;
  cost.issue = node.async ? cost.issue : cost.latency;
}

/// The unit that a task keeps busy longest takes the interval that was measured, and no other unit more.
void measure(plan::TaskCost& cost, const store::Measured& found, bool ahead, bool product) {
  cost.source = fmt::format("measured on {}", found.gpu);
  cost.latency = std::max<std::int64_t>(whole(found.latency), 1);
  if (ahead) return;  // it shares its unit with what all multiprocessors load
  if (!product) cost.issue = cost.latency;
  const std::int64_t interval = std::max<std::int64_t>(whole(found.interval), 1);
  std::int64_t most = 0;
  for (const auto& [unit, busy] : cost.busy) most = std::max(most, busy);
  for (auto& [unit, busy] : cost.busy) busy = busy == most ? interval : std::min(busy, interval);
}

constexpr std::string_view kModelled = "modelled: the statements that it becomes, by the rates of the machine model";

}  // namespace

const explain::Loop& explained(const std::vector<explain::Loop>& loops, const graph::TaskGraph& graph) {
  std::string name = graph::text_of(graph.loop);
  auto loop = std::find_if(loops.begin(), loops.end(), [&](const explain::Loop& l) { return l.name == name; });
  PLAIT_ASSERT(loop != loops.end(), "a loop that nobody explains");
  return *loop;
}

std::string sources_of(const LoopCosts& costs) {
  std::map<std::string, int> count;
  for (const plan::TaskCost& cost : costs.tasks) ++count[cost.source];
  if (count.size() == 1) return count.begin()->first;
  std::string out;
  for (const auto& [source, tasks] : count)
    out += fmt::format("{}{} {} {}", out.empty() ? "" : "; ", tasks, tasks == 1 ? "task" : "tasks", source);
  return out;
}

Result<LoopCosts> costs_of(const graph::TaskGraph& graph, const explain::Loop& loop, const roles::Program& program,
                           const machine::Device& device, const store::Database* measured) {
  LoopCosts out;
  out.replicas = replicas_of(program);
  sim::Costs costs = sim::costs_of(device);
  const bool wgmma = device.has(machine::Feature::wgmma);
  for (const graph::Node& node : graph.nodes) {
    std::string name = graph::text_of(node.name);
    auto task =
        std::find_if(loop.tasks.begin(), loop.tasks.end(), [&](const explain::Task& t) { return t.name == name; });
    PLAIT_ASSERT(task != loop.tasks.end(), "a task that nobody explains");
    plan::TaskCost cost;
    cost.source = kModelled;
    bool alone = task->roles == std::vector<std::string>{"load"};
    bool own = !alone && graph::is_load(*node.stmt) && node.async && !device.has(machine::Feature::tma);
    for (int u = 0; u < sim::kOwnUnits; ++u) {
      auto unit = static_cast<Unit>(u);
      std::int64_t busy = whole(task->busy.of(unit) / (alone ? 1 : out.replicas));
      if (busy > 0) cost.busy[kind_of(unit)] = busy;
    }
    std::int64_t held = std::max<std::int64_t>(whole(task->held), 1);
    bool product = wgmma && cost.busy.contains(UnitKind::tensor);
    cost.issue = held;
    cost.latency = held;
    if (product) cost.latency = cost.busy[UnitKind::tensor] + costs.wgmma;
    if (alone) cost.latency = costs.tma_load + costs.memory_latency + cost.busy[UnitKind::tma];
    if (own) cost.latency = costs.global_load + costs.memory_latency;
    if (measured != nullptr) {
      auto found =
          store::find_measured(*measured, device.name, profile::isolate(program, graph, out.tasks.size()).text);
      if (!found) return found.diagnostics();
      if (*found) measure(cost, **found, alone || own, product);
    }
    overrule(cost, node, product ? UnitKind::tensor : UnitKind::cuda);
    out.tasks.push_back(std::move(cost));
    out.ahead.push_back(alone || own);
  }
  return out;
}

}  // namespace plait::planner
