#pragma once

#include "graph/graph.h"

namespace plait::graph {

/// What one execution of a statement does. Of branches the larger counts; nothing where an extent is no literal.
struct Work {
  std::optional<std::int64_t> bytes = 0;  ///< between global memory and the chip
  std::optional<std::int64_t> flop = 0;
};
Work work_of(const ir::Stmt& stmt);

/// The unit that does most of a statement, and whether the statement is an operation that may complete behind it.
ir::Unit unit_of(const ir::Stmt& stmt);
bool is_async(const ir::Stmt& stmt);
/// A copy from global to shared memory, or a nest that gathers rows so.
bool is_load(const ir::Stmt& stmt);

}  // namespace plait::graph
