#include "planner/rate.h"

#include <algorithm>

#include "sim/occupancy.h"
#include "sim/trial.h"

namespace plait::planner {
namespace {

constexpr std::int64_t kExtent = 1024;  // of a dim that is not known
constexpr std::int64_t kMostSteps = 400'000;

/// Scalars do not change what is done when; those without a default are 1.
std::map<std::string, ir::ScalarValue> scalars_of(const roles::Program& program) {
  std::map<std::string, ir::ScalarValue> out;
  for (const ir::Param& param : program.params) {
    if (param.kind == ir::ParamKind::scalar && param.default_value == nullptr)
      out[param.scalar->name] = {param.scalar->type, 1, 1.0};
  }
  return out;
}

/// How many of a unit the program works with: each vector core of an NPU has its own.
int cores_of(const roles::Program& program, sim::Unit unit) {
  if (!sim::is_of_vector_core(unit)) return 1;
  for (const roles::Role& role : program.roles) {
    if (role.name == "aiv") return role.replicas;
  }
  return 1;
}

}  // namespace

std::map<std::string, std::int64_t> stand_ins(const roles::Program& program,
                                              const std::map<std::string, std::int64_t>& known) {
  std::map<std::string, std::int64_t> out = known;
  for (const ir::Var& dim : program.dims) out.try_emplace(dim->name, kExtent);
  return out;
}

std::optional<double> utilisation(const roles::Program& program, const machine::Device& device,
                                  const std::map<std::string, std::int64_t>& dims, sim::Unit unit,
                                  std::int64_t cycles) {
  auto blank = sim::BlankCall::make(program, stand_ins(program, dims), scalars_of(program));
  if (!blank) return std::nullopt;
  auto launch = sim::make_launch(program, blank->args(), 1);
  if (!launch) return std::nullopt;
  sim::Options options;
  options.costs = sim::costs_of(device);
  options.costs.l2_total_bytes = options.costs.memory_bytes = 1e9;
  options.costs.sms = 1;
  options.occupancy = sim::resident_blocks(program, device);
  options.checks = false;
  options.max_steps = kMostSteps;
  double busy = 0;
  std::int64_t end = 1;
  options.trace = [&](const sim::TraceEvent& event) {
    if (event.begin >= cycles) return false;
    end = std::max(end, std::min(event.end, cycles));
    if (event.kind == sim::TraceEvent::Kind::unit && event.unit == unit)
      busy += static_cast<double>(std::min(event.end, cycles) - event.begin);
    return true;
  };
  sim::simulate(program, *launch, options);
  return busy / (static_cast<double>(end) * cores_of(program, unit));
}

}  // namespace plait::planner
