#pragma once

#include "device_program.h"
#include "sim/simulate.h"

namespace plait::cli {

/// A call whose time alone is simulated.
struct TimedCall {
  const DeviceProgram& program;
  const machine::Device& device;
  std::map<std::string, std::int64_t> dims;
  std::vector<std::string> scalars;
};
/// The simulation; at most so many statements of warps, after which it ends with Rule::step_limit.
Result<sim::Outcome> time_call(const TimedCall& call, std::int64_t most_steps, sim::Trace trace = {});

}  // namespace plait::cli
