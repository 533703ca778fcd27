#pragma once

#include "plan/problem.h"
#include "plan/schedule.h"
#include "planner/costs.h"

namespace plait::planner {

/// How the replicas of the role that computes stand to each other.
enum class Turns {
  together,  ///< no order: what one does with a unit, all do
  in_turns,  ///< each a part of the interval behind the one before it (ping-pong), held by ordering tokens
};

/// Whether an iteration may begin before the one before it has ended, and tasks go in another order than the program's.
enum class Overlap { any, none, in_order };

/// A node as a task of the role that computes, with what its replicas ask of units that they share.
plan::Problem::Task task_of(const graph::TaskGraph& graph, const LoopCosts& costs, std::size_t node, Turns turns);
/// Whether both tasks add to one result on one unit, which does it by itself.
bool is_chained(const graph::TaskGraph& graph, const graph::Edge& edge, const plan::Problem::Task& from,
                const plan::Problem::Task& to);

/// The tasks of a loop that the role that computes carries out, as a problem of times.
struct LoopProblem {
  plan::Problem problem;
  std::vector<std::size_t> nodes;  ///< of the graph, by task
  Turns turns = Turns::together;
};
LoopProblem problem_of(const graph::TaskGraph& graph, const LoopCosts& costs, Turns turns, Overlap overlap);

/// The plan that carries a timetable out. Loads stand in stage 0, in program order; their tiles get the slots that
/// hide their latency at this interval and what their readers hold on to. `load`: whether a role of its own loads.
plan::LoopPlan plan_of(const graph::TaskGraph& graph, const LoopCosts& costs, const LoopProblem& problem,
                       const plan::Timetable& table, const std::string& planner, const machine::Device& device,
                       bool load);

}  // namespace plait::planner
