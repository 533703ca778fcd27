#pragma once

#include <optional>

#include "plan/modulo.h"
#include "planner/planner.h"

/// What the planners of all machines share: schedules that are looked at, and which of them is taken.
namespace plait::planner {

constexpr int kMostStages = 4;  ///< that the rules planner is tried with
/// A later schedule has to be this much better, by a model that knows all that takes time and by one that does not.
constexpr double kExactly = 1.01, kRoughly = 1.03;

/// A schedule, and what became of it.
template <typename Derived>
struct Entry {
  Candidate told;
  plan::Schedule schedule;
  std::optional<Derived> derived;
  std::vector<PlannedLoop> loops;
};

/// Statements outside of loops keep the program's order, in which fewer buffers may live at one time. False: they did
/// before.
template <typename Derived>
bool in_program_order(Entry<Derived>& entry) {
  if (entry.schedule.regions.empty()) return false;
  entry.schedule.regions.clear();
  std::erase_if(entry.loops, [](const PlannedLoop& loop) { return loop.in_program_order.has_value(); });
  entry.told.what += ", the rest in program order";
  return true;
}

/// The best, of those about as good as each other the first; nothing where nothing carries any of them out. `told`
/// gets what is told of it, and of the others behind it.
template <typename Derived>
std::optional<Derived> choose(std::vector<Entry<Derived>> entries, Planning& told, double worth) {
  Entry<Derived>* best = nullptr;
  for (Entry<Derived>& entry : entries) {
    if (!entry.derived) continue;
    bool better = best == nullptr || entry.told.predicted.value_or(0) > worth * best->told.predicted.value_or(0);
    if (better) best = &entry;
  }
  if (best != nullptr) {
    told.loops = std::move(best->loops);
    told.candidates.push_back(best->told);
  }
  for (Entry<Derived>& entry : entries) {
    if (&entry != best) told.candidates.push_back(std::move(entry.told));
  }
  return best != nullptr ? std::move(best->derived) : std::nullopt;
}

/// Why a kernel stays as its author left it, for each schedule that was looked at.
std::vector<place::Remark> not_planned(const Planning& told, const Loc& loc);

/// A certified timetable of a loop by one of the planners that weigh times, and what is told of it.
struct Timed {
  plan::Timetable table;
  PlannedLoop told;
};
Timed timed(Kind kind, const graph::TaskGraph& graph, const plan::Problem& problem, const std::string& costs,
            const plan::ModuloOptions& modulo = {});

plan::LoopPlan& place_of(plan::Schedule& schedule, const graph::TaskGraph& graph);
/// Gives every open loop of a schedule so many stages by the rules, and tells of them; nothing where they have no plan.
std::optional<std::vector<PlannedLoop>> put_stages(plan::Schedule& schedule,
                                                   const std::vector<graph::TaskGraph>& graphs,
                                                   const machine::Device& device, int stages);

/// Cycles for which a kernel is simulated whose loops' iterations, nothing overlapping, take so many.
std::int64_t trial_length(std::int64_t iteration);

}  // namespace plait::planner
