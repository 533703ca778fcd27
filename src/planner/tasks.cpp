#include "planner/tasks.h"

namespace plait::planner {

Result<Tasks> tasks_of(const ir::Kernel& kernel, const machine::Device& device, const Options& options) {
  auto base = pipeline::derive(kernel, device, {options.assumptions, {}, nullptr});
  if (!base) return base.diagnostics();
  Tasks out{graph::build(kernel), std::move(*base), {}};
  std::vector<explain::Loop> loops =
      explain::explain_loops(out.base.program, sim::costs_of(device), out.graphs, out.base.schedule);
  for (const graph::TaskGraph& graph : out.graphs) {
    auto costs = costs_of(graph, explained(loops, graph), out.base.program, device, nullptr);
    if (!costs) return costs.diagnostics();
    out.costs.push_back(std::move(*costs));
  }
  return out;
}

}  // namespace plait::planner
