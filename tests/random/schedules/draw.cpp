#include "random/schedules/draw.h"

#include <algorithm>

#include "graph/regions.h"
#include "graph/work.h"
#include "plan/check.h"
#include "plan/rules.h"

namespace plait::test {

using graph::TaskGraph;
using plan::LoopPlan, plan::Slot, plan::Schedule, plan::TileOrder, plan::WorkKind;

namespace {

LoopPlan staged(TaskGraph graph, int stages, const machine::Device& device) {
  graph.asked = {};
  graph.asked.stages = stages;
  auto made = plan::plan_by_rules(graph, device);
  PLAIT_ASSERT(made.ok(), "the rules refuse a number of stages:\n" + made.diagnostics().render());
  return std::move(made->loop);
}

/// Changes the stages and orders of a loop, one legal step after another.
class Walk {
 public:
  Walk(const TaskGraph& graph, const machine::Device& device, Rng& rng)
      : graph_(graph), rng_(rng), wild_(rng.chance(5)), npu_(device.target == machine::Target::npu) {}

  LoopPlan run(LoopPlan plan) {
    const auto steps = rng_.chance(25) ? 0 : rng_.between(1, 16);
    for (std::int64_t n = 0; n < steps; ++n) {
      LoopPlan next = plan;
      change(next);
      next.versions = plan::versions_for(graph_, next.slots);
      if (versions_fragments(next) && !wild_ && !npu_) continue;
      if (!plan::check(next, graph_).has_errors()) plan = std::move(next);
    }
    return plan;
  }

 private:
  std::size_t any() { return static_cast<std::size_t>(rng_.between(0, static_cast<std::int64_t>(count()) - 1)); }
  std::size_t count() const { return graph_.nodes.size(); }

  void change(LoopPlan& plan) {
    const auto kind = rng_.between(0, 3);
    const std::size_t a = any(), b = any();
    if (kind == 0) std::swap(plan.slots[a].order, plan.slots[b].order);
    if (kind == 1) move(plan, a, static_cast<int>(b));
    if (kind == 2) {  // what stands behind a statement, or it alone, runs a stage later or earlier
      const int by = rng_.chance(60) ? 1 : -1;
      const bool all = rng_.chance(60);
      for (std::size_t i = a; i < (all ? count() : a + 1); ++i) plan.slots[i].stage += by;
    }
    if (kind == 3) plan.slots[a].stage = static_cast<int>(rng_.between(0, 4));
  }

  /// A statement takes another place in a turn.
  static void move(LoopPlan& plan, std::size_t node, int to) {
    const int from = plan.slots[node].order;
    for (Slot& slot : plan.slots) {
      if (from < slot.order && slot.order <= to) --slot.order;
      if (to <= slot.order && slot.order < from) ++slot.order;
    }
    plan.slots[node].order = to;
  }

  /// Which have no lowering.
  bool versions_fragments(const LoopPlan& plan) const {
    return std::any_of(graph_.written.begin(), graph_.written.end(), [&](const ir::Buffer& buffer) {
      return buffer->scope != ir::Scope::shared && plan.copies(buffer->name) > 1;
    });
  }

  const TaskGraph& graph_;
  Rng& rng_;
  bool wild_;  ///< now and then what has no lowering, so that it is refused
  bool npu_;   ///< where fragments lie in memory as tiles do
};

plan::Work draw_work(Rng& rng) {
  plan::Work work;
  const auto kind = rng.between(1, 100), order = rng.between(1, 100);
  work.kind = kind <= 40   ? WorkKind::plain
              : kind <= 85 ? WorkKind::persistent
              : kind <= 98 ? WorkKind::dynamic
                           : WorkKind::stream_k;
  work.order = order <= 30   ? TileOrder::rows
               : order <= 55 ? TileOrder::grouped
               : order <= 75 ? TileOrder::longest_first
               : order <= 90 ? TileOrder::paired
                             : TileOrder::hilbert;
  if (work.order == TileOrder::grouped) work.group = static_cast<int>(rng.between(1, 4));
  if (work.order != TileOrder::grouped && rng.chance(30)) work.heads = static_cast<int>(rng.between(2, 4));
  if (work.kind != WorkKind::stream_k && rng.chance(4)) work.split_k = static_cast<int>(rng.between(2, 4));
  if (rng.chance(15)) (rng.chance(50) ? work.cluster_x : work.cluster_y) = 2;
  return work;
}

/// What a loop says where there are roles: loads in one, all else in the other, joined by rings.
void give_roles(LoopPlan& plan, const TaskGraph& graph, int replicas, Rng& rng) {
  std::vector<plan::Ring> rings;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    plan.slots[i].role = graph::is_load(*graph.nodes[i].stmt) ? "load" : "math";
    if (plan.slots[i].role == "math") continue;
    const std::string& buffer = graph.nodes[i].writes.front().buffer->name;
    const int depth = std::max(1, plan.copies(buffer) + static_cast<int>(rng.between(-1, 2)));
    if (!rings.empty() && rng.chance(50)) {
      rings.back().buffers.push_back(buffer);
    } else {
      rings.push_back({{buffer}, depth, {}});
    }
  }
  for (const plan::Ring& ring : rings) {
    for (const std::string& buffer : ring.buffers)
      std::erase_if(plan.versions, [&](const plan::Versions& versions) { return versions.buffer == buffer; });
  }
  plan.rings = std::move(rings);
  std::vector<graph::StmtName> products;
  for (const graph::Node& node : graph.nodes) {
    if (node.unit == ir::Unit::matrix) products.push_back(node.name);
  }
  if (products.empty()) return;
  if (replicas > 1 && rng.chance(40)) {
    const auto from = rng.pick(products), to = rng.pick(products);
    plan.tokens.push_back({from, to, {}});
  }
}

/// A product that the next iteration finds under way.
void let_fly(LoopPlan& plan, const TaskGraph& graph, Rng& rng) {
  std::vector<std::size_t> products;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].unit == ir::Unit::matrix) products.push_back(i);
  }
  if (products.empty()) return;
  plan.slots[rng.pick(products)].in_flight = 1;
  for (plan::Ring& ring : plan.rings) ring.depth = std::max(ring.depth, 2);
}

Schedule blank(const Scheduled& of) {
  Schedule schedule;
  schedule.kernel = of.kernel.name;
  schedule.device = of.device.name;
  return schedule;
}

/// Statements outside of loops in any order that keeps what they wait for.
plan::RegionPlan draw_order(const graph::StraightRegion& region, Rng& rng) {
  plan::RegionPlan plan;
  plan.region = region.name;
  std::vector<bool> placed(region.tasks.size(), false);
  while (plan.order.size() < region.tasks.size()) {
    std::vector<std::size_t> ready;
    for (std::size_t task = 0; task < placed.size(); ++task) {
      auto holds = [&](const graph::StraightRegion::Wait& wait) { return wait.to == task && !placed[wait.from]; };
      if (!placed[task] && std::none_of(region.waits.begin(), region.waits.end(), holds)) ready.push_back(task);
    }
    const std::size_t next = rng.pick(ready);
    placed[next] = true;
    plan.order.push_back({region.names[next], {}});
  }
  return plan;
}

Schedule attempt(const Scheduled& of, Rng& rng) {
  Schedule schedule = blank(of);
  schedule.place.work = draw_work(rng);
  const bool npu = of.device.target == machine::Target::npu;
  if (npu) {  // others are refused
    plan::Work& work = schedule.place.work;
    if (work.kind != WorkKind::plain) work.kind = WorkKind::persistent;
    work.split_k = work.cluster_x = work.cluster_y = 1;
  }
  const bool roles = rng.chance(50) && !npu, shared = rng.chance(30);
  const int replicas = static_cast<int>(rng.between(1, 2));
  const bool loader = of.device.has(machine::Feature::tma);
  if (roles && !loader) {
    schedule.place.roles = {{"math", 4, replicas, plan::Axis::rows, {}}};
  } else if (roles) {
    plan::Role load{"load", 4, 1, plan::Axis::rows, {}}, math{"math", 4, replicas, plan::Axis::rows, {}};
    if (rng.chance(30)) load.regs = rng.pick({24, 40});
    if (rng.chance(30)) math.regs = rng.pick({168, 208, 232});
    schedule.place.roles = {load, math};
  }
  const auto same = rng.between(0, 4);
  for (const TaskGraph& graph : of.graphs) {
    const auto stages = rng.chance(30) ? same : rng.between(0, 4);
    LoopPlan plan = Walk(graph, of.device, rng).run(staged(graph, static_cast<int>(stages), of.device));
    // More versions than are needed do no harm.
    if (shared && !plan.versions.empty()) ++plan.versions.front().count;
    plan.planner = "hand";
    if (roles && loader) give_roles(plan, graph, replicas, rng);
    if (roles && !loader) {
      for (plan::Slot& slot : plan.slots) slot.role = "math";
    }
    if (rng.chance(20)) let_fly(plan, graph, rng);
    schedule.loops.push_back(std::move(plan));
  }
  if (rng.chance(40)) {
    for (const graph::StraightRegion& region : graph::regions_of(of.kernel)) {
      if (rng.chance(70)) schedule.regions.push_back(draw_order(region, rng));
    }
  }
  return schedule;
}

}  // namespace

std::vector<LoopPlan> staged_loops(const Scheduled& of, int stages) {
  std::vector<LoopPlan> loops;
  for (const TaskGraph& graph : of.graphs) loops.push_back(staged(graph, stages, of.device));
  return loops;
}

Schedule serial_schedule(const Scheduled& of, int replicas) {
  Schedule schedule = blank(of);
  if (replicas > 0) schedule.place.roles = {{"math", 4, replicas, plan::Axis::rows, {}}};
  schedule.loops = staged_loops(of, 0);
  return schedule;
}

Schedule draw_schedule(const Scheduled& of, Rng& rng) {
  constexpr int kAttempts = 20;
  for (int n = 0; n < kAttempts; ++n) {
    Schedule schedule = attempt(of, rng);
    if (!plan::check(schedule, of.kernel, of.graphs, of.device).has_errors()) return schedule;
  }
  Schedule schedule = blank(of);
  schedule.place.work = draw_work(rng);
  schedule.loops = staged_loops(of, 0);
  return schedule;
}

}  // namespace plait::test
