#include <fmt/format.h>

#include <filesystem>

#include "compile_bundle.h"
#include "emit/cpu/cpu.h"
#include "request.h"
#include "run_roles.h"
#include "runtime/files.h"
#include "session.h"

namespace plait::cli {
namespace {

struct CompileOptions {
  std::vector<std::string> files;
  ProgramOptions program;  ///< of the only FILE, where it is no bundle
  std::string emit;
  std::string output;
  std::string cpu;
  bool no_checks = false;
  RolesFlags roles;
  DeviceFlags target;
  std::vector<std::string> dims;
  int jobs = 0;
};

Result<std::string> emit(const ir::Kernel& kernel, const CompileOptions& options) {
  cpu::Options target;
  target.checks = !options.no_checks;
  target.cpu = options.cpu;
  if (options.emit == "header") return cpu::emit_header(kernel, target);
  if (options.emit == "llvm") return cpu::emit(kernel, cpu::EmitKind::llvm, target);
  if (options.emit == "asm") return cpu::emit(kernel, cpu::EmitKind::assembly, target);
  return cpu::emit(kernel, cpu::EmitKind::object, target);
}

/// Options that would say nothing are refused.
void check_use(const CompileOptions& options, bool for_gpu) {
  auto refuse = [&](const char* flag, const char* what) {
    throw UsageError{fmt::format("{}: --emit {} is for {}", flag, options.emit, what)};
  };
  constexpr const char* host = "the host; it is for roles, source, ptx, cubin and bundle";
  constexpr const char* gpu = "GPUs; it is for llvm, asm, object and header";
  if (for_gpu) {
    if (!options.cpu.empty()) refuse("--cpu", gpu);
    if (options.no_checks) refuse("--no-checks", gpu);
    return;
  }
  if (!options.target.schedule.empty()) refuse("--schedule", host);
  if (!options.roles.architecture.empty()) refuse("--arch", host);
  if (!options.dims.empty()) refuse("--dim", host);
  if (options.roles.allow_serialized) refuse("--allow-serialized", host);
}

Result<Made> make(const CompileOptions& options) {
  bool for_gpu =
      options.emit == "roles" || options.emit == "source" || options.emit == "ptx" || options.emit == "cubin";
  check_use(options, for_gpu);
  if (for_gpu) {
    auto dims = dims_of(options.dims, "--dim");
    if (options.emit == "ptx" || options.emit == "cubin") {
      auto request = read_request(options.program, options.target, options.roles, dims);
      if (!request) return request.diagnostics();
      if (*request) return compile_cached(std::move(**request), options.emit);
    }
    auto program = load_device_program(options.program, options.target, dims);
    if (!program) return program.diagnostics();
    return compile_roles(std::move(*program), options.emit, options.roles);
  }
  if (holds_roles(options.program.path)) throw UsageError{fmt::format("--emit {} is for tile programs", options.emit)};
  if (!options.target.device.empty() && options.target.device != "host")
    throw UsageError{fmt::format("--emit {} is for the host; roles, source, ptx and cubin are for GPUs", options.emit)};
  auto session =
      load_kernel(options.program.path, options.program.kernel, parse_assignments(options.program.bindings, "-D"));
  if (!session) return session.diagnostics();
  auto made = emit(session->kernel, options);
  if (!made) return made.diagnostics();
  return Made{session->kernel_name, std::move(*made), {}};
}

Outcome to_bundle(const CompileOptions& options) {
  check_use(options, true);
  if (!options.roles.architecture.empty())
    throw UsageError{"--arch: --emit bundle takes architectures and devices with --device, e.g. --device sm_90a,sm_80"};
  BundleOptions bundle;
  bundle.files = options.files;
  bundle.kernel = options.program.kernel;
  bundle.bindings = options.program.bindings;
  if (!options.target.device.empty()) bundle.devices = devices_of(options.target.device);
  bundle.output = options.output;
  bundle.schedule = options.target.schedule;
  bundle.planner = options.target.planner;
  bundle.dims = dims_of(options.dims, "--dim");
  bundle.allow_serialized = options.roles.allow_serialized;
  bundle.jobs = options.jobs;
  return compile_bundle(bundle);
}

/// What only a bundle takes several of.
void take_one(CompileOptions& options) {
  if (options.files.size() > 1)
    throw UsageError{fmt::format("--emit {} is for one FILE; a bundle takes several", options.emit)};
  if (options.jobs != 0) throw UsageError{"--jobs: it is for --emit bundle"};
  options.program.path = options.files.front();
  if (options.target.device.empty()) return;
  std::vector<std::string> devices = devices_of(options.target.device);
  if (devices.size() > 1)
    throw UsageError{fmt::format("--emit {} is for one device; a bundle takes several", options.emit)};
  options.target.device = devices.front();
}

Outcome compile(CompileOptions options) {
  if (options.emit == "bundle") return to_bundle(options);
  take_one(options);
  if (!options.cpu.empty() && !cpu::is_processor(options.cpu)) {
    throw UsageError{fmt::format(
        "--cpu: LLVM knows no processor '{}'; `llc -mcpu=help` lists them, and without --cpu it is this machine",
        options.cpu)};
  }
  std::error_code absent;
  if (!options.output.empty() && std::filesystem::equivalent(options.output, options.program.path, absent))
    throw UsageError{fmt::format("--output: {} is the program itself", options.output)};
  auto made = make(options);
  if (!made) return failed(made.diagnostics());
  Outcome outcome;
  outcome.diagnostics = made->warnings;
  outcome.report.set("kernel", made->name);
  outcome.report.set("emit", options.emit);
  // Machine code is no text for a terminal: it goes to NAME.o or NAME.cubin unless -o says otherwise.
  std::string suffix = options.emit == "object" ? ".o" : options.emit == "cubin" ? ".cubin" : "";
  std::string output = options.output.empty() && !suffix.empty() ? made->name + suffix : options.output;
  if (output.empty() || output == "-") {
    if (suffix.empty()) outcome.report.set("text", made->content);
    outcome.text = std::move(made->content);
    return outcome;
  }
  auto staged = runtime::StagedFile::stage(output, {made->content});
  if (!staged) return failed(staged.diagnostics());
  outcome.diagnostics.append(staged->commit());
  outcome.report.set("output", output);
  outcome.report.set("bytes", static_cast<std::int64_t>(made->content.size()));
  return outcome;
}

}  // namespace

void add_compile(CommandLine& line, Command& command) {
  Options sub = add_command(
      line, command, "compile",
      "Compile a kernel to LLVM IR, assembly, an object file or its C header, a role program to CUDA, several "
      "to a bundle that C launches");
  auto options = std::make_shared<CompileOptions>();
  sub.add("FILE", options->files, "tile or role program; - is standard input; a bundle takes several")
      .required()
      .each([&command](const std::string& path) { command.program = path; });
  sub.add("--kernel", options->program.kernel, "kernel of the file; needed where it has several (a bundle: all)");
  add_assignments(sub, "-D", options->program.bindings, "value of a compile-time parameter, e.g. -D dtype=bf16");
  sub.add(
         "--emit", options->emit,
         "for the host: llvm, asm, object or header; for GPUs: roles, source (CUDA C++), ptx, cubin, or bundle (cubins "
         "with a C file that launches them)")
      .required()
      .check(word_check("form", {"llvm", "asm", "object", "header", "roles", "source", "ptx", "cubin", "bundle"}));
  sub.add(
      "-o,--output", options->output,
      "file to write (default: standard output; an object goes to KERNEL.o, a cubin to KERNEL.cubin); a bundle: the "
      "folder, whose name the bundle has");
  sub.add("--cpu", options->cpu, "processor by its LLVM name, e.g. x86-64-v3 (default: this machine)");
  sub.flag("--no-checks", options->no_checks, "leave out the run-time checks of accesses");
  sub.add("--device", options->target.device,
          "machine model of the GPU, or an architecture such as sm_80, which stands for one (default: h200; a role "
          "program: the one it names); a bundle takes several, apart by commas")
      .check(check_devices);
  add_schedule_flag(sub, options->target);
  add_assignments(sub, "--dim", options->dims, "value of a dim of the calls that this is for, e.g. --dim M=8191");
  add_roles_flags(sub, options->roles);
  sub.add("--jobs", options->jobs, "bundle: kernels to compile at once (default: as many as there are processors)")
      .check(integer_check(1, 1024));
  sub.chosen([options, &command] { command.action = [options] { return compile(*options); }; });
}

}  // namespace plait::cli
