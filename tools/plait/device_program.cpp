#include "device_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "pipeline/assume.h"
#include "roles/parse.h"
#include "roles/signature.h"
#include "roles/verify.h"
#include "runtime/files.h"

namespace plait::cli {
namespace {

Result<DeviceProgram> read_roles(const ProgramOptions& options, const std::string& named) {
  if (!options.kernel.empty()) throw UsageError{"--kernel: a .roles file holds one program"};
  auto source = read_program(options.path);
  if (!source) return source.diagnostics();
  auto program = roles::parse(*source, parse_assignments(options.bindings, "-D"));
  if (!program) return program.diagnostics();
  auto device = device_of(*program, named);
  if (!device) return device.diagnostics();
  program->device = device->name;
  Diagnostics found = roles::verify(*program, roles::limits_of(*device));
  if (found.has_errors()) return found;
  std::string name = program->name;
  DeviceProgram read;
  read.program = std::move(*program);
  read.kernel_name = std::move(name);
  read.device = std::move(*device);
  return read;
}

/// What is wrong with the name of a machine model; a path is looked at when it is read.
std::string check_device(const std::string& text) {
  if (machine::is_model_path(text)) return "";
  std::vector<std::string> known = machine::device_names();
  if (std::find(known.begin(), known.end(), text) != known.end()) return "";
  return fmt::format("there is no device '{}'; the devices are {}, or PATH.json, a machine model of your own", text,
                     fmt::join(known, ", "));
}

std::string check_planner(const std::string& text) {
  return planner::kind_of(text) ? "" : fmt::format("there is no planner '{}': rules, greedy, modulo or auto", text);
}

/// By the schedule that is given, else planned.
Diagnostics derive_for_npu(DeviceProgram& made) {
  if (made.schedule) {
    auto derived = npu::derive(*made.tile, made.device, made.schedule);
    if (!derived) return derived.diagnostics();
    made.npu = std::move(*derived);
  } else {
    auto planned = planner::plan_on_npu(*made.tile, made.device, made.planning);
    if (!planned) return planned.diagnostics();
    made.npu = std::move(planned->derived);
    planner::Planning& told = *planned;
    made.planned = std::move(told);
  }
  made.program = made.npu->made.program;
  return {};
}

}  // namespace

Option add_device(const Options& options, const std::string& names, std::string& into, const std::string& help) {
  return options.add(names, into, help).check(check_device);
}

Result<machine::Device> device_of(const roles::Program& program, const std::string& named) {
  auto device = machine::load_device(named.empty() ? program.device : named);
  Diagnostics found;
  if (!device && named.empty()) {
    for (Diagnostic d : device.diagnostics().list()) {
      if (d.rule == Rule::unknown_device) {
        d.loc = program.loc;
        d.fix = fmt::format("name one of {}, or give the model of a machine of your own with --device PATH.json",
                            fmt::join(machine::device_names(), ", "));
      }
      found.add(std::move(d));
    }
    return found;
  }
  if (!device || device->target != machine::Target::cpu) return device;
  found.error(Rule::unknown_device, program.loc,
              fmt::format("{} is the model of a processor, and role programs run on GPUs", device->name),
              "name a GPU's model, e.g. --device h200");
  return found;
}

Diagnostics no_code(const machine::Device& device, const Loc& loc) {
  Diagnostics found;
  if (device.target == machine::Target::npu)
    found.error(Rule::place_device, loc,
                fmt::format("{} is a target of planning and simulation: plait prints no code for it", device.name),
                "look at it with --emit roles, plait sim, plait explain, or compile for a GPU");
  return found;
}

Result<pipeline::Derived> derive_again(const DeviceProgram& program, const place::Assumptions& assumptions) {
  planner::Options planning = program.planning;
  planning.assumptions = assumptions;
  return planner::derive(*program.tile, program.device, program.schedule, planning);
}

Result<plan::Schedule> read_schedule(const std::string& path) {
  auto source = runtime::read_source(path);
  if (!source) return source.diagnostics();
  return path.ends_with(".json") ? plan::parse_json(*source) : plan::parse(*source);
}

void add_schedule_flag(const Options& options, DeviceFlags& flags) {
  options.add("--schedule", flags.schedule,
              "schedule to carry out, text or JSON (default: what the author wrote, else a planner's)");
  add_planner_flag(options, flags.planner);
}

void add_planner_flag(const Options& options, std::string& planner) {
  options
      .add("--planner", planner,
           "who plans the loops whose author left that open: rules (they do not overlap), greedy, modulo, or auto, the "
           "best of all by prediction (default: auto)")
      .check(check_planner);
}

Result<DeviceProgram> load_device_program(const ProgramOptions& options, const DeviceFlags& flags,
                                          const std::map<std::string, std::int64_t>& dims) {
  if (holds_roles(options.path)) {
    if (!flags.schedule.empty()) throw UsageError{"--schedule: a role program carries its schedule out already"};
    auto read = read_roles(options, flags.device);
    if (read) check_dims(roles::call_signature(read->program), dims);
    return read;
  }
  auto session = load_kernel(options.path, options.kernel, parse_assignments(options.bindings, "-D"));
  if (!session) return session.diagnostics();
  std::optional<plan::Schedule> schedule;
  if (!flags.schedule.empty()) {
    auto given = read_schedule(flags.schedule);
    if (!given) return given.diagnostics();
    schedule = std::move(*given);
  }
  check_dims(session->kernel, dims);
  std::string name = flags.device;
  if (name.empty()) name = schedule ? schedule->device : "h200";
  auto device = machine::load_device(name);
  if (!device) return device.diagnostics();
  DeviceProgram made;
  made.kernel_name = session->kernel_name;
  made.tile = session->kernel;
  made.assumptions = pipeline::assume(session->kernel, dims);
  made.schedule = std::move(schedule);
  made.planning = {*planner::kind_of(flags.planner), made.assumptions, dims};
  made.planning.store = store::default_path();
  made.device = std::move(*device);
  made.file = std::move(session->program);
  if (made.device.target == machine::Target::npu) {
    if (Diagnostics found = derive_for_npu(made); found.has_errors()) return found;
    return made;
  }
  if (made.schedule) {
    auto derived = derive_again(made, made.assumptions);
    if (!derived) return derived.diagnostics();
    made.derived = std::move(*derived);
  } else {
    auto planned = planner::plan(*made.tile, made.device, made.planning);
    if (!planned) return planned.diagnostics();
    made.derived = std::move(planned->derived);
    planner::Planning& told = *planned;
    made.planned = std::move(told);
  }
  made.program = made.derived->program;
  return made;
}

}  // namespace plait::cli
