#pragma once

#include <map>
#include <optional>
#include <string>

#include "machine/device.h"
#include "roles/program.h"
#include "sim/costs.h"

namespace plait::planner {

/// Part of the time for which one multiprocessor, or AI core, keeps a unit busy in its first `cycles` of a call with
/// these dims, by simulation; of L2 and main memory it has all that it asks for, so that what is compared is how tasks
/// overlap. Programs that do the same work with the same instructions compare by it. Nothing where there is no such
/// call.
std::optional<double> utilisation(const roles::Program& program, const machine::Device& device,
                                  const std::map<std::string, std::int64_t>& dims, sim::Unit unit, std::int64_t cycles);

/// Extents for a call of which some, or all, are not known.
std::map<std::string, std::int64_t> stand_ins(const roles::Program& program,
                                              const std::map<std::string, std::int64_t>& known);

}  // namespace plait::planner
