#include "plan/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/work.h"
#include "plan/edges.h"
#include "plan/lists.h"
#include "plan/position.h"

namespace plait::plan {

using graph::Node;
using graph::TaskGraph;

namespace {

/// Stages and orders as `stages=N` means them.
class Rules {
 public:
  Rules(const TaskGraph& graph, const machine::Device& device)
      : graph_(graph), device_(device), moved_(graph.nodes.size(), false), last_(graph.nodes.size()) {}

  RulesPlan run(int stages) {
    if (stages > 0 && may_overlap_iterations()) {
      for (std::size_t i = 0; i < graph_.nodes.size(); ++i) find_movable(i);
      for (std::size_t i = 0; i < graph_.nodes.size(); ++i) find_preparation(i);
    }
    // Each round takes one movable back, so that they end.
    while (true) {
      arrange(stages);
      auto broken = broken_edges(graph_, plan_);
      auto it = std::find_if(broken.begin(), broken.end(), [&](const BrokenEdge& b) { return moved(b.edge); });
      if (it == broken.end()) break;
      take_back(it->edge);
    }
    if (stages >= 2 && graph_.jump == nullptr) leave_in_flight();
    return {std::move(plan_), std::move(reasons_)};
  }

 private:
  bool moved(const graph::Edge& edge) const { return moved_[edge.from] || moved_[edge.to]; }
  void reason(std::size_t node, const std::string& why) {
    reasons_.push_back({graph_.nodes[node].loc(),
                        fmt::format("{} is not moved ahead: {}", graph::text_of(graph_.nodes[node].name), why)});
  }

  bool may_overlap_iterations() {
    if (graph_.jump == nullptr) return true;
    reasons_.push_back({graph_.jump->loc, "iterations do not overlap: the loop may end early here"});
    return false;
  }

  /// The last node behind `writer` that reads what it writes.
  std::optional<std::size_t> last_reader(std::size_t writer) const {
    const graph::Use& write = graph_.nodes[writer].writes.front();
    for (std::size_t i = graph_.nodes.size(); i-- > writer + 1;) {
      const auto& reads = graph_.nodes[i].reads;
      if (std::any_of(reads.begin(), reads.end(), [&](const graph::Use& r) { return may_overlap(write, r); })) return i;
    }
    return std::nullopt;
  }

  void find_movable(std::size_t i) {
    const Node& node = graph_.nodes[i];
    if (!graph::is_load(*node.stmt)) return;
    // Rows are gathered ahead by a role that loads; elsewhere by the threads that compute, where they are read.
    const bool gather = std::holds_alternative<ir::For>(node.stmt->node);
    if (gather && !(device_.has(machine::Feature::tma) && device_.has(machine::Feature::wgmma))) return;
    const ir::Buffer& target = node.writes.front().buffer;
    last_[i] = last_reader(i);
    if (!last_[i]) return reason(i, fmt::format("nothing behind it in the body reads '{}'", target->name));
    if (!may_version(graph_, target))
      return reason(i, fmt::format("an iteration may read what an earlier one left in '{}'", target->name));
    moved_[i] = true;
  }

  /// A fill of a copy's destination goes with the copy; a copy that only another copy reads goes before that one.
  void find_preparation(std::size_t i) {
    const auto* op = std::get_if<ir::TileOp>(&graph_.nodes[i].stmt->node);
    if (op == nullptr || moved_[i] || op->kind != ir::OpKind::fill) return;
    const ir::Buffer& target = op->operands[0].buffer;
    for (std::size_t j = i + 1; j < graph_.nodes.size(); ++j) {
      bool copies = moved_[j] && graph_.nodes[j].writes.front().buffer == target;
      bool reads = use_of(graph_.nodes[j].reads, target) != nullptr;
      if (!copies && reads) return;
      if (!copies) continue;
      moved_[i] = true;
      last_[i] = last_[j];
      return;
    }
  }

  /// The ordinary node behind which a movable follows.
  std::size_t anchor(std::size_t node) const {
    std::size_t at = *last_[node];
    while (moved_[at]) at = *last_[at];
    return at;
  }

  void arrange(int stages) {
    plan_ = LoopPlan{};
    plan_.loop = graph_.loop;
    plan_.planner = "rules";
    bool any = std::find(moved_.begin(), moved_.end(), true) != moved_.end();
    for (const Node& node : graph_.nodes)
      plan_.slots.push_back({node.name, "", unit_of(graph_, node, device_), any ? stages : 0, 0, 0, {}});
    int next = 0;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (moved_[i]) continue;
      plan_.slots[i].order = next++;
      for (std::size_t j = 0; j < graph_.nodes.size(); ++j) {
        if (!moved_[j] || anchor(j) != i) continue;
        plan_.slots[j].order = next++;
        plan_.slots[j].stage = 0;
      }
    }
    if (stages >= 2) rotate();
    plan_.versions = versions_for(graph_, plan_.slots);
  }

  /// Where all movables stand last they come first instead, and the others run one stage less behind them.
  void rotate() {
    auto count = static_cast<int>(graph_.nodes.size());
    auto movables = static_cast<int>(std::count(moved_.begin(), moved_.end(), true));
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      if (moved_[i] && plan_.slots[i].order < count - movables) return;
    }
    if (movables == 0) return;
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      plan_.slots[i].order = (plan_.slots[i].order + movables) % count;
      if (!moved_[i]) --plan_.slots[i].stage;
    }
  }

  /// Products of one sum that each multiply a fragment of their own, which the iteration makes before: while one is
  /// under way the next one's fragment is made, and that of the next iteration's first while the last one is.
  void leave_in_flight() {
    std::set<const ir::BufferDecl*> made, lefts, sums;
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto* op = std::get_if<ir::TileOp>(&graph_.nodes[i].stmt->node);
      if (op == nullptr || op->kind != ir::OpKind::gemm) {
        for (const graph::Use& use : graph_.nodes[i].writes) made.insert(use.buffer.get());
        continue;
      }
      const ir::Buffer& left = op->operands[0].buffer;
      bool own = left->scope == ir::Scope::fragment && made.contains(left.get()) && lefts.insert(left.get()).second;
      if (!own || !graph_.nodes[i].async) return;
      sums.insert(op->operands[2].buffer.get());
      last = i;
    }
    if (!last || lefts.size() < 2 || sums.size() != 1 || !device_.has(machine::Feature::wgmma)) return;
    plan_.slots[*last].in_flight = 1;
    plan_.versions = versions_for(graph_, plan_.slots);
  }

  void take_back(const graph::Edge& edge) {
    bool needs = moved_[edge.to];
    std::size_t node = needs ? edge.to : edge.from, other = needs ? edge.from : edge.to;
    moved_[node] = false;
    std::string name = edge.buffer != nullptr ? edge.buffer->name : edge.var->name;
    reason(node,
           fmt::format("it would pass {}, with which it shares '{}'", graph::text_of(graph_.nodes[other].name), name));
    // What prepared it alone stays as well.
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      const auto* op = std::get_if<ir::TileOp>(&graph_.nodes[i].stmt->node);
      bool fill = op != nullptr && op->kind == ir::OpKind::fill;
      if (moved_[i] && fill && use_of(graph_.nodes[node].writes, op->operands[0].buffer) != nullptr) moved_[i] = false;
    }
  }

  const TaskGraph& graph_;
  const machine::Device& device_;
  std::vector<bool> moved_;
  std::vector<std::optional<std::size_t>> last_;
  LoopPlan plan_;
  std::vector<Note> reasons_;
};

}  // namespace

Result<RulesPlan> plan_by_rules(const TaskGraph& graph, const machine::Device& device) {
  if (!graph.asked.order.empty()) return plan_by_lists(graph, device);
  RulesPlan made = Rules(graph, device).run(graph.asked.stages.value_or(0));
  if (!graph.asked.stages)
    made.reasons.push_back({graph.loc, "iterations do not overlap: the loop asks for no stages"});
  return made;
}

}  // namespace plait::plan
