#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>

#include "interp/interp.h"
#include "interp/reproducer.h"
#include "machine/load.h"
#include "roles/parse.h"
#include "run_bench.h"
#include "run_outputs.h"
#include "run_quiet.h"
#include "run_roles.h"
#include "run_timeout.h"
#include "runtime/executor.h"
#include "runtime/files.h"
#include "runtime/npy.h"

namespace plait::cli {
namespace {

/// The options as CLI11 fills them in.
struct RunFlags {
  ProgramOptions program;
  std::vector<std::string> dims, inputs, outputs, dtypes, scalars;
  RunRequest request;
  bool no_checks = false;
  RolesFlags roles;
  DeviceFlags target;
};

std::map<std::string, ir::DType> parse_dtypes(const std::vector<std::string>& texts) {
  std::map<std::string, ir::DType> types;
  for (const auto& [name, text] : parse_assignments(texts, "--dtype")) {
    auto type = ir::dtype_from_name(text);
    if (!type) throw UsageError{fmt::format("--dtype {}: there is no type '{}'", name, text)};
    types[name] = *type;
  }
  return types;
}

/// Each output has a file of its own, however it is spelled, and none replaces the program or the input of another
/// tensor.
void check_output_files(const RunRequest& request) {
  auto identity = [](const std::string& path) {
    std::error_code error;
    auto resolved = std::filesystem::weakly_canonical(path, error);
    return error ? path : resolved.string();
  };
  std::set<std::string> files;
  for (const auto& [name, path] : request.outputs) {
    std::string file = identity(path);
    // A device such as /dev/null may take several tensors.
    if (std::error_code error; std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error))
      continue;
    if (file == identity(request.path)) throw UsageError{fmt::format("--output: {} is the program itself", path)};
    for (const auto& [input, given] : request.inputs) {
      if (input != name && file == identity(given))
        throw UsageError{
            fmt::format("--output: {} is the file of input {}; name another, so that it is kept", path, input)};
    }
    if (!files.insert(file).second) throw UsageError{fmt::format("--output: {} is named for two tensors", path)};
  }
}

RunRequest make_request(const RunFlags& flags) {
  RunRequest request = flags.request;
  request.path = flags.program.path;
  request.kernel = flags.program.kernel;
  request.bindings = parse_assignments(flags.program.bindings, "-D");
  request.dims = dims_of(flags.dims, "--dim");
  request.inputs = parse_assignments(flags.inputs, "--input");
  request.outputs = parse_assignments(flags.outputs, "--output");
  request.dtypes = parse_dtypes(flags.dtypes);
  request.scalars = parse_assignments(flags.scalars, "--scalar");
  request.checks = !flags.no_checks;
  check_output_files(request);
  return request;
}

/// The kernel on its device, ready to run as often as is wanted. The kernel outlives the runner.
Result<Runner> make_runner(const ir::Kernel& kernel, const RunRequest& request, std::vector<Note>& slow_paths) {
  if (request.device == "interp") {
    interp::Options options;
    options.print = [](const std::string& line) { fmt::print("{}\n", line); };
    options.max_seconds = std::max(request.interpreter_seconds, 1e-9);  // 0 would be no limit
    // A verification looks for itself, and leaves a reproducer.
    options.whole_outputs = !request.verify;
    return Runner([&kernel, options](const ir::BoundArgs& args) { return interp::interpret(kernel, args, options); });
  }
  cpu::Options options;
  options.checks = request.checks;
  auto code = cpu::compile(kernel, options);
  if (!code) return code.diagnostics();
  slow_paths = code->slow_paths;
  runtime::RunOptions run_options{runtime::shared_byte_output(kernel) != nullptr ? 1 : request.threads};
  return Runner([code = std::move(*code), run_options](const ir::BoundArgs& args) {
    return runtime::execute(code, args, run_options);
  });
}

/// The kernel ready for its first run, and for repetitions, in which `print` says nothing.
struct Runners {
  Runner first, again;
};

Result<Runners> make_runners(const Session& session, const RunRequest& request, const ir::Kernel& quiet,
                             std::string& remarks) {
  std::vector<Note> slow_paths, ignored;
  auto first = make_runner(session.kernel, request, slow_paths);
  if (!first) return first.diagnostics();
  bool repeats = request.verify || request.bench;
  auto again = repeats && has_prints(session.kernel) ? make_runner(quiet, request, ignored) : first;
  if (!again) return again.diagnostics();
  for (const Note& note : slow_paths) remarks += fmt::format("{}: note: {}\n", note.loc.str(), note.message);
  const ir::BufferDecl* packed = runtime::shared_byte_output(session.kernel);
  if (packed != nullptr && request.device != "interp") {
    remarks +=
        fmt::format("{}: note: blocks run on one thread: two of them may write elements of '{}' that share a byte\n",
                    packed->loc.str(), packed->name);
  }
  return Runners{std::move(*first), std::move(*again)};
}

void bench(const Session& session, RunData& data, const Before& before, const Runner& runner, Outcome& outcome) {
  Measurement m = measure_run(session, data, before, runner);
  outcome.diagnostics.append(m.diagnostics);
  if (m.diagnostics.has_errors()) return;
  outcome.report.set("median_ms", m.median_ms);
  outcome.report.set("repetitions", m.repetitions);
  outcome.report.set("gflops", m.gflops);
  outcome.report.set("gbs", m.gbs);
  outcome.text += fmt::format("bench    {:.3f} ms median of {}", m.median_ms, m.repetitions);
  if (m.gflops) outcome.text += fmt::format(", {:.2f} GFLOP/s", *m.gflops);
  if (m.gbs) outcome.text += fmt::format(", {:.2f} GB/s", *m.gbs);
  outcome.text += "\n";
}

/// FNV-1a.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

/// The file for a failure: the same one whenever the same program fails on the same arguments.
std::string reproducer_path(const ir::Kernel& kernel, interp::FailedRun failure, const std::string& folder) {
  failure.problem.clear();
  std::uint64_t hash = hash_of(interp::reproducer_text(kernel, failure, ""));
  return (std::filesystem::path(folder) / fmt::format("{}-{:016x}.tile", kernel.name, hash)).string();
}

/// Whether a verification found a fault, rather than that it could not be made.
bool found_fault(const Diagnostics& diagnostics) {
  const auto& list = diagnostics.list();
  return std::any_of(list.begin(), list.end(), [](const Diagnostic& d) {
    return d.rule != Rule::verify_too_large && d.rule != Rule::time_limit;
  });
}

/// Leaves one file that repeats the failure, and names it.
Diagnostics leave_reproducer(const Session& session, const RunRequest& request, const RunData& data,
                             const Diagnostics& found, Outcome& outcome) {
  interp::FailedRun failure;
  failure.problem = found.render();
  for (std::size_t i = 0; i < session.kernel.dims.size(); ++i) {
    failure.dims[session.kernel.dims[i]->name] = data.bound.dims[i];
  }
  failure.seed = request.seed;
  failure.options = {"--device", request.device, "--verify"};
  auto add = [&](const char* flag, const std::string& text) {
    failure.options.insert(failure.options.end(), {flag, text});
  };
  for (const auto& [name, text] : request.scalars) add("--scalar", name + "=" + text);
  for (const auto& [name, path] : request.inputs) add("--input", name + "=" + path);
  for (const auto& [name, type] : request.dtypes) add("--dtype", fmt::format("{}={}", name, ir::dtype_name(type)));
  if (!request.checks) failure.options.emplace_back("--no-checks");
  std::string path = reproducer_path(session.kernel, failure, request.reproducer_folder);
  std::error_code ignored;  // writing the file tells what is wrong with the folder
  std::filesystem::create_directories(request.reproducer_folder, ignored);
  Diagnostics written = interp::write_reproducer(session.kernel, failure, path);
  if (written.has_errors()) return written;
  outcome.remarks += fmt::format("reproducer: {}\n", path);
  outcome.report.set("reproducer", path);
  return {};
}

/// A grid without blocks writes nothing: outputs that have elements would go out as they were allocated.
Diagnostics outputs_of_no_block(const RunData& data) {
  Diagnostics found;
  const auto& grid = data.bound.grid;
  if (std::find(grid.begin(), grid.end(), 0) == grid.end()) return found;
  for (std::size_t i = 0; i < data.params.size(); ++i) {
    const ir::Param& param = *data.params[i];
    const auto& shape = data.bound.tensors[i].shape;
    bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
    if (param.kind == ir::ParamKind::out && !empty)
      found.error(Rule::output_unwritten, param.buffer->loc,
                  fmt::format("the grid has no blocks, and '{}' has elements", param.buffer->name));
  }
  return found;
}

/// Runs, verifies and measures; the outputs that are ready to be put in their places.
Result<std::vector<runtime::StagedFile>> run_kernel(const Session& session, const RunRequest& request,
                                                    const Command& command, Outcome& outcome) {
  auto prepared = prepare_run(session.kernel, request);
  if (!prepared) return prepared.diagnostics();
  RunData& data = *prepared;
  describe(session, request, data, outcome);
  say_now(command, outcome);
  const ir::Kernel quiet = without_prints(session.kernel);
  auto runners = make_runners(session, request, quiet, outcome.remarks);
  if (!runners) return runners.diagnostics();
  Before before = remember(data);
  Diagnostics failure = runners->first(data.bound);
  if (failure.has_errors()) return failure;
  if (Diagnostics unwritten = outputs_of_no_block(data); unwritten.has_errors()) return unwritten;
  if (request.verify) {
    Verification v = verify_run(session, request, data, before, runners->again);
    outcome.text += v.text;
    outcome.report.set("comparisons", v.comparisons);
    outcome.report.set("max_abs_err", v.max_abs_err);
    outcome.report.set("max_rel_err", v.max_rel_err);
    Diagnostics& found = v.diagnostics;
    if (found_fault(found)) found.append(leave_reproducer(session, request, data, found, outcome));
    if (found.has_errors()) return found;
  }
  auto files = stage_outputs(request, data);
  if (!files) return files.diagnostics();
  if (request.bench) bench(session, data, before, runners->again, outcome);
  return files;
}

/// Options that would say nothing are refused.
void check_use(const RunFlags& flags, bool for_gpu) {
  const RolesFlags& roles = flags.roles;
  if (!roles.reference.empty()) {
    if (reference::find_reference(roles.reference) == nullptr)
      throw UsageError{
          fmt::format("--reference: there is no reference '{}'; they have the names of the kernels in "
                      "kernels/",
                      roles.reference)};
    if (!flags.request.verify) throw UsageError{"--reference: it says what --verify compares with, which is not given"};
  }
  if (for_gpu) {
    if (flags.no_checks) throw UsageError{"--no-checks: code for GPUs has no run-time checks"};
    return;
  }
  const char* what = !flags.target.schedule.empty() ? "--schedule"
                     : !roles.architecture.empty()  ? "--arch"
                     : roles.allow_serialized       ? "--allow-serialized"
                     : !roles.reference.empty()     ? "--reference"
                                                    : nullptr;
  if (what != nullptr)
    throw UsageError{fmt::format("{}: it is for GPUs, and the run is on {}; name a GPU, e.g. --device h200", what,
                                 flags.request.device)};
}

Outcome run(const RunFlags& flags, const Command& command) {
  RunRequest request = make_request(flags);
  bool for_gpu = holds_roles(request.path) || (request.device != "host" && request.device != "interp");
  check_use(flags, for_gpu);
  request.announce = [&command](const std::string& line) {
    Outcome now;
    now.text = line;
    say_now(command, now);
  };
  for (const auto& [name, path] : request.outputs) {
    Diagnostics found = runtime::StagedFile::check(path);
    if (found.has_errors()) return failed(found);
  }
  if (for_gpu) return run_roles(std::move(request), flags.target, flags.roles, command);
  Outcome outcome;
  set_defaults(outcome.report, request);
  auto session = load_kernel(request.path, request.kernel, request.bindings);
  if (!session) {
    outcome.diagnostics = session.diagnostics();
    return outcome;
  }
  outcome.report.set("kernel", session->kernel_name);
  std::string what = fmt::format("the run of kernel {} on {}", session->kernel_name, request.device);
  Timeout timeout(request.timeout, command, too_late(what, request.timeout, session->kernel.loc, outcome));
  auto files = run_kernel(*session, request, command, outcome);
  timeout.stop();
  if (!files) outcome.diagnostics.append(files.diagnostics());
  if (files && !outcome.diagnostics.has_errors()) commit_outputs(*files, outcome);
  return outcome;
}

std::string check_device(const std::string& text) {
  if (machine::is_model_path(text)) return "";
  std::vector<std::string> known = {"host", "interp"};
  for (const std::string& name : machine::device_names()) {
    auto model = machine::load_device(name);
    if (model && model->target == machine::Target::cuda) known.push_back(name);
    if (model && model->target == machine::Target::npu && name == text)
      return fmt::format("{0} is a target of planning and simulation; `plait sim FILE --device {0}` simulates", name);
  }
  if (std::find(known.begin(), known.end(), text) != known.end()) return "";
  return fmt::format("there is no device '{}'; the devices are {}, or PATH.json, a GPU's model of your own", text,
                     fmt::join(known, ", "));
}

}  // namespace

void add_run(CommandLine& line, Command& command) {
  Options sub = add_command(line, command, "run", "Run a kernel: .npy in, .npy out, verified and timed on request");
  auto flags = std::make_shared<RunFlags>();
  add_program_options(sub, command, flags->program);
  sub.add(
         "--device", flags->request.device,
         "device to run on: host (default), interp, or a GPU by its model, e.g. h200 or PATH.json; see `plait devices`")
      .check(check_device);
  add_assignments(sub, "--dim", flags->dims, "value of a dim that no input gives, e.g. --dim M=1000");
  add_assignments(
      sub, "--input", flags->inputs,
      "tensor from a .npy file; tensors that are not given are drawn: floats standard normal, integers small");
  add_assignments(sub, "--output", flags->outputs, "write a tensor to a .npy file, once the run has succeeded");
  add_assignments(sub, "--dtype", flags->dtypes,
                  "type of the raw bits in an input file, e.g. --dtype A=bf16 (stored as u2)");
  add_assignments(sub, "--scalar", flags->scalars, "value of a scalar argument, e.g. --scalar alpha=0.5");
  sub.add("--seed", flags->request.seed, "seed of drawn inputs (default 0)")
      .check(integer_check(0, std::numeric_limits<std::uint64_t>::max()));
  sub.add("--threads", flags->request.threads, "threads to run on (default: all of the machine)")
      .check(integer_check(1, 4096));
  sub.flag("--verify", flags->request.verify,
           "compare the result with the interpreter and with the kernel's reference");
  add_seconds(
      sub, "--interpreter-seconds", flags->request.interpreter_seconds,
      "time for the interpreter (default 20): --verify runs a part of the blocks, or none, where all would take "
      "longer; a run on --device interp, and a loop whose length --verify cannot foresee, end with an error");
  add_seconds(
      sub, "--timeout", flags->request.timeout,
      "time for the whole run, checks and measurements included (default 0: no limit); then it ends with an error "
      "and writes no output");
  sub.add("--reproducer-dir", flags->request.reproducer_folder,
          "folder for the file that repeats a run that --verify found wrong (default plait-reproducers); the "
          "same failure writes the same file");
  sub.flag("--bench", flags->request.bench, "measure: median time, GFLOP/s, GB/s; print speaks in the first run only");
  sub.flag("--no-checks", flags->no_checks, "leave out the run-time checks of accesses");
  add_schedule_flag(sub, flags->target);
  add_roles_flags(sub, flags->roles);
  sub.add("--reference", flags->roles.reference,
          "role programs: kernel whose reference --verify compares with, e.g. matmul_nt (default: the program's "
          "own name)");
  sub.chosen([flags, &command] { command.action = [flags, &command] { return run(*flags, command); }; });
}

}  // namespace plait::cli
