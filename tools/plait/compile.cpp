#include <fmt/format.h>

#include <filesystem>

#include "emit/cpu/cpu.h"
#include "request.h"
#include "run_roles.h"
#include "runtime/files.h"
#include "session.h"

namespace plait::cli {
namespace {

struct CompileOptions {
  ProgramOptions program;
  std::string emit;
  std::string output;
  std::string cpu;
  bool no_checks = false;
  RolesFlags roles;
  DeviceFlags target;
  std::vector<std::string> dims;
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
  constexpr const char* host = "the host; it is for roles, source, ptx and cubin";
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

Outcome compile(const CompileOptions& options) {
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
  Options sub =
      add_command(line, command, "compile",
                  "Compile a kernel to LLVM IR, assembly, an object file or its C header, a role program to CUDA");
  auto options = std::make_shared<CompileOptions>();
  add_program_options(sub, command, options->program);
  sub.add("--emit", options->emit,
          "for the host: llvm, asm, object or header; for GPUs: roles, source (CUDA C++), ptx or cubin")
      .required()
      .check(word_check("form", {"llvm", "asm", "object", "header", "roles", "source", "ptx", "cubin"}));
  sub.add("-o,--output", options->output,
          "file to write (default: standard output; an object goes to KERNEL.o, a cubin to KERNEL.cubin)");
  sub.add("--cpu", options->cpu, "processor by its LLVM name, e.g. x86-64-v3 (default: this machine)");
  sub.flag("--no-checks", options->no_checks, "leave out the run-time checks of accesses");
  add_device(sub, "--device", options->target.device,
             "machine model of the GPU (default: h200; a role program: the one it names)");
  add_schedule_flag(sub, options->target);
  add_assignments(sub, "--dim", options->dims, "value of a dim of the calls that this is for, e.g. --dim M=8191");
  add_roles_flags(sub, options->roles);
  sub.chosen([options, &command] { command.action = [options] { return compile(*options); }; });
}

}  // namespace plait::cli
