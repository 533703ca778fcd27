#include "run_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cuda/architecture.h"
#include "cuda/build.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/timing.h"
#include "request.h"
#include "run_outputs.h"
#include "run_timeout.h"
#include "run_verify.h"
#include "runtime/extent.h"
#include "store/measured.h"
#include "store/runs.h"

namespace plait::cli {
namespace {

constexpr double kCacheTimes = 3;  ///< a measurement rotates over tensors that exceed the L2 so many times
constexpr std::int64_t kMostSets = 64;

/// The tensors of a call in the memory of the device, and the call on them.
struct DeviceCall {
  std::vector<cuda::DeviceMemory> tensors;
  std::unique_ptr<cuda::Launch> launch;
};

/// Copies the tensors of a call to the device and prepares it there.
Result<DeviceCall> place(const cuda::Kernel& kernel, const cuda::Context& context, const ir::BoundArgs& args) {
  DeviceCall call;
  runtime::Args on_device;
  std::size_t next_tensor = 0, next_scalar = 0;
  for (const ir::Param& param : kernel.program().params) {
    if (param.kind == ir::ParamKind::scalar) {
      on_device.scalars[param.scalar->name] = args.scalars[next_scalar++];
      continue;
    }
    ir::TensorView view = args.tensors[next_tensor++];
    std::int64_t bytes = runtime::span_bytes(view).value();
    auto memory = cuda::DeviceMemory::allocate(context, bytes);
    if (!memory) return memory.diagnostics();
    Diagnostics copied = memory->upload(view.data);
    if (copied.has_errors()) return copied;
    view.data = memory->data();
    on_device.tensors[param.buffer->name] = {std::move(view), bytes, std::string(cuda::device_name)};
    call.tensors.push_back(std::move(*memory));
  }
  auto launch = cuda::prepare(kernel, context, on_device);
  if (!launch) return launch.diagnostics();
  call.launch = std::move(*launch);
  return call;
}

/// Runs a call of host tensors: there, launched once, and back what was written.
Diagnostics run_once(const cuda::Kernel& kernel, const cuda::Context& context, const ir::BoundArgs& args) {
  auto call = place(kernel, context, args);
  if (!call) return call.diagnostics();
  Diagnostics found = call->launch->run(nullptr);
  if (!found.has_errors()) found = cuda::synchronize(*context.driver);
  std::size_t next = 0;
  for (const ir::Param& param : kernel.program().params) {
    if (param.kind == ir::ParamKind::scalar) continue;
    std::size_t i = next++;
    if (param.kind != ir::ParamKind::in && !found.has_errors()) found = call->tensors[i].download(args.tensors[i].data);
  }
  return found;
}

std::int64_t total_bytes(const DeviceCall& call) {
  std::int64_t bytes = 0;
  for (const cuda::DeviceMemory& tensor : call.tensors) bytes += tensor.bytes();
  return bytes;
}

std::optional<double> count_flops(const Session& session, const RunData& data, const Before& before) {
  const reference::Reference* reference = matching_reference(session);
  if (reference == nullptr || !reference->flops) return std::nullopt;
  std::map<std::string, std::vector<double>> none;
  return reference->flops(reference_call(session, data, before, none, false));
}

/// Keeps the time for `plait explain`, which tells it beside the predicted one.
void remember_time(const cuda::Kernel& kernel, const cuda::Context& context, const Session& session,
                   const RunData& data, double ms, Outcome& outcome) {
  std::string path = store::default_path();
  if (path.empty()) return;
  store::RunKey key{kernel.text(), {}};
  for (std::size_t i = 0; i < session.kernel.dims.size(); ++i)
    key.second[session.kernel.dims[i]->name] = data.bound.dims[i];
  auto database = store::Database::open(path, store::Access::write);
  Diagnostics found =
      database ? store::put_run(*database, key, {ms * 1e3, context.device.name, store::now()}) : database.diagnostics();
  if (found.has_errors())
    outcome.remarks += fmt::format("plait: the time is not kept: {}\n", found.list().front().message);
}

Diagnostics bench(const cuda::Kernel& kernel, const cuda::Context& context, const Session& session, const RunData& data,
                  const Before& before, Outcome& outcome) {
  std::vector<DeviceCall> sets;
  std::int64_t wanted = 1;
  for (std::int64_t i = 0; i < wanted; ++i) {
    auto call = place(kernel, context, data.bound);
    if (!call) return call.diagnostics();
    sets.push_back(std::move(*call));
    double bytes = std::max(static_cast<double>(total_bytes(sets.front())), 1.0);
    double needed = std::ceil(kCacheTimes * static_cast<double>(context.device.l2_bytes) / bytes) + 1;
    wanted = std::clamp(static_cast<std::int64_t>(needed), std::int64_t{1}, kMostSets);
  }
  std::vector<const cuda::Launch*> rotation;
  for (const DeviceCall& set : sets) rotation.push_back(set.launch.get());
  auto timing = cuda::measure(context, rotation);
  if (!timing) return timing.diagnostics();
  auto rate = [&](double amount) { return timing->median_ms > 0 ? amount / timing->median_ms * 1e-6 : 0; };
  auto flops = count_flops(session, data, before);
  double gbs = rate(static_cast<double>(total_bytes(sets.front())));
  remember_time(kernel, context, session, data, timing->median_ms, outcome);
  outcome.report.set("median_ms", timing->median_ms);
  outcome.report.set("repetitions", static_cast<std::int64_t>(timing->windows) * timing->launches);
  outcome.report.set("gflops", flops ? std::optional(rate(*flops)) : std::nullopt);
  outcome.report.set("gbs", gbs);
  outcome.report.set("launch_us", timing->cpu_us);
  outcome.text += fmt::format("bench    {:.4f} ms median of {} windows of {} launches over {} sets of tensors",
                              timing->median_ms, timing->windows, timing->launches, sets.size());
  if (flops) outcome.text += fmt::format(", {:.1f} TFLOP/s", rate(*flops) * 1e-3);
  outcome.text += fmt::format(", {:.1f} GB/s; a launch takes the processor {:.2f} us\n", gbs, timing->cpu_us);
  return {};
}

void describe_code(const cuda::Built& built, Outcome& outcome) {
  const cuda::Code& code = built.kernel->code();
  const emit::cuda::Module& module = built.kernel->module();
  outcome.text +=
      fmt::format("code     {}: {} threads, {} registers, {} bytes of shared memory, {} bytes spilled\n", module.arch,
                  module.threads, code.report.registers, module.smem_bytes, code.report.spill_store_bytes);
  std::string steps;
  for (const cuda::Step& step : built.steps) steps += fmt::format(" {} {:.1f} ms", step.name, step.ms);
  outcome.text += fmt::format("compile {}\n", steps);
  outcome.report.set("registers", static_cast<std::int64_t>(code.report.registers));
  outcome.report.set("spill_bytes", static_cast<std::int64_t>(code.report.spill_store_bytes));
}

/// Runs, verifies and measures; the outputs that are ready to be put in their places.
Result<std::vector<runtime::StagedFile>> run_on_device(const cuda::Kernel& kernel, const cuda::Context& context,
                                                       const Session& session, const RunRequest& request,
                                                       const Command& command, Outcome& outcome) {
  auto prepared = prepare_run(session.kernel, request);
  if (!prepared) return prepared.diagnostics();
  RunData& data = *prepared;
  describe(session, request, data, outcome);
  say_now(command, outcome);
  Runner runner = [&](const ir::BoundArgs& args) { return run_once(kernel, context, args); };
  Before before = remember(data);
  Diagnostics failure = runner(data.bound);
  if (failure.has_errors()) return failure;
  if (request.verify) {
    Verification v = verify_run(session, request, data, before, runner);
    outcome.text += v.text;
    outcome.report.set("comparisons", v.comparisons);
    outcome.report.set("max_abs_err", v.max_abs_err);
    outcome.report.set("max_rel_err", v.max_rel_err);
    if (v.diagnostics.has_errors()) return v.diagnostics;
  }
  auto files = stage_outputs(request, data);
  if (!files) return files.diagnostics();
  if (request.bench) failure = bench(kernel, context, session, data, before, outcome);
  if (failure.has_errors()) return failure;
  return files;
}

cuda::BuildOptions build_options(const RolesFlags& flags, bool source_only) {
  cuda::BuildOptions options;
  options.architecture = flags.architecture;
  options.source_only = source_only;
  options.ahead = true;
  options.compile.allow_serialized = flags.allow_serialized;
  return options;
}

ProgramOptions program_of(const RunRequest& request) {
  ProgramOptions options{request.path, request.kernel, {}};
  for (const auto& [name, value] : request.bindings) options.bindings.push_back(name + "=" + value);
  return options;
}

/// Those of the call that is asked for, which the files of its inputs may give.
Result<std::map<std::string, std::int64_t>> call_dims(const RunRequest& request) {
  std::map<std::string, std::int64_t> dims = request.dims;
  if (request.inputs.empty() || holds_roles(request.path)) return dims;
  auto session = load_kernel(request.path, request.kernel, request.bindings);
  if (!session) return session.diagnostics();
  auto prepared = prepare_run(session->kernel, request);
  if (!prepared) return prepared.diagnostics();
  for (std::size_t i = 0; i < session->kernel.dims.size(); ++i)
    dims[session->kernel.dims[i]->name] = prepared->bound.dims[i];
  return dims;
}

/// What is wrong with a program for a machine that runs no code of ours.
Diagnostics refuse_device(const RunRequest& request, const DeviceFlags& target,
                          const std::map<std::string, std::int64_t>& dims) {
  auto program = load_device_program(program_of(request), target, dims);
  if (!program) return program.diagnostics();
  Diagnostics none = no_code(program->device, program->program.loc);
  PLAIT_ASSERT(none.has_errors(), "a machine with code that is no GPU");
  return none;
}

/// The program as it is compiled for the device of this machine.
Result<jit::Compiled> compile_here(jit::Request request, const Result<cuda::Context>& context) {
  if (!context) {
    // What is wrong with the program comes before what is missing on the machine.
    request.build.source_only = true;
    auto source = jit::compile(request);
    return source ? context.diagnostics() : source.diagnostics();
  }
  if (request.build.architecture.empty()) request.build.architecture = cuda::architecture_of(context->device);
  return jit::compile(request);
}

/// What is run, as `--verify` and the outputs see it.
Result<Session> session_of(const RunRequest& request, const jit::Compiled& compiled, const std::string& reference) {
  Session session;
  const cuda::Kernel& kernel = *compiled.built.kernel;
  session.bindings = request.bindings;
  session.kernel = compiled.tile ? *compiled.tile : kernel.signature();
  session.kernel_name = reference.empty() ? session.kernel.name : reference;
  if (!compiled.tile) return session;
  auto program = load_program(request.path);
  if (!program) return program.diagnostics();
  session.program = std::move(*program);
  return session;
}

}  // namespace

void add_roles_flags(const Options& options, RolesFlags& flags) {
  options.add("--arch", flags.architecture,
              "role programs: architecture, e.g. sm_90a (default: compile: that of the program's device; run: that "
              "of the device here)");
  options.flag("--allow-serialized", flags.allow_serialized,
               "role programs: run wgmma instructions that the assembler serializes");
}

Outcome run_roles(RunRequest request, DeviceFlags target, RolesFlags flags, const Command& command) {
  if (request.device == "interp") throw UsageError{"--device interp: role programs run on the GPU"};
  if (request.device != "host") target.device = request.device;
  request.device = cuda::device_name;
  Outcome outcome;
  set_defaults(outcome.report, request);
  auto fail = [&](const Diagnostics& found) {
    outcome.diagnostics.append(found);
    return outcome;
  };
  auto dims = call_dims(request);
  if (!dims) return fail(dims.diagnostics());
  auto wanted = read_request(program_of(request), target, flags, *dims);
  if (!wanted) return fail(wanted.diagnostics());
  if (!*wanted) return fail(refuse_device(request, target, *dims));
  auto context = cuda::current_context();
  auto compiled = compile_here(std::move(**wanted), context);
  if (!compiled) return fail(compiled.diagnostics());
  const cuda::Kernel& kernel = *compiled->built.kernel;
  outcome.text += fmt::format("device   {}, {} multiprocessors\n", context->device.name, context->device.sms);
  outcome.diagnostics = kernel.code().warnings;
  outcome.diagnostics.append(compiled->remarks);
  auto session = session_of(request, *compiled, flags.reference);
  if (!session) return fail(session.diagnostics());
  outcome.report.set("kernel", session->kernel.name);
  describe_code(compiled->built, outcome);
  Timeout timeout(request.timeout, command, too_late("the run", request.timeout, kernel.program().loc, outcome));
  auto files = run_on_device(kernel, *context, *session, request, command, outcome);
  timeout.stop();
  if (!files) return fail(files.diagnostics());
  commit_outputs(*files, outcome);
  return outcome;
}

Result<Made> compile_cached(jit::Request request, const std::string& emit) {
  request.build.ahead = true;
  auto compiled = jit::compile(request);
  if (!compiled) return compiled.diagnostics();
  const cuda::Kernel& kernel = *compiled->built.kernel;
  Made made{kernel.program().name, emit == "ptx" ? kernel.code().ptx : kernel.code().cubin, kernel.code().warnings};
  made.warnings.append(compiled->remarks);
  return made;
}

Result<Made> compile_roles(DeviceProgram program, const std::string& emit, const RolesFlags& flags) {
  if (emit == "roles") return Made{program.kernel_name, roles::print(program.program), {}};
  if (Diagnostics none = no_code(program.device, program.program.loc); none.has_errors()) return none;
  RolesFlags own = flags;
  if (own.architecture.empty()) own.architecture = program.device.arch;
  auto built = cuda::build(std::move(program.program), build_options(own, emit == "source"));
  if (!built) return built.diagnostics();
  const cuda::Kernel& kernel = *built->kernel;
  const cuda::Code& code = kernel.code();
  const std::string& content = emit == "source" ? kernel.module().source : emit == "ptx" ? code.ptx : code.cubin;
  return Made{kernel.program().name, content, code.warnings};
}

}  // namespace plait::cli
