#include "planner/tasks.h"

#include <algorithm>

namespace plait::planner {

Result<Tasks> tasks_of(const ir::Kernel& kernel, const machine::Device& device, const Options& options) {
  auto base = pipeline::derive(kernel, device, {options.assumptions, {}, nullptr});
  if (!base) return base.diagnostics();
  Tasks out{graph::build(kernel), std::move(*base), {}};
  std::vector<explain::Loop> explained =
      explain::explain_loops(out.base.program, sim::costs_of(device), out.graphs, out.base.schedule);
  for (const graph::TaskGraph& graph : out.graphs) {
    std::string name = graph::text_of(graph.loop);
    auto loop =
        std::find_if(explained.begin(), explained.end(), [&](const explain::Loop& l) { return l.name == name; });
    PLAIT_ASSERT(loop != explained.end(), "a loop that nobody explains");
    auto costs = costs_of(graph, *loop, out.base.program, device, nullptr);
    if (!costs) return costs.diagnostics();
    out.costs.push_back(std::move(*costs));
  }
  return out;
}

}  // namespace plait::planner
