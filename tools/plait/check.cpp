#include <fmt/format.h>

#include "device_program.h"
#include "roles.h"

namespace plait::cli {
namespace {

struct CheckFlags {
  ProgramOptions program;
  std::string device;
};

Outcome check(const CheckFlags& flags) {
  const ProgramOptions& options = flags.program;
  if (holds_roles(options.path)) return check_roles(options, flags.device);
  if (!flags.device.empty())
    throw UsageError{
        "--device: a tile program is right on every device; `plait compile --device` tells what it becomes"};
  lang::Bindings bindings = parse_assignments(options.bindings, "-D");
  auto program = load_program(options.path);
  if (!program) return failed(program.diagnostics());
  Outcome outcome;
  std::vector<std::string> names = lang::kernel_names(program->file);
  if (!options.kernel.empty() || names.empty()) {
    auto chosen = runtime::choose_kernel(program->file, options.kernel);
    if (!chosen) return failed(chosen.diagnostics());
    names = {*chosen};
  }
  std::vector<Report> kernels;
  for (const std::string& name : names) {
    Report entry;
    entry.set("kernel", name);
    auto own = runtime::bindings_for(program->file, name, bindings);
    if (!own) return failed(own.diagnostics());
    auto kernel = runtime::build_kernel(program->file, name, *own);
    entry.set("ok", kernel.ok());
    if (kernel.ok()) {
      outcome.text += fmt::format("{}: {} is right\n", options.path, signature(*kernel));
      entry.set("signature", signature(*kernel));
    } else {
      outcome.diagnostics.append(kernel.diagnostics());
    }
    kernels.push_back(std::move(entry));
  }
  outcome.report.set("file", options.path);
  outcome.report.set("kernels", kernels);
  return outcome;
}

}  // namespace

void add_check(CommandLine& line, Command& command) {
  Options sub =
      add_command(line, command, "check", "Check a tile or role program: syntax, types, every rule of the language");
  auto flags = std::make_shared<CheckFlags>();
  add_program_options(sub, command, flags->program);
  add_device(sub, "--device", flags->device, "role programs: machine model to check on (default: the one it names)");
  sub.chosen([flags, &command] { command.action = [flags] { return check(*flags); }; });
}

}  // namespace plait::cli
