#include <fmt/format.h>

#include <algorithm>

#include "device_program.h"
#include "roles.h"

namespace plait::cli {
namespace {

struct PrintOptions {
  ProgramOptions program;
  std::string after, device;
  bool after_all = false;
  bool list_passes = false;
};

/// The one pass of role programs.
constexpr std::string_view kChannels = "channels";

Outcome list_passes() {
  Outcome outcome;
  std::vector<Report> passes;
  std::vector<runtime::Pass> all = runtime::front_passes();
  all.push_back({kChannels, "FILE.roles: mbarriers in place of channels"});
  for (const runtime::Pass& pass : all) {
    outcome.text += fmt::format("{:<12} {}\n", pass.name, pass.summary);
    Report entry;
    entry.set("pass", std::string(pass.name));
    entry.set("summary", std::string(pass.summary));
    passes.push_back(std::move(entry));
  }
  outcome.report.set("passes", passes);
  return outcome;
}

/// Collects the texts of the passes that were asked for.
class Printer {
 public:
  Printer(const PrintOptions& options, Outcome& outcome) : options_(options), outcome_(outcome) {}

  void add(std::string_view pass, const std::string& kernel, const std::string& text) {
    // Unless asked otherwise, what a target gets.
    std::string_view asked = options_.after.empty() ? std::string_view("verify") : std::string_view(options_.after);
    bool wanted = options_.after_all || pass == asked;
    if (!wanted) return;
    if (options_.after_all) outcome_.text += fmt::format("# after {}{}\n", pass, kernel.empty() ? "" : ": " + kernel);
    outcome_.text += text;
    Report entry;
    entry.set("pass", std::string(pass));
    if (!kernel.empty()) entry.set("kernel", kernel);
    entry.set("text", text);
    texts_.push_back(std::move(entry));
  }
  void finish() { outcome_.report.set("texts", texts_); }

 private:
  const PrintOptions& options_;
  Outcome& outcome_;
  std::vector<Report> texts_;
};

Outcome print(const PrintOptions& options) {
  if (options.list_passes) return list_passes();
  if (options.program.path.empty()) throw UsageError{"print: FILE is required"};
  if (holds_roles(options.program.path)) {
    bool channels = options.after == kChannels;
    if (options.after_all || (!channels && !options.after.empty())) {
      throw UsageError{fmt::format(
          "print: {}: a role program has one pass, {}; write --after {} for what it leaves, nothing for the program",
          options.after_all ? "--after-all" : "--after " + options.after, kChannels, kChannels)};
    }
    return print_roles(options.program, options.device, channels);
  }
  if (options.after == kChannels)
    throw UsageError{fmt::format("print: --after {}: that pass is for role programs, and {} is a tile program",
                                 kChannels, options.program.path)};
  if (!options.device.empty()) throw UsageError{"--device: it is for role programs, --after channels"};
  const auto& passes = runtime::front_passes();
  bool known = options.after.empty() || std::any_of(passes.begin(), passes.end(),
                                                    [&](const runtime::Pass& p) { return p.name == options.after; });
  if (!known) throw UsageError{fmt::format("print: there is no pass '{}'; see --list-passes", options.after)};
  lang::Bindings bindings = parse_assignments(options.program.bindings, "-D");
  auto program = load_program(options.program.path);
  if (!program) return failed(program.diagnostics());
  Outcome outcome;
  Printer printer(options, outcome);
  printer.add("parse", "", syntax::format(program->file));
  std::vector<std::string> names = lang::kernel_names(program->file);
  if (!options.program.kernel.empty()) {
    auto chosen = runtime::choose_kernel(program->file, options.program.kernel);
    if (!chosen) return failed(chosen.diagnostics());
    names = {*chosen};
  }
  if (options.after == "parse") names.clear();
  for (const std::string& name : names) {
    auto own = runtime::bindings_for(program->file, name, bindings);
    if (!own) return failed(own.diagnostics());
    auto kernel = runtime::build_kernel(program->file, name, *own, [&](std::string_view pass, const ir::Kernel& k) {
      printer.add(pass, name, ir::print(k));
    });
    if (!kernel) outcome.diagnostics.append(kernel.diagnostics());
  }
  printer.finish();
  return outcome;
}

}  // namespace

void add_print(CommandLine& line, Command& command) {
  Options sub = add_command(line, command, "print", "Print a tile program as it is after a pass (default: verify)");
  auto options = std::make_shared<PrintOptions>();
  add_program_options(sub, command, options->program, false);
  Option after = sub.add("--after", options->after, "name of the pass").type_name("PASS");
  sub.flag("--after-all", options->after_all, "after every pass").excludes(after);
  add_device(sub, "--device", options->device,
             "role programs, --after channels: machine model to check on (default: the one it names)");
  sub.flag("--list-passes", options->list_passes, "list the passes");
  sub.chosen([options, &command] { command.action = [options] { return print(*options); }; });
}

}  // namespace plait::cli
