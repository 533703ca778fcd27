#include "explain/recurrence.h"

#include <algorithm>
#include <cmath>

namespace plait::explain {
namespace {

struct Arc {
  std::size_t from, to;
  double latency;
  double distance;
};

/// A cycle whose latencies exceed `ii` for each iteration that it spans; empty where there is none.
std::vector<std::size_t> exceeding(std::size_t nodes, const std::vector<Arc>& arcs, double ii) {
  constexpr double kTiny = 1e-9;
  std::vector<double> at(nodes, 0);
  std::vector<std::ptrdiff_t> by(nodes, -1);  // the arc that raised a node last
  std::ptrdiff_t raised = -1;
  for (std::size_t round = 0; round <= nodes; ++round) {
    raised = -1;
    for (std::size_t a = 0; a < arcs.size(); ++a) {
      double time = at[arcs[a].from] + arcs[a].latency - ii * arcs[a].distance;
      if (time <= at[arcs[a].to] + kTiny) continue;
      at[arcs[a].to] = time;
      by[arcs[a].to] = raised = static_cast<std::ptrdiff_t>(a);
    }
    if (raised < 0) return {};
  }
  // Far enough back along the arcs one is on the cycle.
  std::size_t node = arcs[static_cast<std::size_t>(raised)].to;
  auto back = [&](std::size_t n) { return arcs[static_cast<std::size_t>(by[n])].from; };
  for (std::size_t i = 0; i < nodes; ++i) node = back(node);
  std::vector<std::size_t> cycle = {node};
  for (std::size_t n = back(node); n != node; n = back(n)) cycle.push_back(n);
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

}  // namespace

Recurrence recurrence_bound(const graph::TaskGraph& graph, const std::vector<double>& latencies) {
  std::vector<Arc> arcs;
  double sum = 0;
  for (const graph::Edge& edge : graph.edges) {
    if (edge.kind == analysis::DependenceKind::flow)
      arcs.push_back({edge.from, edge.to, latencies[edge.from], static_cast<double>(edge.least())});
  }
  for (double latency : latencies) sum += latency;
  Recurrence out;
  std::int64_t low = 0, high = std::llround(std::ceil(sum)) + 1;  // the bound lies in (low, high]
  out.cycle = exceeding(graph.nodes.size(), arcs, 0);
  if (out.cycle.empty()) return out;
  while (high - low > 1) {
    std::int64_t middle = low + (high - low) / 2;
    auto cycle = exceeding(graph.nodes.size(), arcs, static_cast<double>(middle));
    if (cycle.empty()) {
      high = middle;
    } else {
      low = middle;
      out.cycle = std::move(cycle);
    }
  }
  out.ii = high;
  return out;
}

}  // namespace plait::explain
