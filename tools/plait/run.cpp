#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "interp/interp.h"
#include "interp/reproducer.h"
#include "run_bench.h"
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
};

std::map<std::string, std::int64_t> parse_dims(const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t> dims;
  for (const auto& [name, text] : parse_assignments(texts, "--dim")) {
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data(), end, dims[name]);
    if (error != std::errc() || stop != end)
      throw UsageError{fmt::format("--dim {}: '{}' is no integer of 64 bits", name, text)};
  }
  return dims;
}

std::map<std::string, ir::DType> parse_dtypes(const std::vector<std::string>& texts) {
  std::map<std::string, ir::DType> types;
  for (const auto& [name, text] : parse_assignments(texts, "--dtype")) {
    auto type = ir::dtype_from_name(text);
    if (!type) throw UsageError{fmt::format("--dtype {}: there is no type '{}'", name, text)};
    types[name] = *type;
  }
  return types;
}

/// Each output has a file of its own, however it is spelled, and none replaces the program.
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
    if (!files.insert(file).second) throw UsageError{fmt::format("--output: {} is named for two tensors", path)};
  }
}

RunRequest make_request(const RunFlags& flags) {
  RunRequest request = flags.request;
  request.path = flags.program.path;
  request.kernel = flags.program.kernel;
  request.bindings = parse_assignments(flags.program.bindings, "-D");
  request.dims = parse_dims(flags.dims);
  request.inputs = parse_assignments(flags.inputs, "--input");
  request.outputs = parse_assignments(flags.outputs, "--output");
  request.dtypes = parse_dtypes(flags.dtypes);
  request.scalars = parse_assignments(flags.scalars, "--scalar");
  request.checks = !flags.no_checks;
  check_output_files(request);
  return request;
}

/// The kernel on its device, ready to run as often as is wanted; slow paths that the compiler reports go to `remarks`.
Result<Runner> make_runner(const ir::Kernel& kernel, const RunRequest& request, std::string& remarks) {
  if (request.device == "interp") {
    return Runner([&kernel](const ir::BoundArgs& args) {
      interp::Options options;
      options.print = [](const std::string& line) { fmt::print("{}\n", line); };
      return interp::interpret(kernel, args, options);
    });
  }
  if (request.device != "host") {
    Diagnostics diags;
    diags.error(Rule::unknown_device, {}, fmt::format("there is no device '{}'", request.device));
    return diags;
  }
  cpu::Options options;
  options.checks = request.checks;
  auto code = cpu::compile(kernel, options);
  if (!code) return code.diagnostics();
  for (const Note& note : code->slow_paths) remarks += fmt::format("{}: note: {}\n", note.loc.str(), note.message);
  runtime::RunOptions run_options{request.threads};
  if (const ir::BufferDecl* packed = runtime::shared_byte_output(kernel)) {
    run_options.threads = 1;
    remarks +=
        fmt::format("{}: note: blocks run on one thread: two of them may write elements of '{}' that share a byte\n",
                    packed->loc.str(), packed->name);
  }
  return Runner([code = std::move(*code), run_options](const ir::BoundArgs& args) {
    return runtime::execute(code, args, run_options);
  });
}

/// Writes all outputs beside their places, so that they appear together once everything else has succeeded.
Result<std::vector<runtime::StagedFile>> stage_outputs(const RunRequest& request, const RunData& data) {
  std::vector<runtime::StagedFile> files;
  for (std::size_t i = 0; i < data.params.size(); ++i) {
    auto wanted = request.outputs.find(data.params[i]->buffer->name);
    if (wanted == request.outputs.end()) continue;
    const ir::TensorView& view = data.tensors[i].view();
    std::string header = runtime::npy_header(view), elements = runtime::npy_data(view);
    auto staged = runtime::StagedFile::stage(wanted->second, {header, elements});
    if (!staged) return staged.diagnostics();
    files.push_back(std::move(*staged));
  }
  return files;
}

std::string describe_tensor(const RunRequest& request, const RunData& data, std::size_t i) {
  const ir::BufferDecl& buffer = *data.params[i]->buffer;
  std::string origin;
  if (auto input = request.inputs.find(buffer.name); input != request.inputs.end()) origin = " from " + input->second;
  if (data.drawn[i]) origin = fmt::format(" drawn with seed {}", request.seed);
  if (auto output = request.outputs.find(buffer.name); output != request.outputs.end())
    origin += " to " + output->second;
  return fmt::format("{} {}[{}]{}", buffer.name, ir::dtype_name(buffer.type),
                     fmt::join(data.tensors[i].view().shape, ", "), origin);
}

void describe(const Session& session, const RunRequest& request, const RunData& data, Outcome& outcome) {
  Report dims;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < session.kernel.dims.size(); ++i) {
    dims.set(session.kernel.dims[i]->name, data.bound.dims[i]);
    parts.push_back(fmt::format("{}={}", session.kernel.dims[i]->name, data.bound.dims[i]));
  }
  outcome.report.set("dims", dims);
  outcome.text += fmt::format("kernel   {} on {}\n", session.kernel_name, request.device);
  if (!parts.empty()) outcome.text += fmt::format("dims     {}\n", fmt::join(parts, " "));
  for (std::size_t i = 0; i < data.params.size(); ++i)
    outcome.text += fmt::format("tensor   {}\n", describe_tensor(request, data, i));
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

/// The keys that every report of a run has, null where nothing was measured.
void set_defaults(Report& report, const RunRequest& request) {
  report.set("device", request.device);
  report.set("kernel", request.kernel);
  report.set("dims", Report());
  for (const char* key : {"median_ms", "gflops", "gbs", "max_abs_err", "max_rel_err"})
    report.set(key, std::optional<double>());
}

/// A name in the working folder that no file has yet.
std::string unused_name(const std::string& stem) {
  std::string name = stem + ".tile";
  for (int i = 2; std::filesystem::exists(name); ++i) name = fmt::format("{}-{}.tile", stem, i);
  return name;
}

/// Whether a verification found a fault, rather than that it could not be made.
bool found_fault(const Diagnostics& diagnostics) {
  const auto& list = diagnostics.list();
  return std::any_of(list.begin(), list.end(), [](const Diagnostic& d) { return d.rule != Rule::verify_too_large; });
}

/// Leaves one file that repeats the failure, and names it.
void leave_reproducer(const Session& session, const RunRequest& request, const RunData& data, Outcome& outcome) {
  interp::FailedRun failure;
  failure.problem = outcome.diagnostics.render();
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
  std::string path = unused_name("plait-reproducer-" + session.kernel_name);
  Diagnostics written = interp::write_reproducer(session.kernel, failure, path);
  outcome.diagnostics.append(written);
  if (written.has_errors()) return;
  outcome.remarks += fmt::format("reproducer: {}\n", path);
  outcome.report.set("reproducer", path);
}

void run_kernel(const Session& session, const RunRequest& request, Outcome& outcome) {
  auto prepared = prepare_run(session.kernel, request);
  if (!prepared) return outcome.diagnostics.append(prepared.diagnostics());
  RunData& data = *prepared;
  describe(session, request, data, outcome);
  auto runner = make_runner(session.kernel, request, outcome.remarks);
  if (!runner) return outcome.diagnostics.append(runner.diagnostics());
  Before before = remember(data);
  outcome.diagnostics = (*runner)(data.bound);
  if (outcome.diagnostics.has_errors()) return;
  if (request.verify) {
    Verification v = verify_run(session, request, data, before, *runner);
    outcome.text += v.text;
    outcome.report.set("comparisons", v.comparisons);
    outcome.report.set("max_abs_err", v.max_abs_err);
    outcome.report.set("max_rel_err", v.max_rel_err);
    outcome.diagnostics.append(v.diagnostics);
    if (found_fault(v.diagnostics)) leave_reproducer(session, request, data, outcome);
    if (v.diagnostics.has_errors()) return;
  }
  auto files = stage_outputs(request, data);
  if (!files) return outcome.diagnostics.append(files.diagnostics());
  if (request.bench) bench(session, data, before, *runner, outcome);
  if (outcome.diagnostics.has_errors()) return;
  // What can still fail comes first, so that a full device leaves the files untouched.
  std::partition(files->begin(), files->end(), [](const runtime::StagedFile& file) { return !file.is_regular(); });
  for (runtime::StagedFile& file : *files) {
    outcome.diagnostics.append(file.commit());
    if (outcome.diagnostics.has_errors()) return;
  }
}

Outcome run(const RunFlags& flags) {
  RunRequest request = make_request(flags);
  Outcome outcome;
  set_defaults(outcome.report, request);
  auto session = load_kernel(request.path, request.kernel, request.bindings);
  if (!session) {
    outcome.diagnostics = session.diagnostics();
    return outcome;
  }
  outcome.report.set("kernel", session->kernel_name);
  run_kernel(*session, request, outcome);
  return outcome;
}

}  // namespace

void add_run(CLI::App& app, Command& command) {
  CLI::App* sub = add_command(app, command, "run", "Run a kernel: .npy in, .npy out, verified and timed on request");
  auto flags = std::make_shared<RunFlags>();
  add_program_options(*sub, command, flags->program);
  sub->add_option("--device", flags->request.device, "device to run on: host (default) or interp; see `plait devices`");
  add_assignments(*sub, "--dim", flags->dims, "value of a dim that no input gives, e.g. --dim M=1000");
  add_assignments(
      *sub, "--input", flags->inputs,
      "tensor from a .npy file; tensors that are not given are drawn: floats standard normal, integers small");
  add_assignments(*sub, "--output", flags->outputs, "write a tensor to a .npy file, once the run has succeeded");
  add_assignments(*sub, "--dtype", flags->dtypes,
                  "type of the raw bits in an input file, e.g. --dtype A=bf16 (stored as u2)");
  add_assignments(*sub, "--scalar", flags->scalars, "value of a scalar argument, e.g. --scalar alpha=0.5");
  sub->add_option("--seed", flags->request.seed, "seed of drawn inputs (default 0)");
  sub->add_option("--threads", flags->request.threads, "threads to run on (default: all of the machine)")
      ->check(CLI::Range(1, 4096));
  sub->add_flag("--verify", flags->request.verify,
                "compare the result with the interpreter and with the kernel's reference");
  sub->add_option(
         "--interpreter-seconds", flags->request.interpreter_seconds,
         "time that --verify may spend on the interpreter (default 20); beyond, it runs a part of the blocks, or none")
      ->check(CLI::NonNegativeNumber);
  sub->add_flag("--bench", flags->request.bench, "measure: median time, GFLOP/s, GB/s");
  sub->add_flag("--no-checks", flags->no_checks, "leave out the run-time checks of accesses");
  sub->callback([flags, &command] { command.action = [flags] { return run(*flags); }; });
}

}  // namespace plait::cli
