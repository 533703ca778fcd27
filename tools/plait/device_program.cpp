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
  return DeviceProgram{std::move(*program), std::move(name), {}, {}, {}, {}, {}, std::move(*device)};
}

/// What is wrong with the name of a machine model; a path is looked at when it is read.
std::string check_device(const std::string& text) {
  if (machine::is_model_path(text)) return "";
  std::vector<std::string> known = machine::device_names();
  if (std::find(known.begin(), known.end(), text) != known.end()) return "";
  return fmt::format("there is no device '{}'; the devices are {}, or PATH.json, a machine model of your own", text,
                     fmt::join(known, ", "));
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

Result<plan::Schedule> read_schedule(const std::string& path) {
  auto source = runtime::read_source(path);
  if (!source) return source.diagnostics();
  return path.ends_with(".json") ? plan::parse_json(*source) : plan::parse(*source);
}

void add_schedule_flag(const Options& options, DeviceFlags& flags) {
  options.add("--schedule", flags.schedule,
              "schedule to carry out, text or JSON (default: what the author wrote, by the rules)");
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
  if (device->target == machine::Target::npu) {
    auto made = npu::derive(session->kernel, *device, schedule);
    if (!made) return made.diagnostics();
    roles::Program program = made->made.program;
    return DeviceProgram{std::move(program),          session->kernel_name, session->kernel, {}, std::move(*made), {},
                         std::move(session->program), std::move(*device)};
  }
  pipeline::DeriveOptions how{pipeline::assume(session->kernel, dims), std::move(schedule)};
  auto derived = pipeline::derive(session->kernel, *device, how);
  if (!derived) return derived.diagnostics();
  DeviceProgram made{derived->program, session->kernel_name, session->kernel, {}, {}, {}, {}, std::move(*device)};
  made.derived = std::move(*derived);
  made.options = std::move(how);
  made.file = std::move(session->program);
  return made;
}

}  // namespace plait::cli
