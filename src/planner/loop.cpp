#include "planner/loop.h"

#include <algorithm>

#include "graph/work.h"
#include "plan/lists.h"
#include "plan/position.h"
#include "planner/choice.h"

namespace plait::planner {

using graph::Edge;
using graph::TaskGraph;
using machine::UnitKind;

namespace {

constexpr int kComputes = 0;  // the role of all tasks of a problem
constexpr int kPlenty = 4;    // slots of a ring: one of fewer gets a spare one, for loads that take longer than usual

bool is_product(const TaskGraph& graph, const LoopCosts& costs, std::size_t node) {
  const plan::TaskCost& cost = costs.tasks[node];
  return graph.nodes[node].async && cost.busy.contains(UnitKind::tensor) && cost.issue < cost.latency;
}

/// Whatever begins an iteration waits for whatever ends the one before it.
void keep_apart(plan::Problem& problem) {
  std::vector<bool> begins(problem.tasks.size(), true), ends(problem.tasks.size(), true);
  for (const plan::Problem::Edge& edge : problem.edges) {
    if (edge.distance == 0) begins[edge.to] = ends[edge.from] = false;
  }
  for (std::size_t last = 0; last < ends.size(); ++last) {
    for (std::size_t first = 0; first < begins.size(); ++first) {
      if (ends[last] && begins[first] && first != last) problem.edges.push_back({last, first, 1, false});
    }
  }
}

}  // namespace

plan::Problem::Task task_of(const TaskGraph& graph, const LoopCosts& costs, std::size_t node, Turns turns) {
  const int replicas = costs.replicas;
  plan::Problem::Task task{
      graph::text_of(graph.nodes[node].name), kComputes, is_product(graph, costs, node), costs.tasks[node], {}};
  if (turns == Turns::together) {
    // A unit that works off one task after the other serves all replicas before it comes back to the first.
    for (auto& [unit, cycles] : task.cost.busy) cycles *= replicas;
    if (task.async) {
      task.cost.latency += task.cost.busy[UnitKind::tensor] / replicas * (replicas - 1);
    } else {
      for (const auto& [unit, cycles] : task.cost.busy) task.cost.issue = std::max(task.cost.issue, cycles);
      task.cost.latency = task.cost.issue;
    }
  }
  if (task.async) task.unit = UnitKind::tensor;
  task.cost.issue = std::max<std::int64_t>(task.cost.issue, 1);
  return task;
}

bool is_chained(const TaskGraph& graph, const Edge& edge, const plan::Problem::Task& from,
                const plan::Problem::Task& to) {
  return from.async && to.async && edge.buffer != nullptr &&
         plan::use_of(graph.nodes[edge.from].writes, edge.buffer) != nullptr &&
         plan::use_of(graph.nodes[edge.to].writes, edge.buffer) != nullptr;
}

LoopProblem problem_of(const TaskGraph& graph, const LoopCosts& costs, Turns turns, Overlap overlap) {
  LoopProblem out;
  out.turns = turns;
  out.problem.replicas = turns == Turns::in_turns ? costs.replicas : 1;
  std::vector<std::optional<std::size_t>> number(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (costs.ahead[i]) continue;
    number[i] = out.problem.tasks.size();
    out.nodes.push_back(i);
    out.problem.tasks.push_back(task_of(graph, costs, i, turns));
  }
  for (const Edge& edge : graph.edges) {
    if (!number[edge.from] || !number[edge.to]) continue;
    const std::size_t from = *number[edge.from], to = *number[edge.to];
    bool added = is_chained(graph, edge, out.problem.tasks[from], out.problem.tasks[to]);
    if (edge.from == edge.to && !added) continue;  // one role runs the iterations of a task in order anyway
    out.problem.edges.push_back({from, to, edge.least(), added});
  }
  if (overlap != Overlap::any) keep_apart(out.problem);
  for (std::size_t t = 1; overlap == Overlap::in_order && t < out.problem.tasks.size(); ++t)
    out.problem.edges.push_back({t - 1, t, 0, false});
  return out;
}

namespace {

class PlanMaker {
 public:
  PlanMaker(const TaskGraph& graph, const LoopCosts& costs, const LoopProblem& problem, const plan::Timetable& table,
            const machine::Device& device, bool load)
      : graph_(graph), costs_(costs), problem_(problem), table_(table), device_(device), load_(load) {}

  plan::LoopPlan run(const std::string& planner) {
    plan_.loop = graph_.loop;
    plan_.planner = planner;
    plan_.ii = table_.ii;
    slots();
    lead();
    copies();
    if (load_) {
      fly();
      tokens();
    }
    return std::move(plan_);
  }

 private:
  /// Loads first, then the tasks as a turn of the steady loop issues them.
  void slots() {
    for (const graph::Node& node : graph_.nodes)
      plan_.slots.push_back({node.name, load_ ? "math" : "", plan::unit_of(graph_, node, device_), 0, 0, 0, {}});
    int next = 0;
    for (std::size_t i : loads()) {
      if (load_) plan_.slots[i].role = "load";
      plan_.slots[i].order = next++;
    }
    for (std::size_t t : order_of(table_)) {
      plan::Slot& slot = plan_.slots[problem_.nodes[t]];
      slot.stage = static_cast<int>(stage_of(table_, t));
      slot.order = next++;
    }
  }

  /// When a turn of the steady loop issues a task.
  std::int64_t phase(std::size_t task) const { return table_.issue[task] - stage_of(table_, task) * table_.ii; }

  /// What is needed first comes first.
  std::vector<std::size_t> loads() const {
    std::vector<std::size_t> found;
    std::vector<std::int64_t> needed(graph_.nodes.size(), 0);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!costs_.ahead[i]) continue;
      found.push_back(i);
      needed[i] = first_use(graph_.nodes[i].writes.front().buffer).value_or(0);
    }
    std::stable_sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) { return needed[a] < needed[b]; });
    return found;
  }

  std::optional<std::int64_t> first_use(const ir::Buffer& tile) const {
    std::optional<std::int64_t> first;
    for (std::size_t t = 0; t < problem_.nodes.size(); ++t) {
      const graph::Node& node = graph_.nodes[problem_.nodes[t]];
      if (plan::use_of(node.reads, tile) != nullptr || plan::use_of(node.writes, tile) != nullptr)
        first = std::min(first.value_or(table_.issue[t]), table_.issue[t]);
    }
    return first;
  }

  std::int64_t longest_load() const {
    std::int64_t latency = 0;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (costs_.ahead[i]) latency = std::max(latency, costs_.tasks[i].latency);
    }
    return latency;
  }

  /// Where the threads that compute load, their tasks stand as many stages behind as loads take.
  void lead() {
    if (load_) return;
    std::int64_t latency = longest_load();
    if (latency == 0) return;
    auto stages = static_cast<int>((latency + table_.ii - 1) / table_.ii);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!costs_.ahead[i]) plan_.slots[i].stage += std::max(stages, 1);
    }
  }

  /// Cycles from the first issue that reads what a load brings to the end of the last one.
  std::int64_t held(std::size_t load) const {
    const ir::Buffer& tile = graph_.nodes[load].writes.front().buffer;
    std::optional<std::int64_t> first, last;
    for (std::size_t t = 0; t < problem_.nodes.size(); ++t) {
      const graph::Node& node = graph_.nodes[problem_.nodes[t]];
      if (plan::use_of(node.reads, tile) == nullptr && plan::use_of(node.writes, tile) == nullptr) continue;
      std::int64_t end = table_.run[t] + problem_.problem.tasks[t].cost.latency;
      first = std::min(first.value_or(table_.issue[t]), table_.issue[t]);
      last = std::max(last.value_or(end), end);
    }
    // Replicas in turns hold it one after the other.
    const std::int64_t replicas = problem_.problem.replicas;
    return first ? *last - *first + table_.ii / replicas * (replicas - 1) : 0;
  }

  void copies() {
    if (!load_) {
      plan_.versions = plan::versions_for(graph_, plan_.slots);
      return;
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!costs_.ahead[i]) continue;
      const std::string& tile = graph_.nodes[i].writes.front().buffer->name;
      auto known = [&](const plan::Ring& ring) { return ring.buffers.front() == tile; };
      if (std::any_of(plan_.rings.begin(), plan_.rings.end(), known)) continue;
      std::int64_t depth = (costs_.tasks[i].latency + held(i) + table_.ii - 1) / table_.ii;
      if (depth < kPlenty) ++depth;
      plan_.rings.push_back({{tile}, static_cast<int>(std::max<std::int64_t>(depth, 2)), {}});
    }
  }

  /// A product whose result nobody awaits in its iteration may be under way when the next one is issued.
  void fly() {
    bool one_stage = true;
    std::size_t products = 0, product = 0;
    for (std::size_t t = 0; t < problem_.nodes.size(); ++t) {
      one_stage = one_stage && plan_.slots[problem_.nodes[t]].stage == 0;
      if (!problem_.problem.tasks[t].async) continue;
      ++products;
      product = t;
    }
    if (!one_stage || products != 1) return;
    for (const plan::Problem::Edge& e : problem_.problem.edges) {
      if (e.from == product && !e.chained) return;
    }
    plan_.slots[problem_.nodes[product]].in_flight = 1;
    const graph::Node& node = graph_.nodes[problem_.nodes[product]];
    for (plan::Ring& ring : plan_.rings) {
      auto reads = [&](const graph::Use& use) { return use.buffer->name == ring.buffers.front(); };
      if (std::any_of(node.reads.begin(), node.reads.end(), reads)) ring.depth = std::max(ring.depth + 1, 2);
    }
  }

  /// The next replica begins with its first product behind the last one that the timetable issues before it: what a
  /// turn issues later, beside the next replica, it does not wait for.
  void tokens() {
    if (problem_.turns != Turns::in_turns) return;
    std::vector<std::size_t> products;
    for (std::size_t t = 0; t < problem_.nodes.size(); ++t) {
      if (problem_.problem.tasks[t].async) products.push_back(t);
    }
    if (products.empty()) return;
    auto slot = [&](std::size_t t) -> const plan::Slot& { return plan_.slots[problem_.nodes[t]]; };
    std::sort(products.begin(), products.end(), [&](auto a, auto b) { return slot(a).order < slot(b).order; });
    const std::int64_t next = phase(products.front()) + table_.ii / problem_.problem.replicas;
    std::size_t last = products.front();
    for (std::size_t t : products) {
      if (phase(t) < next) last = t;
    }
    plan_.tokens.push_back({slot(last).stmt, slot(products.front()).stmt, {}});
  }

  const TaskGraph& graph_;
  const LoopCosts& costs_;
  const LoopProblem& problem_;
  const plan::Timetable& table_;
  const machine::Device& device_;
  bool load_;
  plan::LoopPlan plan_;
};

}  // namespace

plan::LoopPlan plan_of(const TaskGraph& graph, const LoopCosts& costs, const LoopProblem& problem,
                       const plan::Timetable& table, const std::string& planner, const machine::Device& device,
                       bool load) {
  return PlanMaker(graph, costs, problem, table, device, load).run(planner);
}

}  // namespace plait::planner
