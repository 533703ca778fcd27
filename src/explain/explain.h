#pragma once

#include <optional>

#include "explain/busy.h"
#include "pipeline/derive.h"
#include "sim/simulate.h"

/// What plait made of a kernel and why: docs/explain.md.
namespace plait::explain {

/// A statement of a pipelined loop.
struct Task {
  std::string name;  ///< gemm@14
  Loc loc;
  std::vector<std::string> roles;  ///< that carry it out
  std::string unit;                ///< that the schedule gives it
  int stage = 0, order = 0;
  std::string copies;  ///< of what it writes: `A_s x3`
  Busy busy;           ///< of one iteration, of all replicas together
  double alone = 0;    ///< cycles that one replica takes where nothing else runs
  double held = 0;     ///< cycles for which it holds one replica
};
/// Tiles that are loaded ahead.
struct Ring {
  std::string name;
  std::vector<std::string> tiles;
  std::int64_t depth = 1, slot_bytes = 0;
  std::int64_t latency = 0;     ///< of a slot's copies from main memory
  std::int64_t sufficient = 1;  ///< 1 + ceil(latency / interval)
};
struct Loop {
  std::string name, planner;
  Loc loc;
  std::vector<Task> tasks;  ///< by order
  Busy busy;                ///< of one iteration
  sim::Unit critical = sim::Unit::tensor;
  std::int64_t resource_ii = 0;    ///< cycles of the critical unit
  std::int64_t recurrence_ii = 0;  ///< 0: no iteration needs the one before
  std::string recurrence;          ///< the tasks of that cycle
  std::int64_t sequence = 0;       ///< cycles of one replica's tasks, one after the other
  std::vector<Ring> rings;
};
struct Tile {
  std::string name, type;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0, bytes = 0;
  std::string channel;  ///< that hands it on
};
struct RoleUse {
  std::string name;
  int replicas = 1, warps = 4;
  std::int64_t fragments = 0, other = 0;  ///< 32-bit registers of a thread
  std::int64_t budget = 0;
  bool moved = false;  ///< the budget is setmaxnreg's, not the launch's
};
struct Note {
  Loc loc;
  std::string text;
};
/// A call of these dims, simulated.
struct Prediction {
  std::map<std::string, std::int64_t> dims;
  sim::Outcome run;
  double microseconds = 0;
};
struct Explanation {
  std::string kernel, device, file;
  int sms = 1, occupancy = 1, threads = 0;
  double clock_mhz = 0;
  std::string work;    ///< how tiles come to blocks; empty: a role program says itself
  std::string launch;  ///< extents
  std::vector<Loop> loops;
  std::vector<Tile> tiles;
  std::int64_t smem_bytes = 0, smem_limit = 0, barrier_bytes = 0;
  std::vector<RoleUse> roles;
  std::vector<Note> notes;  ///< slower ways that were taken
  std::optional<Prediction> prediction;
};

/// `tile` and `derived` are null where the program was written by hand.
Explanation explain(const roles::Program& program, const machine::Device& device, const ir::Kernel* tile,
                    const pipeline::Derived* derived);

/// For the terminal.
std::string text(const Explanation& what);

/// The part of it that tells how long the call takes that was simulated.
std::string prediction_text(const Explanation& what);

/// The loops of a derived program.
std::vector<Loop> explain_loops(const roles::Program& program, const sim::Costs& costs,
                                const std::vector<graph::TaskGraph>& graphs, const plan::Schedule& schedule);

/// Statements outside of pipelined loops, as if they were a loop of one iteration; `times`: that the literal loops
/// around them run them.
Loop explain_region(const roles::Program& program, const sim::Costs& costs, const graph::TaskGraph& graph,
                    std::int64_t times);

}  // namespace plait::explain
