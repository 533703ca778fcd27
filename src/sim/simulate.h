#pragma once

#include <functional>
#include <string_view>

#include "sim/costs.h"
#include "sim/launch.h"

namespace plait::sim {

/// Something that takes time: a warp runs a statement, a unit works for one, or a copy of one is under way.
struct TraceEvent {
  enum class Kind { statement, unit, copy };
  Kind kind = Kind::statement;
  Unit unit = Unit::issue;  ///< of Kind::unit
  std::int64_t begin = 0, end = 0;
  int sm = 0;
  std::int64_t block = 0;               ///< linear
  int role = 0, replica = 0, warp = 0;  ///< who issued it
  std::int64_t step = 0;                ///< the statements that the warp had run before, tells executions of one apart
  /// The statement: its name in role programs, its place there, the tile statement that it came from. A wait that is
  /// not met ends when it has looked; the statement follows again once it is.
  std::string_view word;
  const Loc* loc = nullptr;
  const Loc* origin = nullptr;
};
/// False ends the simulation.
using Trace = std::function<bool(const TraceEvent&)>;

struct Options {
  /// 0: the device's usual times; others: times drawn at random from this seed. The bytes of the result do not depend
  /// on it unless the program is wrong.
  std::uint64_t interleaving = 0;
  bool checks = true;  ///< false: time alone; no values are computed but those of scalars, and nothing is checked
  int occupancy = 1;   ///< blocks a multiprocessor runs at once
  std::size_t max_errors = 8;
  std::int64_t max_steps = 200'000'000;  ///< statements of warps
  Costs costs;
  Trace trace;  ///< told of all events of a warp in order, of units as they are taken
};

struct UnitUse {
  std::string name;
  std::int64_t busy = 0;  ///< cycles, of all multiprocessors together; of main memory, which they share, alone
  int each = 1;           ///< such units of a multiprocessor
};

struct Outcome {
  Diagnostics diagnostics;
  std::int64_t cycles = 0;
  std::vector<UnitUse> units;
  std::int64_t blocks = 0;
  int sms = 0;  ///< multiprocessors that ran a block
  int threads = 0;
  std::int64_t smem_bytes = 0;
  std::int64_t steps = 0;
  std::vector<Loc> executed;  ///< places of the statements that some thread ran
};

/// The part of the run in which a unit was busy, of all that there are.
inline double share_of(const UnitUse& unit, const Outcome& run) {
  double whole = static_cast<double>(run.cycles) * (unit.name == "memory" ? 1 : run.sms * unit.each);
  return static_cast<double>(unit.busy) / (whole > 0 ? whole : 1);
}

/// Runs a verified program on the tensors of `launch`, which it changes.
Outcome simulate(const roles::Program& program, const Launch& launch, const Options& options = {});

}  // namespace plait::sim
