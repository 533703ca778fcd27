#pragma once

#include "plan/rules.h"

namespace plait::plan {

/// The unit of the device that runs a task.
machine::UnitKind unit_of(const graph::TaskGraph& graph, const graph::Node& node, const machine::Device& device);

/// The plan of a loop that says itself in which order and stage its statements run.
Result<RulesPlan> plan_by_lists(const graph::TaskGraph& graph, const machine::Device& device);

}  // namespace plait::plan
