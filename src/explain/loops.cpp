#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "explain/explain.h"
#include "explain/recurrence.h"
#include "explain/steady.h"
#include "graph/work.h"
#include "ir/visit.h"
#include "plan/model.h"
#include "roles/arena.h"
#include "roles/visit.h"

namespace plait::explain {
namespace {

std::vector<std::string> written(const graph::Node& node) {
  std::vector<std::string> out;
  for (const graph::Use& use : node.writes) {
    if (use.buffer != nullptr && std::find(out.begin(), out.end(), use.buffer->name) == out.end())
      out.push_back(use.buffer->name);
  }
  return out;
}

class LoopExplainer {
 public:
  LoopExplainer(const roles::Program& program, const sim::Costs& costs, const graph::TaskGraph& graph,
                const plan::LoopPlan& plan)
      : program_(program), costs_(costs), graph_(graph), plan_(plan), nodes_of_(nodes_by_origin(graph)) {}

  /// Of a graph that is no loop's: what the literal loops around it run so many times.
  void run_by(std::int64_t times) { times_ = std::max<std::int64_t>(times, 1); }

  Loop run() {
    out_.name = graph::text_of(graph_.loop);
    out_.planner = plan_.planner;
    out_.loc = graph_.loc;
    count();
    tasks();
    bounds();
    rings();
    rings_of_threads();
    std::stable_sort(out_.tasks.begin(), out_.tasks.end(),
                     [](const Task& a, const Task& b) { return a.order < b.order; });
    return std::move(out_);
  }

 private:
  void count();
  void tasks();
  void bounds();
  void rings();
  const roles::ChannelDecl* channel_of(const std::string& tile) const;
  /// Slots of a tile that no channel hands on.
  std::int64_t slots_of(const std::string& tile) const;
  /// A load that TMA does not make.
  bool by_threads(std::size_t node) const {
    return graph::is_load(*graph_.nodes[node].stmt) && busy_[node].of(sim::Unit::tma) == 0;
  }
  void rings_of_threads();

  const roles::Program& program_;
  const sim::Costs& costs_;
  const graph::TaskGraph& graph_;
  const plan::LoopPlan& plan_;
  NodesOf nodes_of_;
  std::int64_t times_ = 1;
  std::vector<Busy> busy_, alone_;                       ///< by node
  std::vector<std::vector<std::string>> roles_, named_;  ///< by node: roles with work for it; with any statement of it
  Loop out_;
};

void LoopExplainer::count() {
  busy_.resize(graph_.nodes.size());
  alone_.resize(graph_.nodes.size());
  roles_.resize(graph_.nodes.size());
  named_.resize(graph_.nodes.size());
  for (const roles::Role& role : program_.roles) {
    const roles::For* loop = graph_.stmt != nullptr ? steady_loop(role.body, graph_) : nullptr;
    if (graph_.stmt != nullptr && loop == nullptr) continue;
    for (const auto& [origin, all] : busy_of(loop != nullptr ? loop->body : role.body, role, costs_)) {
      auto it = nodes_of_.find(origin);
      if (it == nodes_of_.end()) continue;
      // Copies of one statement do as much as each other.
      const Busy busy = all * (1.0 / static_cast<double>(times_ * static_cast<std::int64_t>(it->second.size())));
      auto add = [&](std::vector<std::string>& to) {
        if (std::find(to.begin(), to.end(), role.name) == to.end()) to.push_back(role.name);
      };
      for (std::size_t node : it->second) {
        busy_[node] += busy * role.replicas;
        alone_[node] += busy;
        add(named_[node]);
        if (busy.of(busiest(busy)) > 0) add(roles_[node]);
      }
    }
  }
}

const roles::ChannelDecl* LoopExplainer::channel_of(const std::string& tile) const {
  for (const roles::Channel& channel : program_.channels) {
    for (const roles::Smem& smem : channel->tiles) {
      if (smem->buffer->name == tile) return channel.get();
    }
  }
  return nullptr;
}

std::int64_t LoopExplainer::slots_of(const std::string& tile) const {
  for (const roles::Smem& smem : program_.smem) {
    std::vector<std::int64_t> shape = ir::static_shape(*smem->buffer);
    if (smem->buffer->name == tile && shape.size() == 3) return shape.front();
  }
  return 1;
}

void LoopExplainer::tasks() {
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const graph::Node& node = graph_.nodes[i];
    Task task;
    task.name = graph::text_of(node.name);
    task.loc = node.loc();
    task.roles = roles_[i].empty() ? named_[i] : roles_[i];
    if (const plan::Slot* slot = plan_.find(node.name)) {
      task.unit = machine::name_of(by_threads(i) ? machine::UnitKind::lsu : slot->unit);
      task.stage = slot->stage;
      task.order = slot->order;
    }
    std::vector<std::string> copies;
    for (const std::string& name : written(node)) {
      const roles::ChannelDecl* channel = channel_of(name);
      std::int64_t count = channel != nullptr ? channel->depth : slots_of(name);
      copies.push_back(count > 1 ? fmt::format("{} x{}", name, count) : name);
    }
    task.copies = fmt::format("{}", fmt::join(copies, ", "));
    task.busy = busy_[i];
    const auto& alone = alone_[i].unit;
    task.alone = *std::max_element(alone.begin(), alone.end());
    task.held = alone_[i].held;
    out_.tasks.push_back(std::move(task));
  }
}

void LoopExplainer::bounds() {
  for (const Busy& busy : busy_) out_.busy += busy;
  out_.critical = busiest(out_.busy);
  out_.resource_ii = std::llround(std::ceil(out_.busy.of(out_.critical)));
  std::vector<double> latencies;
  double sequence = 0;
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    latencies.push_back(out_.tasks[i].alone);
    if (!graph_.nodes[i].async || graph_.nodes[i].unit == ir::Unit::matrix) sequence += out_.tasks[i].alone;
  }
  out_.sequence = std::llround(std::ceil(sequence));
  Recurrence found = recurrence_bound(graph_, latencies);
  out_.recurrence_ii = found.ii;
  std::vector<std::string> names;
  for (std::size_t node : found.cycle) names.push_back(graph::text_of(graph_.nodes[node].name));
  out_.recurrence = fmt::format("{}", fmt::join(names, " -> "));
}

void LoopExplainer::rings() {
  for (const roles::Channel& channel : program_.channels) {
    Ring ring;
    Busy copies;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const std::string& name : written(graph_.nodes[i])) {
        if (channel_of(name) == channel.get()) copies += busy_[i];
      }
    }
    if (copies.bytes == 0) continue;
    ring.name = channel->name;
    ring.depth = channel->depth;
    for (const roles::Smem& tile : channel->tiles) {
      ring.tiles.push_back(tile->buffer->name);
      ring.slot_bytes += roles::smem_bytes(*tile) / channel->depth;
    }
    auto issue = std::llround(copies.of(sim::Unit::tma));
    ring.latency = costs_.tma_load + costs_.memory_latency + issue;
    std::int64_t interval = std::max<std::int64_t>({out_.resource_ii, out_.recurrence_ii, 1});
    ring.sufficient = plan::sufficient_depth({1, std::max<std::int64_t>(issue, 1), ring.latency, interval});
    out_.rings.push_back(std::move(ring));
  }
}

/// Tiles that the threads that compute load ahead, by cp.async.
void LoopExplainer::rings_of_threads() {
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!by_threads(i)) continue;
    const std::string& tile = graph_.nodes[i].writes.front().buffer->name;
    std::int64_t slots = slots_of(tile);
    if (slots < 2 || channel_of(tile) != nullptr) continue;
    Ring ring;
    ring.name = tile;
    ring.depth = slots;
    ring.tiles = {tile};
    for (const roles::Smem& smem : program_.smem) {
      if (smem->buffer->name == tile) ring.slot_bytes = roles::smem_bytes(*smem) / slots;
    }
    ring.latency = costs_.global_load + costs_.memory_latency;
    std::int64_t interval = std::max<std::int64_t>({out_.resource_ii, out_.recurrence_ii, 1});
    ring.sufficient = plan::sufficient_depth({1, 1, ring.latency, interval});
    out_.rings.push_back(std::move(ring));
  }
}

}  // namespace

std::vector<Loop> explain_loops(const roles::Program& program, const sim::Costs& costs,
                                const std::vector<graph::TaskGraph>& graphs, const plan::Schedule& schedule) {
  std::vector<Loop> out;
  for (const graph::TaskGraph& graph : graphs) {
    const plan::LoopPlan* plan = schedule.find(graph.loop);
    if (plan != nullptr) out.push_back(LoopExplainer(program, costs, graph, *plan).run());
  }
  return out;
}

Loop explain_region(const roles::Program& program, const sim::Costs& costs, const graph::TaskGraph& graph,
                    std::int64_t times) {
  const plan::LoopPlan none;
  LoopExplainer explainer(program, costs, graph, none);
  explainer.run_by(times);
  return explainer.run();
}

}  // namespace plait::explain
