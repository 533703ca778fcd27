#include "fuse_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "explain/table.h"
#include "fuse/barriers.h"
#include "roles/arena.h"
#include "roles/lower_channels.h"
#include "roles/print.h"
#include "run_inputs.h"
#include "run_timeout.h"
#include "sim/occupancy.h"
#include "sim/trial.h"

namespace plait::cli {
namespace {

/// Statements of warps that a prediction may take: some twenty seconds.
constexpr std::int64_t kMostFusedSteps = 40'000'000;
/// Of the time of one after the other; below it fusing is worth telling.
constexpr double kPays = 0.98;

std::int64_t smem_of(const roles::Program& program) { return roles::arena(roles::lower_channels(program)).bytes; }

std::string role_text(const roles::Role& role) {
  int threads = role.replicas * role.warps * roles::kWarp;
  return role.regs ? fmt::format("{} {} threads of {} registers", role.name, threads, *role.regs)
                   : fmt::format("{} {} threads", role.name, threads);
}

/// Names that both kernels use, each with what it is called in the fused one.
std::vector<std::string> renamed_parameters(const FuseInput& input, const roles::Program& fused) {
  std::vector<std::string> out;
  std::size_t dim = 0, param = 0;
  for (const FuseSide& side : input.sides) {
    auto note = [&](const std::string& was, const std::string& is) {
      if (was != is) out.push_back(fmt::format("{}.{} is {}", side.label, was, is));
    };
    for (const ir::Var& own : side.subject.kernel.dims) note(own->name, fused.dims[dim++]->name);
    for (const ir::Param& own : side.subject.kernel.params) {
      const ir::Param& made = fused.params[param++];
      own.buffer != nullptr ? note(own.buffer->name, made.buffer->name) : note(own.scalar->name, made.scalar->name);
    }
  }
  return out;
}

// ---- What it is made of --------------------------------------------------------------------------------------------

void describe_part(const FuseSide& side, const fuse::FusedPart& part, Outcome& outcome, std::vector<Report>& parts) {
  int threads = roles::thread_count(part.derived.program) * part.blocks;
  std::int64_t bytes = smem_of(part.derived.program) * part.blocks;
  outcome.text += fmt::format("{:8} {} block{} of {}: {} threads, {} bytes of shared memory\n", "part", part.blocks,
                              part.blocks == 1 ? "" : "s", side.label, threads, bytes);
  for (const std::string& note : part.changed) outcome.text += fmt::format("{:8} {}\n", "", note);
  Report entry;
  entry.set("kernel", side.label);
  entry.set("blocks", std::int64_t{part.blocks});
  entry.set("threads", std::int64_t{threads});
  entry.set("smem_bytes", bytes);
  entry.set("changed", part.changed);
  parts.push_back(std::move(entry));
}

void describe_fused(const FuseInput& input, const fuse::Fused& fused, Outcome& outcome) {
  const roles::Program& program = fused.program;
  const machine::Limits& limits = *input.device.limits;
  outcome.text += fmt::format("fused    {} on {}\n", program.name, input.device.name);
  std::vector<Report> parts;
  describe_part(input.sides[0], fused.first, outcome, parts);
  describe_part(input.sides[1], fused.second, outcome, parts);
  std::vector<std::string> roles;
  for (const roles::Role& role : program.roles) roles.push_back(role_text(role));
  outcome.text += fmt::format("roles    {}\n", fmt::join(roles, "; "));
  outcome.text +=
      fmt::format("block    {} threads of {}, {} bytes of shared memory of {}, {} named barriers of {}\n",
                  roles::thread_count(program), limits.threads_per_block.integer(), smem_of(program),
                  limits.smem_per_block.integer(),
                  fuse::named_barriers(program, roles::limits_of(input.device)).count(), fuse::kNamedBarriers);
  outcome.text += fmt::format("launch   {} blocks{}\n", roles::values_text(program.launch),
                              program.cluster > 1 ? fmt::format(", clusters of {}", program.cluster) : "");
  std::vector<std::string> renamed = renamed_parameters(input, program);
  if (!renamed.empty()) outcome.text += fmt::format("names    {}\n", fmt::join(renamed, ", "));
  outcome.report.set("kernel", program.name);
  outcome.report.set("device", input.device.name);
  outcome.report.set("parts", parts);
  outcome.report.set("threads", std::int64_t{roles::thread_count(program)});
  outcome.report.set("smem_bytes", smem_of(program));
  outcome.report.set("renamed", renamed);
}

// ---- How long it takes ---------------------------------------------------------------------------------------------

struct FuseTime {
  std::string what;
  sim::Outcome run;
};

/// Time alone of a call; nothing where that takes too many statements.
Result<std::optional<FuseTime>> time_of(const std::string& what, const roles::Program& program,
                                        const machine::Device& device, const FuseCall& call) {
  std::map<std::string, ir::ScalarValue> scalars;
  for (const ir::Param& param : program.params) {
    if (param.scalar == nullptr) continue;
    auto given = call.scalars.find(param.scalar->name);
    // What a scalar is changes no time; those without a value are 1.
    if (given == call.scalars.end() && param.default_value != nullptr) continue;
    auto value = given == call.scalars.end() ? std::nullopt : parse_scalar(param.scalar->type, given->second);
    scalars[param.scalar->name] = value.value_or(ir::ScalarValue{param.scalar->type, 1, 1.0});
  }
  auto blank = sim::BlankCall::make(program, call.dims, scalars);
  if (!blank) return blank.diagnostics();
  sim::Options options;
  options.costs = sim::costs_of(device);
  auto launch = sim::make_launch(program, blank->args(), options.costs.sms);
  if (!launch) return launch.diagnostics();
  options.occupancy = sim::resident_blocks(program, device);
  options.checks = false;
  options.max_steps = kMostFusedSteps;
  sim::Outcome run = sim::simulate(program, *launch, options);
  const auto& found = run.diagnostics.list();
  if (std::any_of(found.begin(), found.end(), [](const Diagnostic& d) { return d.rule == Rule::step_limit; }))
    return std::optional<FuseTime>();
  if (run.diagnostics.has_errors()) return run.diagnostics;
  return std::optional(FuseTime{what, std::move(run)});
}

const sim::UnitUse& busiest_unit(const sim::Outcome& run) {
  return *std::max_element(run.units.begin(), run.units.end(), [&](const sim::UnitUse& a, const sim::UnitUse& b) {
    return sim::share_of(a, run) < sim::share_of(b, run);
  });
}

std::string fusion_verdict(const std::vector<FuseTime>& times, double ratio) {
  const sim::UnitUse &a = busiest_unit(times[0].run), &b = busiest_unit(times[1].run);
  std::string critical =
      fmt::format("critical {} for {:.0f} % of the time of the fused kernel\n", busiest_unit(times[2].run).name,
                  100 * sim::share_of(busiest_unit(times[2].run), times[2].run));
  if (ratio < kPays)
    return critical + fmt::format("verdict  fusing pays: {:.2f} of the time of one after the other\n", ratio);
  std::string why = a.name == b.name
                        ? fmt::format("both want {} most", a.name)
                        : fmt::format("{} wants {} most and {} {}", times[0].what, a.name, times[1].what, b.name);
  return critical +
         fmt::format("verdict  fusing is predicted not to pay: {:.2f} of the time of one after the other; {}\n", ratio,
                     why);
}

void describe_times(const std::vector<FuseTime>& times, double clock_mhz, Outcome& outcome) {
  std::vector<std::string> head = {"predicted", "us"};
  std::string right = "lr";
  for (const sim::UnitUse& unit : times[2].run.units) {
    head.push_back(unit.name);
    right += 'r';
  }
  explain::Table table(head, right);
  std::vector<Report> entries;
  auto us_of = [&](const FuseTime& time) { return static_cast<double>(time.run.cycles) / clock_mhz; };
  for (const FuseTime& time : times) {
    std::vector<std::string> row = {time.what, fmt::format("{:.1f}", us_of(time))};
    Report entry, busy;
    for (const sim::UnitUse& unit : times[2].run.units) {
      auto own = std::find_if(time.run.units.begin(), time.run.units.end(),
                              [&](const sim::UnitUse& u) { return u.name == unit.name; });
      double share = own == time.run.units.end() ? 0 : sim::share_of(*own, time.run);
      row.push_back(fmt::format("{:.0f} %", 100 * share));
      busy.set(unit.name, share);
    }
    table.add(row);
    entry.set("what", time.what);
    entry.set("microseconds", us_of(time));
    entry.set("critical", busiest_unit(time.run).name);
    entry.set("busy", busy);
    entries.push_back(std::move(entry));
  }
  double apart = us_of(times[0]) + us_of(times[1]), ratio = us_of(times[2]) / std::max(apart, 1e-9);
  outcome.text += "\n" + table.text(0);
  outcome.text += fmt::format("one after the other takes {:.1f} us, without what two launches take\n", apart);
  outcome.text += fusion_verdict(times, ratio);
  outcome.report.set("predicted", entries);
  outcome.report.set("one_after_the_other", apart);
  outcome.report.set("ratio", ratio);
  outcome.report.set("pays", ratio < kPays);
}

}  // namespace

FuseCall fuse_call(const FuseInput& input, const roles::Program& fused) {
  FuseCall call;
  call.complete = true;
  std::size_t dim = 0, param = 0;
  for (const FuseSide& side : input.sides) {
    for (const ir::Var& own : side.subject.kernel.dims) {
      auto value = side.dims.find(own->name);
      const std::string& name = fused.dims[dim++]->name;
      if (value == side.dims.end()) call.complete = false;
      if (value != side.dims.end()) call.dims[name] = value->second;
    }
    for (const ir::Param& own : side.subject.kernel.params) {
      const ir::Param& made = fused.params[param++];
      if (own.scalar == nullptr) continue;
      auto value = side.scalars.find(own.scalar->name);
      if (value != side.scalars.end()) call.scalars[made.scalar->name] = value->second;
    }
  }
  return call;
}

void report_fusion(const FuseInput& input, const fuse::Fused& fused, Outcome& outcome) {
  describe_fused(input, fused, outcome);
  FuseCall call = fuse_call(input, fused.program);
  if (!call.complete) {
    outcome.text += "time     not predicted: give every dim of both, e.g. --dim M=4096\n";
    return;
  }
  std::vector<FuseTime> times;
  Notice notice(
      "plait: note: both kernels and the fused one are simulated, a statement of a warp at a time; smaller dims are "
      "faster\n");
  auto add = [&](const std::string& what, const roles::Program& program, const FuseCall& of) {
    auto time = time_of(what, program, input.device, of);
    if (!time) return outcome.diagnostics.append(time.diagnostics());
    if (*time) return times.push_back(std::move(**time));
    outcome.remarks += fmt::format("plait: no prediction: the simulation of {} takes more than {} statements\n", what,
                                   kMostFusedSteps);
  };
  const std::array<const fuse::FusedPart*, 2> parts = {&fused.first, &fused.second};
  for (std::size_t i : {0, 1})
    add(input.sides[i].label, parts[i]->alone.program, {input.sides[i].dims, input.sides[i].scalars, true});
  if (times.size() == 2) add("fused", fused.program, call);
  if (times.size() == 3) describe_times(times, sim::costs_of(input.device).clock_mhz, outcome);
}

}  // namespace plait::cli
