#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/costs.h"

/// The planning of a loop, or of one run of its body, as a problem of times alone: docs/planners.md.
namespace plait::plan {

/// Issues take at least a cycle, so that they have an order.
struct Problem {
  struct Task {
    std::string name;
    int role = 0;
    bool async = false;  ///< runs behind its issue, in the order of issues of its unit and role
    TaskCost cost;
    /// The unit that runs it, where that works off one task after the other.
    std::optional<machine::UnitKind> unit;
  };
  struct Edge {
    std::size_t from = 0, to = 0;
    std::int64_t distance = 0;  ///< iterations
    /// Both run on one unit, which adds the second to the first by itself: it may follow when the unit is free.
    bool chained = false;
  };
  std::vector<Task> tasks;
  std::vector<Edge> edges;
  /// Groups of threads that do all this on data of their own, each II / replicas behind the one before it.
  int replicas = 1;
};

/// When the tasks of iteration 0 are issued and run; those of iteration i are `ii` * i later.
struct Timetable {
  std::int64_t ii = 0;
  std::vector<std::int64_t> issue, run;
  bool optimal = false;  ///< no less interval is possible
  std::string why_not;   ///< where it is not known to be optimal
};

/// Turns of the steady loop that a task stands behind the first one.
std::int64_t stage_of(const Timetable& table, std::size_t task);
/// The tasks as a turn of the steady loop issues them.
std::vector<std::size_t> order_of(const Timetable& table);

/// How long a task keeps the unit that runs it from the next one.
std::int64_t turn(const Problem::Task& task);

/// A time in which all tasks fit one after the other, so that there is a timetable at this interval.
std::int64_t in_sequence(const Problem& problem);

/// Lower bounds of the interval.
struct Bounds {
  std::int64_t resource = 0;    ///< of the unit, or the role, that is busy longest
  std::string critical;         ///< its name
  std::int64_t recurrence = 0;  ///< of iterations that need the one before
  std::int64_t least(int replicas) const;
};
Bounds bounds_of(const Problem& problem);

/// What a timetable breaks; empty: nothing. It shares no code with the planners.
std::vector<std::string> certify(const Problem& problem, const Timetable& table);
/// The same for one run of the body: no edge between iterations counts, and nothing follows.
std::vector<std::string> certify_once(const Problem& problem, const Timetable& table);

/// From the first issue to the last result of one iteration.
std::int64_t makespan(const Problem& problem, const Timetable& table);

/// The least interval, and the earliest times, that keep the order in which the roles issue and the units run. Nothing
/// where that order has no times within the table's interval.
std::optional<Timetable> try_tighten(const Problem& problem, const Timetable& table);
/// The same of a table that keeps everything.
Timetable tighten(const Problem& problem, const Timetable& table);

}  // namespace plait::plan
