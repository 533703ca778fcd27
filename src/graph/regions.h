#pragma once

#include <functional>

#include "graph/graph.h"

namespace plait::graph {

/// Statements that stand one behind the other in a body, with no loop of tiles, jump, `assert` or `print` among them:
/// they may be executed in any order that keeps what they wait for.
struct StraightRegion {
  StmtName name;  ///< `body` and the line of its first task
  Loc loc;
  std::size_t begin = 0, end = 0;       ///< of its statements in their body
  std::vector<ir::StmtRef> statements;  ///< in program order, allocations and lets that are replayed included
  std::vector<std::size_t> tasks;       ///< those that have an order, by their place among `statements`
  std::vector<StmtName> names;          ///< by task
  TaskGraph graph;                      ///< of one run of the statements, conditions taken apart
  std::vector<std::size_t> task_of;     ///< by node of the graph
  std::int64_t times = 1;               ///< that the literal loops around it run it
  /// What a task waits for, of several reasons the first.
  struct Wait {
    std::size_t from, to;  ///< tasks
    std::string why;
  };
  std::vector<Wait> waits;
};

/// Those of a kernel that have two tasks or more, in program order.
std::vector<StraightRegion> regions_of(const ir::Kernel& kernel);

/// For people: each task with those that it waits for.
std::string text_of(const StraightRegion& region);

/// A kernel whose bodies have other statements in the place of those of a region: `change` gives them.
ir::Kernel with_regions(const ir::Kernel& kernel, const std::vector<StraightRegion>& regions,
                        const std::function<ir::Body(const StraightRegion&)>& change);

}  // namespace plait::graph
