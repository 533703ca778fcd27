#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "machine/device.h"

namespace plait::plan {

/// What one iteration of a task costs, in cycles.
struct TaskCost {
  std::map<machine::UnitKind, std::int64_t> busy;  ///< each unit that it keeps busy, from its start on
  std::int64_t issue = 0;    ///< for which it holds its role: all of `latency` where it is not asynchronous
  std::int64_t latency = 0;  ///< from its start to its result
  std::string source;        ///< "measured: …", "modelled: …", "author"
};

/// Whether a unit works off one task after the other. The others are shared out among tasks instruction by instruction,
/// so that they only bound how much is done in a time.
bool takes_turns(machine::UnitKind unit);

}  // namespace plait::plan
