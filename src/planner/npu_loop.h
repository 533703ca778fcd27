#pragma once

#include <map>
#include <set>

#include "graph/regions.h"
#include "npu/lower/rows.h"
#include "plan/problem.h"
#include "plan/schedule.h"
#include "support/result.h"

/// Loops on NPUs as problems of times: tasks that a core's scalar unit issues, and that its pipes run.
namespace plait::planner {

/// How many versions a buffer may have at most, where that is limited.
using MostVersions = std::map<const ir::BufferDecl*, int>;

/// What a loop of a separated kernel does, whatever is planned of it.
struct NpuLoop {
  const graph::TaskGraph* graph = nullptr;
  /// Nodes by task: statements of one condition stay together.
  std::vector<std::vector<std::size_t>> nodes;
  std::vector<plan::Problem::Task> tasks;
};
Result<NpuLoop> npu_loop(const graph::TaskGraph& graph, const ir::Kernel& kernel, const machine::Device& device);

/// Statements outside of loops, as the cores and their pipes run them once.
Result<plan::Problem> npu_region(const graph::StraightRegion& region, const ir::Kernel& kernel,
                                 const machine::Device& device);

/// Buffers that cannot have several versions: an iteration reads what another one left, or something outside of the
/// loops that are planned uses them.
std::set<const ir::BufferDecl*> of_one_version(const ir::Kernel& kernel, const std::vector<graph::TaskGraph>& graphs);

/// The loop as a problem. What else is written again waits for its readers of the iteration that had the same version;
/// where nothing limits the versions there are enough of them.
plan::Problem problem_of(const NpuLoop& loop, const MostVersions& most);

/// The plan that carries a timetable out, with the versions that it takes.
plan::LoopPlan plan_of(const NpuLoop& loop, const plan::Timetable& table, const MostVersions& most,
                       const std::string& planner, const machine::Device& device);

}  // namespace plait::planner
