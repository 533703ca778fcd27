#include "plan/lists.h"

#include <fmt/format.h>

#include <algorithm>

#include "npu/homes.h"
#include "plan/check.h"

namespace plait::plan {

using graph::TaskGraph;

namespace {

/// The entries of the nodes, out of a list that may count replayed statements too.
std::vector<int> entries_of_nodes(const TaskGraph& graph, const std::vector<int>& list) {
  if (list.size() == graph.nodes.size()) return list;
  std::vector<int> entries;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (graph.statements[i]) entries.push_back(list[i]);
  }
  return entries;
}

/// Orders as 0, 1, 2, …
std::vector<int> ranks(const std::vector<int>& orders) {
  std::vector<int> sorted = orders, out;
  std::sort(sorted.begin(), sorted.end());
  for (int order : orders)
    out.push_back(static_cast<int>(std::lower_bound(sorted.begin(), sorted.end(), order) - sorted.begin()));
  return out;
}

std::string counted(std::size_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

}  // namespace

machine::UnitKind unit_of(const TaskGraph& graph, const graph::Node& node, const machine::Device& device) {
  using machine::UnitKind;
  if (device.target == machine::Target::npu) return npu::unit_of(*node.stmt, npu::Homes(graph));
  bool cpu = device.target == machine::Target::cpu;
  switch (node.unit) {
    case ir::Unit::dma:
      if (cpu) return UnitKind::load;
      return node.async && device.has(machine::Feature::tma) ? UnitKind::tma : UnitKind::lsu;
    case ir::Unit::matrix:
      return cpu ? UnitKind::vector : UnitKind::tensor;
    case ir::Unit::vector:
      return cpu ? UnitKind::vector : UnitKind::cuda;
  }
  return UnitKind::cuda;
}

Result<RulesPlan> plan_by_lists(const TaskGraph& graph, const machine::Device& device) {
  const ir::PipelineAttrs& asked = graph.asked;
  Diagnostics diags;
  for (const auto* list : {&asked.order, &asked.stage}) {
    bool fits = list->size() == graph.nodes.size() || list->size() == graph.statements.size();
    if (fits) continue;
    diags.error(Rule::pipeline_lists, graph.loc,
                fmt::format("`{}` has {} for {}", list == &asked.order ? "order" : "stage",
                            list->size() == 1 ? "1 entry" : fmt::format("{} entries", list->size()),
                            counted(graph.nodes.size(), "scheduled statement")));
    return diags;
  }
  std::vector<int> orders = entries_of_nodes(graph, asked.order), stages = entries_of_nodes(graph, asked.stage);
  std::vector<int> sorted = orders;
  std::sort(sorted.begin(), sorted.end());
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) diags.error(Rule::pipeline_lists, graph.loc, fmt::format("`order` has {} twice", *twice));
  if (diags.has_errors()) return diags;
  orders = ranks(orders);
  RulesPlan made;
  made.loop.loop = graph.loop;
  made.loop.planner = "rules";
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    made.loop.slots.push_back(
        {graph.nodes[i].name, "", unit_of(graph, graph.nodes[i], device), stages[i], orders[i], 0, {}});
  made.loop.versions = versions_for(graph, made.loop.slots);
  diags = check(made.loop, graph);
  if (diags.has_errors()) return diags;
  return made;
}

}  // namespace plait::plan
