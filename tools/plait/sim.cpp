#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sys/resource.h>

#include <charconv>
#include <fstream>
#include <limits>
#include <new>

#include "device_program.h"
#include "interp/interp.h"
#include "roles/signature.h"
#include "run_reference.h"
#include "run_timeout.h"
#include "runtime/compare.h"
#include "runtime/eval.h"
#include "runtime/files.h"
#include "sim/mutate.h"
#include "sim/occupancy.h"

namespace plait::cli {
namespace {

struct SimFlags {
  ProgramOptions program;
  std::vector<std::string> dims, scalars, inputs, sizes;
  std::string device, schedule, reference, planner = "auto";
  std::uint64_t seed = 0;
  std::uint64_t interleavings = 1;
  int sms = 0;
  double timeout = 0;  ///< seconds; 0: no limit
  bool mutate = false;
  bool time_only = false;
};

using Dims = std::map<std::string, std::int64_t>;

/// The dims of each call: those of --dim, then each --size, which overrules some of them.
std::vector<Dims> sizes_of(const SimFlags& flags) {
  std::vector<Dims> all = {dims_of(flags.dims, "--dim")};
  for (const std::string& size : flags.sizes) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= size.size();) {
      std::size_t end = std::min(size.find(',', begin), size.size());
      parts.push_back(size.substr(begin, end - begin));
      begin = end + 1;
    }
    Dims dims = all[0];
    for (const auto& [name, value] : dims_of(parts, "--size")) dims[name] = value;
    all.push_back(std::move(dims));
  }
  return all;
}

/// A program that is to be simulated.
struct Loaded {
  roles::Program program;
  sim::Options options;
  std::string device;              ///< the machine model's name
  Session session;                 ///< its parameters as those of a kernel, for inputs and references
  std::optional<ir::Kernel> tile;  ///< the tile program that it was derived from
};

Result<Loaded> load(const SimFlags& flags, const Dims& dims) {
  lang::Bindings bindings = parse_assignments(flags.program.bindings, "-D");
  auto read = load_device_program(flags.program, {flags.device, flags.schedule, flags.planner}, dims);
  if (!read) return read.diagnostics();
  roles::Program* program = &read->program;
  const machine::Device* device = &read->device;
  sim::Options options;
  options.costs = sim::costs_of(*device);
  options.occupancy = sim::resident_blocks(*program, *device);
  std::string reference = flags.reference.empty() ? program->name : flags.reference;
  Session session{std::move(read->file), reference, bindings, roles::call_signature(*program)};
  std::optional<ir::Kernel> tile;
  if (read->derived || read->npu) tile = read->tile;
  std::string name = device->name;
  return Loaded{std::move(*program), options, std::move(name), std::move(session), std::move(tile)};
}

/// One call with its inputs.
struct Prepared {
  RunData data;
  Before before;
  sim::Call call;
};

Result<Prepared> prepare(const Loaded& loaded, const SimFlags& flags, const Dims& dims) {
  RunRequest request;
  request.path = flags.program.path;
  request.dims = dims;
  request.scalars = parse_assignments(flags.scalars, "--scalar");
  request.inputs = parse_assignments(flags.inputs, "--input");
  request.seed = flags.seed;
  auto data = prepare_run(loaded.session.kernel, request);
  if (!data) return data.diagnostics();
  Prepared prepared{std::move(*data), {}, {}};
  prepared.before = remember(prepared.data);
  for (const runtime::HostTensor& tensor : prepared.data.tensors) prepared.call.tensors.push_back(tensor.clone());
  prepared.call.args = rebound(prepared.data.bound, prepared.call.tensors);
  return prepared;
}

/// While it lives the process gets no more memory than the machine has left: an allocation beyond that throws, rather
/// than that the system ends the process.
class MemoryLimit {
 public:
  MemoryLimit() {
    std::ifstream status("/proc/self/status");
    std::string key;
    std::int64_t kib = 0;
    while (status >> key) {
      if (key == "VmData:" && status >> kib) break;
      status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    if (kib == 0 || ::getrlimit(RLIMIT_DATA, &given_) != 0) return;
    auto left = static_cast<rlim_t>(kib * 1024 + runtime::available_memory());
    rlimit limit{std::min(given_.rlim_cur, left), given_.rlim_max};
    set_ = ::setrlimit(RLIMIT_DATA, &limit) == 0;
  }
  ~MemoryLimit() {
    if (set_) ::setrlimit(RLIMIT_DATA, &given_);
  }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit given_{};
  bool set_ = false;
};

// ---- Reports -------------------------------------------------------------------------------------------------------

void describe(const Loaded& loaded, const ir::BoundArgs& args, int sms, Outcome& outcome, Report& report) {
  std::vector<std::string> parts;
  Report dims;
  for (std::size_t i = 0; i < loaded.program.dims.size(); ++i) {
    dims.set(loaded.program.dims[i]->name, args.dims[i]);
    parts.push_back(fmt::format("{}={}", loaded.program.dims[i]->name, args.dims[i]));
  }
  report.set("dims", dims);
  outcome.text += fmt::format("program  {} on {}, {} multiprocessors\n", loaded.program.name, loaded.device, sms);
  if (!parts.empty()) outcome.text += fmt::format("dims     {}\n", fmt::join(parts, " "));
}

void describe_time(const Loaded& loaded, const sim::Outcome& run, Outcome& outcome, Report& report) {
  double us = static_cast<double>(run.cycles) / loaded.options.costs.clock_mhz;
  outcome.text += fmt::format("blocks   {} of {} threads, {} bytes of shared memory, on {} multiprocessors\n",
                              run.blocks, run.threads, run.smem_bytes, run.sms);
  outcome.text +=
      fmt::format("time     {} cycles, {:.1f} us at {:.0f} MHz\n", run.cycles, us, loaded.options.costs.clock_mhz);
  report.set("blocks", run.blocks);
  report.set("cycles", run.cycles);
  report.set("microseconds", us);
  Report busy;
  std::vector<std::string> parts;
  for (const sim::UnitUse& unit : run.units) {
    double share = sim::share_of(unit, run);
    busy.set(unit.name, share);
    parts.push_back(fmt::format("{} {:.1f} %", unit.name, 100 * share));
  }
  report.set("busy", busy);
  outcome.text += fmt::format("busy     {}\n", fmt::join(parts, ", "));
}

/// Time alone, of a call of any size.
void time_call(const Loaded& loaded, const SimFlags& flags, const Dims& dims, const Command& command, Outcome& outcome,
               Report& report) {
  auto call = sim::BlankCall::make(loaded.program, dims, scalar_values(loaded.program.params, flags.scalars));
  if (!call) return outcome.diagnostics.append(call.diagnostics());
  MemoryLimit memory;  // the tensors take none
  int sms = flags.sms > 0 ? flags.sms : loaded.options.costs.sms;
  describe(loaded, call->args(), sms, outcome, report);
  say_now(command, outcome);
  auto launch = sim::make_launch(loaded.program, call->args(), sms);
  if (!launch) return outcome.diagnostics.append(launch.diagnostics());
  sim::Options options = loaded.options;
  options.checks = false;
  options.max_steps = std::int64_t{1} << 40;
  sim::Outcome run = sim::simulate(loaded.program, *launch, options);
  outcome.diagnostics.append(run.diagnostics);
  if (outcome.diagnostics.has_errors()) return;
  describe_time(loaded, run, outcome, report);
}

void compare_tensor(const ir::Param& param, const ir::TensorView& got, const std::vector<double>& want, double limit,
                    const std::string& with, Outcome& outcome, std::vector<Report>& comparisons) {
  const std::string& name = param.buffer->name;
  runtime::Comparison c = runtime::compare(got, want, limit);
  outcome.text += fmt::format("error    {} against {}: {:.3g} at most, {:.3g} of the tensor's size (limit {:.3g})\n",
                              name, with, c.max_abs_err, c.max_rel_err, c.limit);
  Report entry;
  entry.set("tensor", name);
  entry.set("max_abs_err", c.max_abs_err);
  entry.set("max_rel_err", c.max_rel_err);
  entry.set("limit", c.limit);
  comparisons.push_back(std::move(entry));
  if (c.ok()) return;
  outcome.diagnostics.error(
      Rule::result_mismatch, param.buffer->loc,
      fmt::format("{} of {} elements of {} differ from the {}; the worst, [{}], is {} and shall be {}", c.failures,
                  c.elements, name, with == "the interpreter" ? "interpreter" : "reference",
                  fmt::join(runtime::index_of(c.worst, got.shape), ", "), c.worst_got, c.worst_want),
      "correct the program: its schedule is sound, its values are not");
}

/// Extents of a tile program's grid, which its role program does without.
std::vector<std::int64_t> grid_of(const ir::Kernel& kernel, const ir::BoundArgs& args) {
  runtime::Env env;
  for (std::size_t i = 0; i < kernel.dims.size(); ++i) env[kernel.dims[i].get()] = runtime::int_value(args.dims[i]);
  std::size_t scalar = 0;
  for (const ir::Param& param : kernel.params) {
    if (param.scalar == nullptr) continue;
    env[param.scalar.get()] = args.scalars[scalar++];
  }
  std::vector<std::int64_t> grid;
  for (const ir::GridAxis& axis : kernel.grid) {
    runtime::Evaluated extent = runtime::evaluate(*axis.extent, env);
    grid.push_back(extent.value ? std::max<std::int64_t>(extent.value->i, 0) : 0);
  }
  return grid;
}

/// Compares with what the interpreter makes of the tile program.
void compare_with_interpreter(const Loaded& loaded, const Prepared& prepared, const sim::Trial& trial, Outcome& outcome,
                              Report& report) {
  std::vector<runtime::HostTensor> tensors;
  for (const runtime::HostTensor& tensor : prepared.call.tensors) tensors.push_back(tensor.clone());
  ir::BoundArgs args = rebound(prepared.call.args, tensors);
  args.grid = grid_of(*loaded.tile, args);
  Diagnostics found = interp::interpret(*loaded.tile, args);
  if (found.has_errors()) return outcome.diagnostics.append(found);
  std::vector<Report> comparisons;
  for (std::size_t i = 0; i < prepared.data.params.size(); ++i) {
    const ir::Param& param = *prepared.data.params[i];
    if (param.kind == ir::ParamKind::in) continue;
    compare_tensor(param, trial.tensors[i].view(), runtime::to_doubles(tensors[i].view()),
                   runtime::default_tolerance(runtime::coarsest_rounding(*loaded.tile, param.buffer->type)),
                   "the interpreter", outcome, comparisons);
  }
  report.set("comparisons", comparisons);
}

/// Compares the outputs with the reference of --reference, or of the program's own name where there is one.
void compare(const Loaded& loaded, const SimFlags& flags, const Prepared& prepared, const sim::Trial& trial,
             Outcome& outcome, Report& report) {
  const reference::Reference* reference = matching_reference(loaded.session);
  if (reference == nullptr) {
    if (!flags.reference.empty()) {
      outcome.diagnostics.error(Rule::sim_reference, loaded.program.loc,
                                fmt::format("there is no reference '{}' for these tensors", flags.reference));
      return;
    }
    if (loaded.tile) return compare_with_interpreter(loaded, prepared, trial, outcome, report);
    outcome.text += fmt::format("values   not compared: there is no reference '{}'; --reference names another\n",
                                loaded.program.name);
    report.set("comparisons", std::vector<Report>{});
    return;
  }
  std::map<std::string, std::vector<double>> values;
  reference->run(reference_call(loaded.session, prepared.data, prepared.before, values, true));
  std::vector<Report> comparisons;
  for (std::size_t i = 0; i < prepared.data.params.size(); ++i) {
    const ir::Param& param = *prepared.data.params[i];
    if (param.kind == ir::ParamKind::in) continue;
    ir::DType type = param.buffer->type;
    auto own = reference->tolerance.find(std::string(ir::dtype_name(type)));
    ir::DType rounded = loaded.tile ? runtime::coarsest_rounding(*loaded.tile, type) : type;
    double limit = own != reference->tolerance.end() ? own->second : runtime::default_tolerance(rounded);
    const std::string& name = param.buffer->name;
    compare_tensor(param, trial.tensors[i].view(), values.at(name), limit, reference->kernel + " in f64", outcome,
                   comparisons);
  }
  report.set("comparisons", comparisons);
}

/// Runs one call under all interleavings.
void run_call(const Loaded& loaded, const SimFlags& flags, const Dims& dims, const Command& command, Outcome& outcome,
              Report& report) {
  auto prepared = prepare(loaded, flags, dims);
  if (!prepared) return outcome.diagnostics.append(prepared.diagnostics());
  int sms = flags.sms > 0 ? flags.sms : loaded.options.costs.sms;
  describe(loaded, prepared->data.bound, sms, outcome, report);
  say_now(command, outcome);
  std::optional<sim::Trial> first;
  for (std::uint64_t i = 0; i < flags.interleavings; ++i) {
    sim::Options options = loaded.options;
    options.interleaving = i;
    auto trial = sim::run_trial(loaded.program, prepared->call, sms, options);
    if (!trial) return outcome.diagnostics.append(trial.diagnostics());
    outcome.diagnostics.append(trial->outcome.diagnostics);
    if (outcome.diagnostics.has_errors()) return;
    int differs = first ? sim::first_difference(*first, *trial) : -1;
    if (differs >= 0) {
      outcome.diagnostics.error(Rule::sim_seeds, loaded.program.loc,
                                fmt::format("interleaving {} gives other bytes of {} than interleaving 0", i,
                                            prepared->data.params[static_cast<std::size_t>(differs)]->buffer->name));
      return;
    }
    if (!first) first = std::move(*trial);
  }
  if (!first) return;
  describe_time(loaded, first->outcome, outcome, report);
  if (flags.interleavings > 1)
    outcome.text += fmt::format("bytes    the same in {} interleavings\n", flags.interleavings);
  report.set("interleavings", static_cast<std::int64_t>(flags.interleavings));
  compare(loaded, flags, *prepared, *first, outcome, report);
}

std::string_view word(sim::Verdict verdict) {
  switch (verdict) {
    case sim::Verdict::caught:
      return "caught";
    case sim::Verdict::redundant:
      return "redundant";
    case sim::Verdict::unreached:
      return "unreached";
    case sim::Verdict::missed:
      return "missed";
  }
  return {};
}

void describe_mutants(const sim::MutationReport& found, Outcome& outcome) {
  std::vector<Report> all;
  for (const sim::MutantResult& result : found.results) {
    Report entry;
    entry.set("mutant", result.what);
    entry.set("line", std::int64_t{result.loc.line});
    entry.set("verdict", std::string(word(result.verdict)));
    bool caught = result.verdict == sim::Verdict::caught;
    if (caught) entry.set("rule", std::string(rule_name(result.rule)));
    all.push_back(std::move(entry));
    if (!caught)
      outcome.text += fmt::format("{:10} line {:<4} {}\n", word(result.verdict), result.loc.line, result.what);
    if (result.verdict == sim::Verdict::missed)
      outcome.diagnostics.error(Rule::sim_missed, result.loc, fmt::format("not noticed: {}", result.what));
  }
  if (found.results.empty())
    outcome.text += "deletion test: the program has no synchronisation, there is nothing to remove\n";
  int caught = found.count(sim::Verdict::caught), redundant = found.count(sim::Verdict::redundant);
  int missed = found.count(sim::Verdict::missed), unreached = found.count(sim::Verdict::unreached);
  if (!found.results.empty()) {
    outcome.text += fmt::format("deletion test: caught {}, redundant {}, missed {} of {}", caught, redundant, missed,
                                found.results.size());
    outcome.text += unreached > 0 ? fmt::format("; {} not reached by these calls\n", unreached) : "\n";
  }
  outcome.report.set("caught", std::int64_t{caught});
  outcome.report.set("redundant", std::int64_t{redundant});
  outcome.report.set("missed", std::int64_t{missed});
  outcome.report.set("unreached", std::int64_t{unreached});
  outcome.report.set("mutants", all);
}

void mutate(const Loaded& loaded, const SimFlags& flags, Outcome& outcome) {
  std::vector<sim::Call> calls;
  for (const Dims& dims : sizes_of(flags)) {
    auto prepared = prepare(loaded, flags, dims);
    if (!prepared) return outcome.diagnostics.append(prepared.diagnostics());
    calls.push_back(std::move(prepared->call));
  }
  sim::MutationOptions options;
  options.simulation = loaded.options;
  options.sms = {loaded.program.cluster, 2 * loaded.program.cluster};
  if (flags.sms > 0) options.sms = {flags.sms};
  if (flags.interleavings > 1) options.interleavings = flags.interleavings;
  auto report = sim::test_mutants(loaded.program, calls, options);
  if (!report) return outcome.diagnostics.append(report.diagnostics());
  describe_mutants(*report, outcome);
}

/// Simulates every call that is asked for. A tile program is made into the role program that suits the call's extents.
void run_calls(const Loaded& first, const SimFlags& flags, const Command& command, Outcome& outcome) {
  std::vector<Report> runs;
  for (const Dims& dims : sizes_of(flags)) {
    Report report;
    std::optional<Loaded> own;
    if (first.tile && !runs.empty()) {
      auto loaded = load(flags, dims);
      if (!loaded) return outcome.diagnostics.append(loaded.diagnostics());
      own = std::move(*loaded);
    }
    const Loaded& loaded = own ? *own : first;
    if (flags.time_only) {
      time_call(loaded, flags, dims, command, outcome, report);
    } else {
      run_call(loaded, flags, dims, command, outcome, report);
    }
    runs.push_back(std::move(report));
    if (outcome.diagnostics.has_errors()) break;
  }
  outcome.report.set("runs", runs);
}

/// Options that would say nothing are refused.
void check_use(const SimFlags& flags) {
  if (flags.mutate && flags.time_only)
    throw UsageError{"--mutate: it compares values, which --time-only leaves out; give one of the two"};
  if (!flags.reference.empty() && reference::find_reference(flags.reference) == nullptr)
    throw UsageError{fmt::format(
        "--reference: there is no reference '{}'; they have the names of the kernels in kernels/", flags.reference)};
  if (flags.mutate && !flags.reference.empty())
    throw UsageError{"--reference: --mutate compares with the program itself"};
  if (!flags.time_only) return;
  const char* what = flags.interleavings > 1    ? "--seeds"
                     : !flags.reference.empty() ? "--reference"
                     : !flags.inputs.empty()    ? "--input"
                                                : nullptr;
  if (what != nullptr) throw UsageError{fmt::format("{}: --time-only computes no values", what)};
}

Outcome simulate(const SimFlags& flags, const Command& command) {
  check_use(flags);
  Outcome outcome;
  auto loaded = load(flags, sizes_of(flags).front());
  if (!loaded) return failed(loaded.diagnostics());
  const roles::Program& program = loaded->program;
  outcome.report.set("program", program.name);
  Timeout timeout(flags.timeout, command,
                  too_late("the simulation", flags.timeout, program.loc, outcome,
                           "correct a loop that does not end, simulate smaller dims, or allow more with --timeout"));
  Notice notice(
      fmt::format("plait: note: the simulation of {} goes on, a statement of a warp at a time; smaller dims "
                  "are faster, and --timeout SECONDS ends it\n",
                  program.name));
  try {
    std::optional<MemoryLimit> memory;
    if (!flags.time_only) memory.emplace();
    flags.mutate ? mutate(*loaded, flags, outcome) : run_calls(*loaded, flags, command, outcome);
  } catch (const std::bad_alloc&) {
    outcome.diagnostics.error(Rule::out_of_memory, program.loc, "the simulation needs more memory than the machine has",
                              "simulate smaller dims, or time alone: --time-only");
  }
  timeout.stop();
  return outcome;
}

}  // namespace

void add_sim(CommandLine& line, Command& command) {
  Options sub = add_command(line, command, "sim", "Simulate a tile or role program: values, races, deadlocks, time");
  auto flags = std::make_shared<SimFlags>();
  add_program_options(sub, command, flags->program);
  add_device(sub, "--device", flags->device,
             "machine model that gives the costs, and that a tile program is for (default: that of the program, h200)");
  sub.add("--schedule", flags->schedule,
          "schedule of a tile program (default: what the author wrote, else a planner's)");
  add_planner_flag(sub, flags->planner);
  add_assignments(sub, "--dim", flags->dims, "value of a dim, e.g. --dim M=128");
  sub.add("--size", flags->sizes, "simulate again with these dims changed, e.g. --size M=64,K=320")
      .type_name("NAME=VALUE,...")
      .repeated();
  add_assignments(sub, "--scalar", flags->scalars, "value of a scalar argument, e.g. --scalar scale=0.5");
  add_assignments(sub, "--input", flags->inputs, "tensor from a .npy file; the others are drawn");
  sub.add("--seed", flags->seed, "seed of drawn inputs (default 0)")
      .check(integer_check(0, std::numeric_limits<std::uint64_t>::max()));
  sub.add("--seeds", flags->interleavings, "interleavings to run; all must give the same bytes (default 1)")
      .check(integer_check(1, 10'000));
  sub.add("--sms", flags->sms, "multiprocessors (default: those of the machine)").check(integer_check(1, 4096));
  sub.add("--reference", flags->reference,
          "compare with this kernel's reference in f64 (default: the program's own, where there is one)");
  add_seconds(sub, "--timeout", flags->timeout,
              "time for the whole simulation (default 0: no limit); then it ends with an error");
  sub.flag("--mutate", flags->mutate,
           "remove or weaken each synchronisation in turn: it must be noticed, or be redundant");
  sub.flag("--time-only,--time", flags->time_only,
           "time alone, for calls of full size: no values are computed and nothing is checked");
  sub.chosen([flags, &command] { command.action = [flags, &command] { return simulate(*flags, command); }; });
}

}  // namespace plait::cli
