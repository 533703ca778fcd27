#include "timed_call.h"

#include "run_inputs.h"
#include "sim/occupancy.h"
#include "sim/trial.h"

namespace plait::cli {

Result<sim::Outcome> time_call(const TimedCall& call, std::int64_t most_steps, sim::Trace trace) {
  const roles::Program& program = call.program.program;
  auto blank = sim::BlankCall::make(program, call.dims, scalar_values(program.params, call.scalars));
  if (!blank) return blank.diagnostics();
  sim::Options options;
  options.costs = sim::costs_of(call.device);
  auto launch = sim::make_launch(program, blank->args(), options.costs.sms);
  if (!launch) return launch.diagnostics();
  options.occupancy = sim::resident_blocks(program, call.device);
  options.checks = false;
  options.max_steps = most_steps;
  options.trace = std::move(trace);
  return sim::simulate(program, *launch, options);
}

}  // namespace plait::cli
