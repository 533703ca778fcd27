#include "plan/edges.h"

namespace plait::plan {

using analysis::DependenceKind;
using graph::Edge;

namespace {

/// The distance that a storage edge has among `versions` slots: the first later iteration with the same slot.
std::int64_t storage_distance(std::int64_t distance, std::int64_t versions) {
  return (distance + versions - 1) / versions * versions;
}

bool both_write(const graph::TaskGraph& graph, const Edge& edge) {
  return use_of(graph.nodes[edge.from].writes, edge.buffer) != nullptr &&
         use_of(graph.nodes[edge.to].writes, edge.buffer) != nullptr;
}

}  // namespace

std::vector<BrokenEdge> broken_edges(const graph::TaskGraph& graph, const LoopPlan& plan) {
  Positions at(graph, plan.slots);
  std::vector<BrokenEdge> broken;
  for (const Edge& edge : graph.edges) {
    if (!at.same_role(edge.from, edge.to)) continue;
    bool flow = edge.kind == DependenceKind::flow;
    std::int64_t distance = edge.least();
    if (!flow && edge.buffer != nullptr) distance = storage_distance(distance, plan.copies(edge.buffer->name));
    // Results are awaited where they are needed, and products into one accumulator follow each other by themselves;
    // what is read must stay until the reader is known to have ended.
    bool in_place = edge.kind == DependenceKind::anti && edge.buffer != nullptr && !both_write(graph, edge);
    Position before = in_place ? at.end(edge.from) : at.issue(edge.from), after = at.issue(edge.to);
    after.turn += distance;
    if (edge.from == edge.to ? after.turn > before.turn : after > before) continue;
    broken.push_back({edge, distance});
  }
  return broken;
}

}  // namespace plait::plan
