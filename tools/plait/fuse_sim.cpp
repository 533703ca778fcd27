#include <fmt/format.h>

#include <cstring>

#include "fuse_report.h"
#include "roles/signature.h"
#include "run_inputs.h"
#include "sim/occupancy.h"
#include "sim/trial.h"

namespace plait::cli {
namespace {

/// The part of a call of the fused program that is a call of one of the two.
struct FuseRange {
  std::size_t tensor = 0, scalar = 0, dim = 0;
};

sim::Call part_of(const sim::Call& call, const roles::Program& program, FuseRange& from) {
  sim::Call out;
  for (const ir::Param& param : program.params) {
    if (param.scalar != nullptr) {
      out.args.scalars.push_back(call.args.scalars[from.scalar++]);
      continue;
    }
    out.tensors.push_back(call.tensors[from.tensor].clone());
    out.args.tensors.push_back(call.args.tensors[from.tensor++]);
  }
  for (std::size_t i = 0; i < program.dims.size(); ++i) out.args.dims.push_back(call.args.dims[from.dim++]);
  out.args = rebound(out.args, out.tensors);
  return out;
}

Result<sim::Trial> trial_of(const roles::Program& program, const sim::Call& call, const machine::Device& device,
                            int sms, std::uint64_t interleaving) {
  sim::Options options;
  options.costs = sim::costs_of(device);
  options.occupancy = sim::resident_blocks(program, device);
  options.interleaving = interleaving;
  return sim::run_trial(program, call, sms > 0 ? sms : options.costs.sms, options);
}

}  // namespace

void simulate_fusion(const FuseInput& input, const fuse::Fused& fused, const FuseFlags& flags, Outcome& outcome) {
  FuseCall call = fuse_call(input, fused.program);
  RunRequest request;
  request.dims = call.dims;
  request.scalars = call.scalars;
  request.seed = flags.seed;
  const ir::Kernel signature = roles::call_signature(fused.program);
  auto data = prepare_run(signature, request);
  if (!data) return outcome.diagnostics.append(data.diagnostics());
  sim::Call both;
  for (const runtime::HostTensor& tensor : data->tensors) both.tensors.push_back(tensor.clone());
  both.args = rebound(data->bound, both.tensors);
  std::vector<runtime::HostTensor> alone;
  FuseRange from;
  for (const fuse::FusedPart* part : {&fused.first, &fused.second}) {
    const roles::Program& program = part->alone.program;
    auto trial = trial_of(program, part_of(both, program, from), input.device, flags.sms, 0);
    if (!trial) return outcome.diagnostics.append(trial.diagnostics());
    outcome.diagnostics.append(trial->outcome.diagnostics);
    if (outcome.diagnostics.has_errors()) return;
    for (runtime::HostTensor& tensor : trial->tensors) alone.push_back(std::move(tensor));
  }
  for (std::uint64_t i = 0; i < flags.interleavings; ++i) {
    auto trial = trial_of(fused.program, both, input.device, flags.sms, i);
    if (!trial) return outcome.diagnostics.append(trial.diagnostics());
    outcome.diagnostics.append(trial->outcome.diagnostics);
    if (outcome.diagnostics.has_errors()) return;
    for (std::size_t t = 0; t < alone.size(); ++t) {
      if (std::memcmp(alone[t].data(), trial->tensors[t].data(), alone[t].bytes()) == 0) continue;
      outcome.diagnostics.error(Rule::sim_seeds, fused.program.loc,
                                fmt::format("interleaving {}: the fused program gives other bytes of {} than its "
                                            "program alone",
                                            i, data->params[t]->buffer->name));
      return;
    }
  }
  outcome.text += fmt::format("bytes    those of each program alone, in {} interleaving{} of {}\n", flags.interleavings,
                              flags.interleavings == 1 ? "" : "s", fused.program.name);
  outcome.report.set("kernel", fused.program.name);
  outcome.report.set("interleavings", static_cast<std::int64_t>(flags.interleavings));
}

}  // namespace plait::cli
