#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "emit/cpu/cpu.h"
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

Outcome compile(const CompileOptions& options) {
  lang::Bindings bindings = parse_assignments(options.program.bindings, "-D");
  auto session = load_kernel(options.program.path, options.program.kernel, bindings);
  if (!session) return failed(session.diagnostics());
  auto made = emit(session->kernel, options);
  if (!made) return failed(made.diagnostics());
  Outcome outcome;
  outcome.report.set("kernel", session->kernel_name);
  outcome.report.set("emit", options.emit);
  // An object file is no text for a terminal: it goes to NAME.o unless -o says otherwise.
  std::string output =
      options.output.empty() && options.emit == "object" ? session->kernel_name + ".o" : options.output;
  if (output.empty() || output == "-") {
    if (options.emit != "object") outcome.report.set("text", *made);
    outcome.text = std::move(*made);
    return outcome;
  }
  auto staged = runtime::StagedFile::stage(output, {*made});
  if (!staged) return failed(staged.diagnostics());
  outcome.diagnostics = staged->commit();
  outcome.report.set("output", output);
  outcome.report.set("bytes", static_cast<std::int64_t>(made->size()));
  return outcome;
}

}  // namespace

void add_compile(CLI::App& app, Command& command) {
  CLI::App* sub =
      add_command(app, command, "compile", "Compile a kernel to LLVM IR, assembly, an object file or its C header");
  auto options = std::make_shared<CompileOptions>();
  add_program_options(*sub, command, options->program);
  sub->add_option("--emit", options->emit, "llvm, asm, object or header")
      ->required()
      ->check(CLI::IsMember({"llvm", "asm", "object", "header"}));
  sub->add_option("-o,--output", options->output,
                  "file to write (default: standard output; an object goes to KERNEL.o)");
  sub->add_option("--cpu", options->cpu, "processor by its LLVM name, e.g. x86-64-v3 (default: this machine)");
  sub->add_flag("--no-checks", options->no_checks, "leave out the run-time checks of accesses");
  sub->callback([options, &command] { command.action = [options] { return compile(*options); }; });
}

}  // namespace plait::cli
