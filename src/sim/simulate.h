#pragma once

#include "sim/costs.h"
#include "sim/launch.h"

namespace plait::sim {

struct Options {
  /// 0: the device's usual times; others: times drawn at random from this seed. The bytes of the result do not depend
  /// on it unless the program is wrong.
  std::uint64_t interleaving = 0;
  bool checks = true;  ///< false: time alone; no values are computed but those of scalars, and nothing is checked
  int occupancy = 1;   ///< blocks a multiprocessor runs at once
  std::size_t max_errors = 8;
  std::int64_t max_steps = 200'000'000;  ///< statements of warps
  Costs costs;
};

struct UnitUse {
  std::string name;
  std::int64_t busy = 0;  ///< cycles, of all multiprocessors together; of main memory, which they share, alone
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

/// Runs a verified program on the tensors of `launch`, which it changes.
Outcome simulate(const roles::Program& program, const Launch& launch, const Options& options = {});

}  // namespace plait::sim
