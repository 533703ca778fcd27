#pragma once

#include <map>
#include <string>
#include <vector>

#include "explain/explain.h"

/// What one multiprocessor does when: docs/explain.md, "Timelines".
namespace plait::explain {

/// A statement of the program, by its name in schedules (`gemm@14`), or in hand-written role programs by its word and
/// line (`wgmma@40`).
struct TimelineTask {
  std::string name;
  bool in_loop = false;  ///< of a pipelined loop
};
struct Span {
  std::int64_t begin = 0, end = 0;  ///< cycles
  int task = -1;                    ///< -1: what belongs to none, as counters and loops
  std::int64_t run = 0;             ///< executions of the task before, by this role; of units and copies by the issuer
  bool waiting = false;
};
enum class LaneKind { role, unit, copies };
struct Lane {
  LaneKind kind = LaneKind::role;
  std::string name;
  std::vector<Span> spans;  ///< ascending, none over another
};
/// A stretch of a tile's time: the pipeline fills, all its stages are at work, it drains and stores.
struct Phase {
  std::string name;  ///< prologue, steady, epilogue
  std::int64_t begin = 0, end = 0;
};
struct Timeline {
  std::string kernel, device, dims;
  double clock_mhz = 1;
  std::int64_t end = 0;  ///< cycles shown
  bool cut = false;      ///< the call goes on behind
  std::vector<TimelineTask> tasks;
  std::vector<Lane> lanes;
  std::vector<Phase> phases;
};

/// Gathers what the first multiprocessor does in its first cycles.
class Recorder {
 public:
  /// `names`: of the tile program's statements.
  Recorder(const roles::Program& program, std::map<Origin, std::string> names, std::int64_t cycles);

  /// For sim::Options::trace.
  bool operator()(const sim::TraceEvent& event);
  /// `loops`: tells which tasks are of a pipelined loop, and in which stage.
  Timeline take(const std::vector<Loop>& loops);

 private:
  using WarpKey = std::array<std::int64_t, 4>;  ///< block, role, replica, warp
  struct WarpState {
    std::int64_t run = 0;  ///< waits that it has met or is at
    const Loc* waits = nullptr;
    std::vector<std::int64_t> starts;  ///< the step with which each run began
    std::map<int, std::vector<std::pair<std::int64_t, std::int64_t>>>
        ordinals;  ///< of a task: (run, executions before)
  };
  int task_of(const sim::TraceEvent& event);
  std::int64_t ordinal(WarpState& warp, int task, std::int64_t step);
  int slot_of(std::int64_t block, std::int64_t begin);
  void statement(const sim::TraceEvent& event);
  void unit(const sim::TraceEvent& event);
  void copy(const sim::TraceEvent& event);

  const roles::Program& program_;
  std::map<Origin, std::string> names_;
  std::int64_t limit_;
  bool cut_ = false;
  std::int64_t last_ = 0;
  std::vector<TimelineTask> tasks_;
  std::map<std::string, int> task_numbers_;
  std::map<WarpKey, WarpState> warps_;
  struct Slot {
    std::int64_t block = -1, until = 0;
  };
  std::vector<Slot> slots_;                                     ///< blocks that the multiprocessor holds at once
  std::map<std::array<int, 3>, std::vector<Span>> role_lanes_;  ///< by role, replica, slot
  std::map<sim::Unit, std::vector<Span>> unit_lanes_;
  std::vector<Span> copies_;
};

/// Phases of the tiles that a role's lane shows, from the tasks of a pipelined loop.
std::vector<Phase> phases_of(const Timeline& timeline, const Loop& loop);

std::string svg(const Timeline& timeline);
/// A page that needs nothing else: wheel zooms, dragging moves, the pointer tells what a span is.
std::string html(const Timeline& timeline);
/// Chrome trace events, which Perfetto reads.
std::string trace_json(const Timeline& timeline);
/// A letter a task, for the terminal.
std::string terminal(const Timeline& timeline, int width);

}  // namespace plait::explain
