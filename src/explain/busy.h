#pragma once

#include <array>
#include <functional>
#include <map>

#include "roles/program.h"
#include "sim/costs.h"

namespace plait::explain {

/// Cycles for which something keeps the units of one multiprocessor busy, by the rates that the simulator charges.
struct Busy {
  std::array<double, sim::kOwnUnits> unit{};  ///< by sim::Unit
  /// What all multiprocessors share, were all to do this at once: L2, and main memory were nothing found in L2.
  double l2_share = 0, memory_share = 0;
  double bytes = 0;  ///< between global memory and the chip
  /// Cycles for which a replica is held where it has the units for itself: what does not end behind its issue.
  double held = 0;

  double& of(sim::Unit which) { return unit[static_cast<std::size_t>(which)]; }
  double of(sim::Unit which) const { return unit[static_cast<std::size_t>(which)]; }
  Busy& operator+=(const Busy& other);
  Busy operator*(double times) const;
};
/// Unit by unit the larger.
Busy larger(const Busy& a, const Busy& b);
/// The unit that is busy longest; what is shared is none of them.
sim::Unit busiest(const Busy& busy);
std::string_view unit_name(sim::Unit unit);

/// A line and a column of the tile program: what statements of a role program come from.
using Origin = std::pair<int, int>;
Origin origin_of(const Loc& loc);

/// What one run of the body keeps busy, by origin. Of branches the larger counts; loops whose bounds are no literals
/// count once.
std::map<Origin, Busy> busy_of(const roles::Body& body, const roles::Role& role, const sim::Costs& costs);

}  // namespace plait::explain
