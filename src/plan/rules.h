#pragma once

#include "plan/schedule.h"

namespace plait::plan {

/// A plan, and what in it is less than what was asked for, each at its place in the program.
struct RulesPlan {
  LoopPlan loop;
  std::vector<Note> reasons;
};

/// What the author wrote: `stages=N`, or the lists `order=` and `stage=`. docs/schedules.md states the rules.
Result<RulesPlan> plan_by_rules(const graph::TaskGraph& graph, const machine::Device& device);

/// The same for every pipelined loop of a kernel; more on-chip memory than the device has is an error that names the
/// largest `stages` that fits.
struct KernelPlan {
  Schedule schedule;
  std::vector<Note> reasons;
};
Result<KernelPlan> plan_by_rules(const ir::Kernel& kernel, const machine::Device& device);
/// The same with at most `most` stages in each loop that asks for a number of them, whatever memory that takes.
Result<KernelPlan> plan_with_at_most(const ir::Kernel& kernel, const machine::Device& device, int most);
/// The largest number of stages that a loop asks for; 0: none asks.
int most_stages(const ir::Kernel& kernel);

/// The versions that the stages and orders of a loop ask for, of each on-chip buffer that it writes; those that need
/// but one are left out.
std::vector<Versions> versions_for(const graph::TaskGraph& graph, const std::vector<Slot>& slots);
/// Whether each iteration may have its own copy: no flow dependence on it is carried.
bool may_version(const graph::TaskGraph& graph, const ir::Buffer& buffer);

}  // namespace plait::plan
