#include <fmt/format.h>

#include <algorithm>

#include "plan/check.h"
#include "plan/limits.h"
#include "plan/rules.h"

// The schedule of a whole kernel.
namespace plait::plan {

using graph::TaskGraph;

namespace {

/// The schedule with at most `most` stages asked for in each loop that gives a number of them.
Result<KernelPlan> plan_all(const ir::Kernel& kernel, std::vector<TaskGraph> graphs, const machine::Device& device,
                            int most) {
  KernelPlan made;
  made.schedule.kernel = kernel.name;
  made.schedule.device = device.name;
  Diagnostics diags;
  for (TaskGraph& graph : graphs) {
    if (graph.asked.stages) graph.asked.stages = std::min(*graph.asked.stages, most);
    auto loop = plan_by_rules(graph, device);
    if (!loop) {
      diags.append(loop.diagnostics());
      continue;
    }
    made.schedule.loops.push_back(std::move(loop->loop));
    made.reasons.insert(made.reasons.end(), loop->reasons.begin(), loop->reasons.end());
  }
  if (diags.has_errors()) return diags;
  return made;
}

int most_stages(const std::vector<TaskGraph>& graphs) {
  int most = 0;
  for (const TaskGraph& graph : graphs)
    most = std::max(most, graph.asked.order.empty() ? graph.asked.stages.value_or(0) : 0);
  return most;
}

Diagnostics over_capacity(const ir::Kernel& kernel, const std::vector<TaskGraph>& graphs, const machine::Device& device,
                          std::int64_t need, std::int64_t limit) {
  int asked = most_stages(graphs);
  auto widest =
      std::find_if(graphs.begin(), graphs.end(), [&](const TaskGraph& graph) { return graph.asked.stages == asked; });
  std::string fix = "use smaller tiles: even without pipelining the buffers do not fit";
  for (int n = asked - 1; n >= 0; --n) {
    auto fewer = plan_all(kernel, graphs, device, n);
    std::int64_t bytes = fewer ? shared_bytes(fewer->schedule, kernel) : need;
    if (bytes > limit) continue;
    fix = fmt::format("use stages={}, the largest that fits, with {}; or smaller tiles", n, kib(bytes));
    break;
  }
  std::string with = asked > 0 ? fmt::format(" with stages={}", asked) : "";
  Diagnostics diags;
  diags.error(Rule::schedule_memory, widest == graphs.end() ? kernel.loc : widest->loc,
              fmt::format("{} needs {} of shared memory{}; a block of {} can have {}", kernel.name, kib(need), with,
                          device.name, kib(limit)),
              fix);
  return diags;
}

}  // namespace

Result<KernelPlan> plan_with_at_most(const ir::Kernel& kernel, const machine::Device& device, int most) {
  return plan_all(kernel, graph::build(kernel), device, most);
}

int most_stages(const ir::Kernel& kernel) { return most_stages(graph::build(kernel)); }

Result<KernelPlan> plan_by_rules(const ir::Kernel& kernel, const machine::Device& device) {
  std::vector<TaskGraph> graphs = graph::build(kernel);
  constexpr int kAny = 1 << 20;
  auto made = plan_all(kernel, graphs, device, kAny);
  if (!made || !device.limits) return made;
  std::int64_t need = shared_bytes(made->schedule, kernel), limit = device.limits->smem_per_block.integer();
  if (need > limit) return over_capacity(kernel, graphs, device, need, limit);
  return made;
}

}  // namespace plait::plan
