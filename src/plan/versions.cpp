#include <algorithm>

#include "plan/position.h"
#include "plan/rules.h"

namespace plait::plan {

using analysis::DependenceKind;
using graph::TaskGraph;

bool may_version(const TaskGraph& graph, const ir::Buffer& buffer) {
  return std::none_of(graph.edges.begin(), graph.edges.end(), [&](const graph::Edge& edge) {
    return edge.kind == DependenceKind::flow && edge.buffer == buffer && edge.carried();
  });
}

namespace {

bool overlap(const std::vector<graph::Use>& writes, const std::vector<graph::Use>& reads, const ir::Buffer& buffer) {
  return std::any_of(writes.begin(), writes.end(), [&](const graph::Use& write) {
    return write.buffer == buffer &&
           std::any_of(reads.begin(), reads.end(), [&](const graph::Use& read) { return may_overlap(write, read); });
  });
}

/// Iterations whose contents are alive at once: max over writers and readers of stage_r - stage_w + [order_w <
/// order_r].
int live_iterations(const TaskGraph& graph, const Positions& at, const ir::Buffer& buffer) {
  std::int64_t most = 1;
  for (std::size_t w = 0; w < graph.nodes.size(); ++w) {
    for (std::size_t r = 0; r < graph.nodes.size(); ++r) {
      if (!overlap(graph.nodes[w].writes, graph.nodes[r].reads, buffer)) continue;
      Position written = at.issue(w), read = at.end(r);
      most = std::max(most, read.turn - written.turn + (written.order < read.order ? 1 : 0));
    }
  }
  return static_cast<int>(most);
}

}  // namespace

std::vector<Versions> versions_for(const TaskGraph& graph, const std::vector<Slot>& slots) {
  Positions at(graph, slots);
  std::vector<Versions> found;
  for (const ir::Buffer& buffer : graph.written) {
    if (!may_version(graph, buffer)) continue;
    int count = live_iterations(graph, at, buffer);
    if (count > 1) found.push_back({buffer->name, count, {}});
  }
  return found;
}

}  // namespace plait::plan
