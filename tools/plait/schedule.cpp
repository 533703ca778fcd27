#include "plan/schedule.h"

#include <fmt/format.h>

#include "device_program.h"
#include "machine/load.h"
#include "npu/lower/derive.h"
#include "npu/separate.h"
#include "pipeline/default_work.h"
#include "pipeline/derive.h"
#include "plan/check.h"
#include "plan/rules.h"
#include "runtime/files.h"
#include "session.h"

namespace plait::cli {
namespace {

struct ScheduleOptions {
  ProgramOptions program;
  std::string device = "h200", planner = "auto";
  std::string given;
};

Outcome deliver(const plan::Schedule& schedule, const std::vector<Note>& reasons) {
  Outcome outcome;
  outcome.text = plan::print(schedule);
  outcome.report.set_json("schedule", plan::to_json(schedule));
  for (const Note& note : reasons) outcome.remarks += fmt::format("{}: note: {}\n", note.loc.str(), note.message);
  outcome.report.set("reasons", reasons);
  return outcome;
}

std::vector<Note> notes_of(const std::vector<place::Remark>& remarks) {
  std::vector<Note> notes;
  for (const place::Remark& remark : remarks) notes.push_back({remark.loc, remark.text});
  return notes;
}

/// The schedule that a planner makes, and why it is not what was asked for; nothing where nobody left it one to make.
std::optional<Outcome> planned(const ir::Kernel& kernel, const machine::Device& device, const std::string& planner) {
  planner::Options options{*planner::kind_of(planner), {}, {}};
  options.store = store::default_path();
  bool npu = device.target == machine::Target::npu;
  if (!npu && place::missing_features(kernel, device).has_errors()) return std::nullopt;
  const bool open = planner::is_open(kernel);
  if (npu) {
    auto made = planner::plan_on_npu(kernel, device, options);
    if (!open && (!made || made->derived.made.schedule.regions.empty())) return std::nullopt;
    if (!made) return failed(made.diagnostics());
    return deliver(made->derived.made.schedule, notes_of(made->derived.made.remarks));
  }
  auto made = planner::plan(kernel, device, options);
  // Loops that say what they want have a schedule that can be read, whether it can be carried out or not.
  if (!open && (!made || made->derived.schedule.regions.empty())) return std::nullopt;
  if (!made) return failed(made.diagnostics());
  return deliver(made->derived.schedule, notes_of(made->derived.remarks));
}

/// What does not fit the memories of an NPU; of other machines the planner knows.
Diagnostics memory_of_npu(const ir::Kernel& kernel, const plan::Schedule& schedule, const machine::Device& device,
                          bool by_rules) {
  bool npu = device.target == machine::Target::npu;
  return npu ? npu::check_memory(kernel, schedule, device, by_rules) : Diagnostics();
}

Outcome schedule(const ScheduleOptions& options) {
  refuse_roles(options.program, "schedule");
  lang::Bindings bindings = parse_assignments(options.program.bindings, "-D");
  auto session = load_kernel(options.program.path, options.program.kernel, bindings);
  if (!session) return failed(session.diagnostics());
  auto device = machine::load_device(options.device);
  if (!device) return failed(device.diagnostics());
  if (options.given.empty()) {
    if (auto made = planned(session->kernel, *device, options.planner)) return std::move(*made);
  }
  if (device->target == machine::Target::npu) {
    auto separated = npu::separate(session->kernel);
    if (!separated) return failed(separated.diagnostics());
    session->kernel = std::move(*separated);
  }
  if (options.given.empty()) {
    auto made = plan::plan_by_rules(session->kernel, *device);
    if (!made) return failed(made.diagnostics());
    if (Diagnostics full = memory_of_npu(session->kernel, made->schedule, *device, true); full.has_errors())
      return failed(full);
    made->schedule.place.work = pipeline::default_work(session->kernel, *device);
    // Where no other role loads, the instructions are said, too.
    if (!place::is_hopper(*device) && !place::missing_features(session->kernel, *device).has_errors()) {
      auto derived = pipeline::derive(session->kernel, *device);
      if (derived) made->schedule = std::move(derived->schedule);
    }
    return deliver(made->schedule, made->reasons);
  }
  auto given = read_schedule(options.given);
  if (!given) return failed(given.diagnostics());
  Diagnostics found = plan::check(*given, session->kernel, graph::build(session->kernel), *device);
  if (!found.has_errors()) found = memory_of_npu(session->kernel, *given, *device, false);
  return found.has_errors() ? failed(found) : deliver(*given, {});
}

}  // namespace

void add_schedule(CommandLine& line, Command& command) {
  Options sub = add_command(line, command, "schedule",
                            "Print the schedule of a kernel's pipelined loops, or check one that is given");
  auto options = std::make_shared<ScheduleOptions>();
  add_program_options(sub, command, options->program, true, "tile program");
  add_device(sub, "--device", options->device, "machine that it is for (default: h200)");
  add_planner_flag(sub, options->planner);
  sub.add("--schedule", options->given, "schedule to check and print: its text, or JSON where it ends in .json");
  sub.chosen([options, &command] { command.action = [options] { return schedule(*options); }; });
}

}  // namespace plait::cli
