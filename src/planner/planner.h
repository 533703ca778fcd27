#pragma once

#include "pipeline/derive.h"
#include "plan/problem.h"
#include "sim/costs.h"
#include "store/database.h"

/// Finds the schedule of a kernel whose author left it open: docs/planners.md.
namespace plait::planner {

enum class Kind {
  rules,      ///< what the author wrote; loops that say nothing do not overlap
  greedy,     ///< PipeThreader's list scheduler
  modulo,     ///< the least interval, by Z3
  automatic,  ///< the best of all by prediction
};
std::string_view name_of(Kind kind);
std::optional<Kind> kind_of(std::string_view name);

struct Options {
  Kind kind = Kind::automatic;
  place::Assumptions assumptions;
  std::map<std::string, std::int64_t> dims;  ///< of the calls, as far as they are known
  bool all = false;                          ///< also loops whose author says how they are pipelined
  std::string store = {};                    ///< file of what was measured, see store::default_path(); empty: none
};

/// Whether the author of a loop leaves to a planner how it is pipelined; of a kernel: of one at least.
bool is_open(const ir::PipelineAttrs& asked);
bool is_open(const ir::Kernel& kernel);

/// A loop that was planned, or statements outside of pipelined loops (docs/schedules.md, regions).
struct PlannedLoop {
  graph::StmtName loop;
  Loc loc;
  std::string planner;
  plan::Bounds bounds;
  std::int64_t ii = 0;
  bool optimal = false;
  std::string why_not;  ///< of `optimal`
  std::string costs;    ///< where they come from
  struct Task {
    std::string name;
    plan::TaskCost cost;
  };
  std::vector<Task> tasks;  ///< what was planned with
  /// Of statements outside of loops, of which `ii` is the makespan: that of the program's order.
  std::optional<std::int64_t> in_program_order = {};
};
/// A schedule that was looked at.
struct Candidate {
  std::string what;                 ///< e.g. `modulo, in turns, occupancy 2`
  std::optional<double> predicted;  ///< part of the time that the critical unit is busy
  std::string refused;              ///< why nothing carries it out
};
/// What was planned, and what else was looked at.
struct Planning {
  std::vector<PlannedLoop> loops;          ///< empty: every loop says what it wants
  std::vector<Candidate> candidates;       ///< the chosen one first, then as they were looked at
  sim::Unit compared = sim::Unit::tensor;  ///< the unit by which they were compared
  machine::Target target = machine::Target::cuda;
};
struct Planned : Planning {
  pipeline::Derived derived;
};

/// The kernel on its device: by the schedule that is given, else planned.
Result<pipeline::Derived> derive(const ir::Kernel& kernel, const machine::Device& device,
                                 const std::optional<plan::Schedule>& schedule, const Options& options);

/// Loops that say how they are pipelined keep what they say. The same input gives the same plan.
Result<Planned> plan(const ir::Kernel& kernel, const machine::Device& device, const Options& options);

/// For the terminal; empty where nothing was planned.
std::string text(const Planning& planning);

}  // namespace plait::planner
