#include "planner/npu_loop.h"

#include <algorithm>

#include "ir/visit.h"
#include "npu/costs.h"
#include "npu/lower/mail.h"
#include "npu/uses.h"
#include "plan/lists.h"
#include "plan/rules.h"
#include "planner/choice.h"

namespace plait::planner {

using graph::Edge;
using graph::TaskGraph;
using machine::UnitKind;

namespace {

constexpr int kCube = 0, kVector = 1;  // the roles of tasks

const ir::For& for_of(const TaskGraph& graph) { return std::get<ir::For>(graph.stmt->node); }

/// The statement of the body that each node stands in, by its number.
std::vector<std::vector<std::size_t>> grouped(const TaskGraph& graph, const ir::Body& body) {
  std::vector<std::vector<std::size_t>> groups;
  for (const ir::StmtRef& stmt : body) {
    std::set<const ir::Stmt*> inside;
    ir::walk(ir::Body{stmt}, [&](const ir::Stmt& s) { inside.insert(&s); });
    std::vector<std::size_t> group;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (inside.contains(graph.nodes[i].stmt.get())) group.push_back(i);
    }
    if (!group.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

void add(plan::TaskCost& cost, const plan::TaskCost& more) {
  for (const auto& [unit, cycles] : more.busy) cost.busy[unit] += cycles;
  cost.latency += more.latency;
  if (cost.source.empty()) cost.source = more.source;
}

/// The cube stands still while operands are brought that take longer than their product.
void hold_cube(plan::TaskCost& cost) {
  auto cube = cost.busy.find(UnitKind::cube), brings = cost.busy.find(UnitKind::mte1);
  if (cube != cost.busy.end() && brings != cost.busy.end()) cube->second = std::max(cube->second, brings->second);
}

}  // namespace

namespace {

/// Whether a statement holds others that are tasks by themselves: control flow that is one node of the graph.
bool holds_others(const ir::Stmt& stmt) {
  const auto* loop = std::get_if<ir::For>(&stmt.node);
  return (loop != nullptr && loop->kind != ir::LoopKind::parallel) || std::holds_alternative<ir::While>(stmt.node) ||
         std::holds_alternative<ir::If>(stmt.node) || std::holds_alternative<ir::Task>(stmt.node);
}

/// Several statements count as one, on the unit that they keep busy longest; the vector cores issue it where they have
/// a part in it.
void as_one(const std::vector<const ir::Stmt*>& stmts, const npu::Homes& homes, plan::Problem::Task& task) {
  bool of_vector = std::any_of(stmts.begin(), stmts.end(), [&](const ir::Stmt* stmt) {
    if (holds_others(*stmt)) return npu::has_part(*stmt, npu::Core::vector, homes);
    return npu::core_of(*stmt, homes) == npu::Core::vector;
  });
  task.role = of_vector ? kVector : kCube;
  const auto& busy = task.cost.busy;
  auto longest =
      std::max_element(busy.begin(), busy.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  task.unit = longest == busy.end() ? UnitKind::scalar : longest->first;
}

Result<NpuLoop> tasks_of(const TaskGraph& graph, const ir::Body& body, const ir::Kernel& kernel,
                         const machine::Device& device) {
  npu::Homes homes(kernel.body);
  npu::Rows rows(kernel, homes, device);
  NpuLoop out;
  out.graph = &graph;
  out.nodes = grouped(graph, body);
  Diagnostics found;
  for (const std::vector<std::size_t>& group : out.nodes) {
    std::vector<const ir::Stmt*> stmts;
    plan::Problem::Task task;
    task.name = graph::text_of(graph.nodes[group.front()].name);
    task.async = true;
    for (std::size_t node : group) {
      stmts.push_back(graph.nodes[node].stmt.get());
      auto cost = npu::cost_of(graph.nodes[node], homes, device, rows.shares(*stmts.back()));
      if (!cost) {
        found.append(cost.diagnostics());
        continue;
      }
      hold_cube(*cost);
      add(task.cost, *cost);
    }
    if (stmts.size() > 1 || holds_others(*stmts.front())) {
      as_one(stmts, homes, task);
    } else {
      task.role = npu::core_of(*stmts.front(), homes) == npu::Core::cube ? kCube : kVector;
      task.unit = npu::unit_of(*stmts.front(), homes);
    }
    // What does nothing is issued all the same, and has its place among what its pipe runs.
    std::int64_t& busy = task.cost.busy.try_emplace(*task.unit, 1).first->second;
    busy = std::max<std::int64_t>(busy, 1);
    task.cost.issue = 1;
    task.cost.latency = std::max<std::int64_t>(task.cost.latency, 1);
    out.tasks.push_back(std::move(task));
  }
  if (found.has_errors()) return found;
  return out;
}

}  // namespace

Result<NpuLoop> npu_loop(const TaskGraph& graph, const ir::Kernel& kernel, const machine::Device& device) {
  return tasks_of(graph, for_of(graph).body, kernel, device);
}

namespace {

/// Calls `visit` for the statements outside of some loops.
template <typename Visit>
void outside(const ir::Body& body, const std::set<const ir::Stmt*>& loops, const Visit& visit) {
  for (const ir::StmtRef& stmt : body) {
    if (loops.contains(stmt.get())) continue;
    const auto* loop = std::get_if<ir::For>(&stmt->node);
    auto inner = [&](const ir::Body& of) { outside(of, loops, visit); };
    if (loop != nullptr && loop->kind != ir::LoopKind::parallel) {
      inner(loop->body);
    } else if (const auto* node = std::get_if<ir::If>(&stmt->node)) {
      inner(node->then_body);
      inner(node->else_body);
    } else if (const auto* repeat = std::get_if<ir::While>(&stmt->node)) {
      inner(repeat->body);
    } else if (const auto* task = std::get_if<ir::Task>(&stmt->node)) {
      inner(task->body);
    } else {
      visit(*stmt);
    }
  }
}

}  // namespace

std::set<const ir::BufferDecl*> of_one_version(const ir::Kernel& kernel, const std::vector<TaskGraph>& graphs) {
  std::set<const ir::BufferDecl*> one;
  std::set<const ir::Stmt*> loops;
  for (const TaskGraph& graph : graphs) {
    if (is_open(graph.asked)) loops.insert(graph.stmt.get());
  }
  ir::walk(kernel.body, [&](const ir::Stmt& stmt) {
    const auto* alloc = std::get_if<ir::Alloc>(&stmt.node);
    if (alloc == nullptr) return;
    const ir::Buffer& buffer = alloc->buffer;
    bool single = false;
    outside(kernel.body, loops, [&](const ir::Stmt& other) { single = single || npu::uses_of(buffer, other).any(); });
    for (const TaskGraph& graph : graphs) {
      bool used = is_open(graph.asked) && npu::uses_of(buffer, for_of(graph).body).any();
      bool written = std::find(graph.written.begin(), graph.written.end(), buffer) != graph.written.end();
      single = single || (used && !(written && plan::may_version(graph, buffer)));
    }
    if (single) one.insert(buffer.get());
  });
  return one;
}

namespace {

std::vector<std::size_t> task_of(const NpuLoop& loop) {
  std::vector<std::size_t> of(loop.graph->nodes.size());
  for (std::size_t t = 0; t < loop.nodes.size(); ++t) {
    for (std::size_t node : loop.nodes[t]) of[node] = t;
  }
  return of;
}

/// What the cube multiplies follows what it multiplied before without a wait.
bool is_chain(const plan::Problem::Task& from, const plan::Problem::Task& to) {
  return from.unit == UnitKind::cube && to.unit == UnitKind::cube;
}

bool on_chip(const Edge& edge) { return edge.buffer != nullptr && edge.buffer->scope != ir::Scope::global; }

/// Whether iterations keep apart by versions of the buffer: only what is written again is in the way.
bool by_versions(const Edge& edge) {
  return edge.kind != analysis::DependenceKind::flow && on_chip(edge) && edge.least() > 0;
}

}  // namespace

plan::Problem problem_of(const NpuLoop& loop, const MostVersions& most) {
  plan::Problem problem;
  problem.tasks = loop.tasks;
  std::vector<std::size_t> task = task_of(loop);
  for (const Edge& edge : loop.graph->edges) {
    std::int64_t distance = edge.least();
    if (by_versions(edge)) {
      auto limit = most.find(edge.buffer.get());
      if (limit == most.end()) continue;
      distance = (distance + limit->second - 1) / limit->second * limit->second;
    }
    std::size_t from = task[edge.from], to = task[edge.to];
    if (from == to && distance == 0) continue;
    problem.edges.push_back({from, to, distance, is_chain(problem.tasks[from], problem.tasks[to])});
  }
  return problem;
}

Result<plan::Problem> npu_region(const graph::StraightRegion& region, const ir::Kernel& kernel,
                                 const machine::Device& device) {
  auto made = tasks_of(region.graph, region.statements, kernel, device);
  if (!made) return made.diagnostics();
  plan::Problem problem;
  problem.tasks = std::move(made->tasks);
  PLAIT_ASSERT(problem.tasks.size() == region.tasks.size(), "a statement of a region is no task");
  for (const graph::StraightRegion::Wait& wait : region.waits)
    problem.edges.push_back({wait.from, wait.to, 0, is_chain(problem.tasks[wait.from], problem.tasks[wait.to])});
  return problem;
}

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a > 0 ? (a + b - 1) / b : 0; }

}  // namespace

plan::LoopPlan plan_of(const NpuLoop& loop, const plan::Timetable& table, const MostVersions& most,
                       const std::string& planner, const machine::Device& device) {
  const TaskGraph& graph = *loop.graph;
  plan::LoopPlan plan;
  plan.loop = graph.loop;
  plan.planner = planner;
  plan.ii = table.ii;
  for (const graph::Node& node : graph.nodes)
    plan.slots.push_back({node.name, "", plan::unit_of(graph, node, device), 0, 0, 0, {}});
  int next = 0;
  for (std::size_t t : order_of(table)) {
    for (std::size_t node : loop.nodes[t]) {
      plan.slots[node].stage = static_cast<int>(stage_of(table, t));
      plan.slots[node].order = next++;
    }
  }
  // Of what the order of statements asks for, and what lasts until its next writer may begin, the larger counts.
  std::map<const ir::BufferDecl*, std::int64_t> versions;
  std::vector<std::size_t> task = task_of(loop);
  for (const Edge& edge : graph.edges) {
    if (!by_versions(edge)) continue;
    std::size_t from = task[edge.from], to = task[edge.to];
    const plan::Problem::Task& before = loop.tasks[from];
    std::int64_t lasts = table.run[from] + before.cost.latency - table.issue[to];
    if (is_chain(before, loop.tasks[to])) lasts = table.run[from] + plan::turn(before) - table.run[to];
    std::int64_t& count = versions[edge.buffer.get()];
    count = std::max(count, ceil_div(lasts, table.ii));
  }
  std::vector<plan::Versions> ordered = plan::versions_for(graph, plan.slots);
  for (const ir::Buffer& buffer : graph.written) {
    auto named =
        std::find_if(ordered.begin(), ordered.end(), [&](const plan::Versions& v) { return v.buffer == buffer->name; });
    std::int64_t count = std::max<std::int64_t>(versions[buffer.get()], named == ordered.end() ? 1 : named->count);
    auto limit = most.find(buffer.get());
    if (limit != most.end()) count = std::min<std::int64_t>(count, limit->second);
    if (count > 1) plan.versions.push_back({buffer->name, static_cast<int>(count), {}});
  }
  return plan;
}

}  // namespace plait::planner
