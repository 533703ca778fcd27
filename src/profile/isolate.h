#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "roles/program.h"

namespace plait::profile {

/// How the cycles that an isolated task counts become a latency and an interval.
enum class Way {
  alone,     ///< the role waits for it: alone it takes its latency, beside others an interval that is their share
  in_a_row,  ///< asynchronous, of one replica: first each awaited, then one behind the other
};

/// A scalar of an isolated task: a value that the task finds where it stands, such as the number of the iteration.
struct Given {
  std::string name;
  ir::DType type = ir::DType::i32;
  double value = 0;
};

/// A task of a loop in a role program of its own: `replicas` groups of threads do it `rounds` times and count cycles
/// into T. T[0, n] of counter n: each round awaited; T[1, n], of tasks in a row: one behind the other. Shared tiles
/// hold what they hold; fragments begin with zeros.
struct Isolated {
  std::string text;  ///< a role program over T and the scalars, parameters `replicas_`, `rounds_`
  Way way = Way::alone;
  std::vector<Given> given;
  int replicas = 1;     ///< of the role in the kernel
  bool loads = false;   ///< brings its tile from global memory
  std::string why_not;  ///< where there is no text: what ties the task to the kernel around it
};

/// The task `node` of a loop as it became statements of `program`. Never throws: what cannot be isolated says why.
Isolated isolate(const roles::Program& program, const graph::TaskGraph& graph, std::size_t node);

}  // namespace plait::profile
