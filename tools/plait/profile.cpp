#include <fmt/format.h>

#include <filesystem>

#include "cuda/library.h"
#include "device_program.h"
#include "explain/table.h"
#include "pipeline/assume.h"
#include "planner/tasks.h"
#include "profile/measure/measure.h"
#include "runtime/files.h"

namespace plait::cli {
namespace {

struct ProfileFlags {
  ProgramOptions program;
  std::string device = "h200", store, programs;
  std::vector<std::string> dims;
  bool again = false;
};

/// A task with what is known of it.
struct Profiled {
  std::string loop, task;
  profile::Isolated isolated;
  std::int64_t latency = 0, interval = 0;  ///< modelled
  std::optional<store::Measured> measured;
  bool is_new = false;
};

/// What the model says: the interval is that of the unit which is busy longest.
Profiled modelled(const planner::Tasks& tasks, std::size_t loop, std::size_t node) {
  const plan::TaskCost& cost = tasks.costs[loop].tasks[node];
  Profiled out;
  out.loop = graph::text_of(tasks.graphs[loop].loop);
  out.task = graph::text_of(tasks.graphs[loop].nodes[node].name);
  out.isolated = profile::isolate(tasks.base.program, tasks.graphs[loop], node);
  out.latency = cost.latency;
  for (const auto& [unit, busy] : cost.busy) out.interval = std::max(out.interval, busy);
  return out;
}

Result<cuda::Context> gpu_for(const machine::Device& device) {
  auto context = cuda::current_context();
  if (!context) return context;
  Diagnostics found = profile::check_gpu(*context, device);
  if (found.has_errors()) return found;
  return context;
}

/// Looks up what was measured before, and measures the rest, each kept at once.
Diagnostics measure(std::vector<Profiled>& tasks, const ProfileFlags& flags, const machine::Device& device,
                    const std::string& kernel) {
  auto store = store::Database::open(flags.store, store::Access::write);
  if (!store) return store.diagnostics();
  std::optional<cuda::Context> context;
  for (Profiled& task : tasks) {
    if (task.isolated.text.empty()) continue;
    auto known = store::find_measured(*store, device.name, task.isolated.text);
    if (!known) return known.diagnostics();
    task.measured = std::move(*known);
    if (task.measured && !flags.again) continue;
    if (!context) {
      auto found = gpu_for(device);
      if (!found) return found.diagnostics();
      context = std::move(*found);
    }
    auto measured = profile::measure(task.isolated, *context, device);
    if (!measured) return measured.diagnostics();
    measured->kernel = kernel;
    measured->task = task.task;
    Diagnostics kept = store::put_measured(*store, device.name, task.isolated.text, *measured);
    if (kept.has_errors()) return kept;
    task.measured = std::move(*measured);
    task.is_new = true;
  }
  return {};
}

/// One file a task that can be isolated.
Diagnostics write_programs(const std::vector<Profiled>& tasks, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const Profiled& task : tasks) {
    if (task.isolated.text.empty()) continue;
    std::string path = (std::filesystem::path(folder) / (task.task + ".roles")).string();
    auto staged = runtime::StagedFile::stage(path, {task.isolated.text});
    if (!staged) return staged.diagnostics();
    Diagnostics found = staged->commit();
    if (found.has_errors()) return found;
  }
  return {};
}

std::string cycles(double value) { return fmt::format("{:.0f}", value); }

Outcome deliver(const std::vector<Profiled>& tasks, const ProfileFlags& flags, const machine::Device& device) {
  Outcome outcome;
  explain::Table table({"loop", "task", "latency", "interval", "modelled", "registers", "shared", ""}, "llrrlrrl");
  std::vector<Report> reports;
  for (const Profiled& task : tasks) {
    Report one;
    one.set("loop", task.loop);
    one.set("task", task.task);
    one.set("modelled_latency", task.latency);
    one.set("modelled_interval", task.interval);
    std::string model = fmt::format("{}, {}", task.latency, task.interval), source;
    if (task.measured) {
      const store::Measured& m = *task.measured;
      one.set("latency", m.latency);
      one.set("interval", m.interval);
      one.set("registers", m.registers);
      one.set("shared_bytes", m.shared_bytes);
      one.set("gpu", m.gpu);
      one.set("measured_at", m.measured_at);
      one.set("new", task.is_new);
      source = task.is_new ? "measured" : fmt::format("known since {}", m.measured_at);
      table.add({task.loop, task.task, cycles(m.latency), cycles(m.interval), model, std::to_string(m.registers),
                 std::to_string(m.shared_bytes), source});
    } else {
      source = task.isolated.why_not.empty() ? "not measured" : "modelled: " + task.isolated.why_not;
      table.add({task.loop, task.task, "-", "-", model, "-", "-", source});
    }
    one.set("why_not", task.isolated.why_not);
    reports.push_back(std::move(one));
  }
  outcome.text = fmt::format("tasks on {}, cycles of a multiprocessor; modelled: latency, interval\n", device.name);
  outcome.text += table.text(2);
  if (flags.programs.empty()) outcome.text += fmt::format("kept in {}\n", flags.store);
  outcome.report.set("device", device.name);
  outcome.report.set("tasks", reports);
  return outcome;
}

Diagnostics not_on_a_gpu(const machine::Device& device) {
  std::string why = device.target == machine::Target::npu ? "planners ask its model what tasks cost"
                                                          : "loops run in order there, so that no planner asks";
  Diagnostics found;
  found.error(Rule::profile_device, {}, fmt::format("tasks are measured on GPUs, and {} is none: {}", device.name, why),
              "name a GPU's model, e.g. --device h200");
  return found;
}

Outcome profile_tasks(ProfileFlags flags) {
  refuse_roles(flags.program, "profile");
  auto session = load_kernel(flags.program.path, flags.program.kernel, parse_assignments(flags.program.bindings, "-D"));
  if (!session) return failed(session.diagnostics());
  auto device = machine::load_device(flags.device);
  if (!device) return failed(device.diagnostics());
  if (device->target != machine::Target::cuda) return failed(not_on_a_gpu(*device));
  auto dims = dims_of(flags.dims, "--dim");
  check_dims(session->kernel, dims);
  planner::Options planning;
  planning.assumptions = pipeline::assume(session->kernel, dims);
  planning.dims = dims;
  auto tasks = planner::tasks_of(session->kernel, *device, planning);
  if (!tasks) return failed(tasks.diagnostics());
  std::vector<Profiled> found;
  for (std::size_t loop = 0; loop < tasks->graphs.size(); ++loop) {
    for (std::size_t node = 0; node < tasks->graphs[loop].nodes.size(); ++node)
      found.push_back(modelled(*tasks, loop, node));
  }
  if (found.empty()) {
    Diagnostics nothing;
    nothing.error(Rule::place_operation, session->kernel.loc, "there is nothing to measure: no loop is pipelined",
                  "write `for k in pipelined(n):`");
    return failed(nothing);
  }
  Diagnostics failure;
  if (!flags.programs.empty()) {
    failure = write_programs(found, flags.programs);
  } else {
    if (flags.store.empty()) flags.store = store::default_path();
    if (flags.store.empty()) throw UsageError{"--store PATH: there is no place to keep what is measured"};
    failure = measure(found, flags, *device, session->kernel_name);
  }
  return failure.has_errors() ? failed(failure) : deliver(found, flags, *device);
}

}  // namespace

void add_profile(CommandLine& line, Command& command) {
  Options sub =
      add_command(line, command, "profile",
                  "Measure each task of a kernel's pipelined loops alone on this machine's GPU, for planning");
  auto flags = std::make_shared<ProfileFlags>();
  add_program_options(sub, command, flags->program, true, "tile program");
  add_device(sub, "--device", flags->device, "machine model of this machine's GPU (default: h200)");
  add_assignments(sub, "--dim", flags->dims, "value of a dim, as far as calls are known, e.g. --dim M=4096");
  sub.flag("--again", flags->again, "measure also what was measured before");
  sub.add("--store", flags->store,
          "file in which it is kept (default: PLAIT_STORE, else plait/store.sqlite in the user's cache)");
  sub.add("--programs", flags->programs, "measure nothing: write the role program of each task into this folder");
  sub.chosen([flags, &command] { command.action = [flags] { return profile_tasks(*flags); }; });
}

}  // namespace plait::cli
