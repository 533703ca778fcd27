#pragma once

#include "planner/costs.h"
#include "planner/planner.h"

namespace plait::planner {

/// What was chosen, without what follows from it.
struct Remembered {
  plan::Schedule schedule;
  std::vector<PlannedLoop> loops;  ///< by their names; without places and tasks
  std::vector<Candidate> candidates;
  sim::Unit compared = sim::Unit::tensor;
};

/// Equal for equal ones.
std::string text_of(const place::Assumptions& assumptions);

/// Plans of before, in the file that the options name. By all that a plan depends on: this build of plait, the machine
/// model, the options, the program in which nothing overlaps, the graphs of its loops, the costs of their tasks.
class Memory {
 public:
  Memory(const Options& options, const machine::Device& device, const roles::Program& base,
         const std::vector<graph::TaskGraph>& graphs, const std::vector<LoopCosts>& costs);

  std::optional<Remembered> recall();
  void keep(const Remembered& plan);
  /// Why the file could not be read or written, for people; `loc`: the kernel's.
  std::optional<place::Remark> failure(const Loc& loc) const;

 private:
  std::string path_, key_, failure_;
};

}  // namespace plait::planner
