#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "emit/cpu/cpu.h"
#include "roles/parse.h"
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

Result<Made> make(const CompileOptions& options) {
  lang::Bindings bindings = parse_assignments(options.program.bindings, "-D");
  bool wants_roles = options.emit == "source" || options.emit == "ptx" || options.emit == "cubin";
  if (wants_roles != holds_roles(options.program.path)) {
    throw UsageError{
        fmt::format("--emit {} is for {}", options.emit, wants_roles ? "role programs (FILE.roles)" : "tile programs")};
  }
  if (wants_roles) return compile_roles(options.program.path, bindings, options.emit, options.roles);
  auto session = load_kernel(options.program.path, options.program.kernel, bindings);
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

void add_compile(CLI::App& app, Command& command) {
  CLI::App* sub =
      add_command(app, command, "compile",
                  "Compile a kernel to LLVM IR, assembly, an object file or its C header, a role program to CUDA");
  auto options = std::make_shared<CompileOptions>();
  add_program_options(*sub, command, options->program);
  sub->add_option("--emit", options->emit,
                  "tile programs: llvm, asm, object or header; role programs: source (CUDA C++), ptx or cubin")
      ->required()
      ->check(word_check("form", {"llvm", "asm", "object", "header", "source", "ptx", "cubin"}));
  sub->add_option("-o,--output", options->output,
                  "file to write (default: standard output; an object goes to KERNEL.o, a cubin to KERNEL.cubin)");
  sub->add_option("--cpu", options->cpu, "processor by its LLVM name, e.g. x86-64-v3 (default: this machine)");
  sub->add_flag("--no-checks", options->no_checks, "leave out the run-time checks of accesses");
  add_roles_flags(*sub, options->roles);
  sub->callback([options, &command] { command.action = [options] { return compile(*options); }; });
}

}  // namespace plait::cli
