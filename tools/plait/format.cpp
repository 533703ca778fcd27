#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "runtime/files.h"
#include "roles.h"

namespace plait::cli {
namespace {

struct FormatOptions {
  std::vector<std::string> paths;
  bool check = false;
  bool write = false;
};

/// Formats one file; what it changes goes where the options say.
void format_file(const std::string& path, const FormatOptions& options, Outcome& outcome, std::vector<Report>& files) {
  if (roles::is_role_file(path)) return outcome.diagnostics.add(no_format(path));
  auto program = load_program(path);
  if (!program) return outcome.diagnostics.append(program.diagnostics());
  std::string text = syntax::format(program->file);
  bool changed = text != program->source->text();
  Report entry;
  entry.set("file", path);
  entry.set("changed", changed);
  if (options.check && changed) {
    outcome.ok = false;
    outcome.remarks += fmt::format("{}: not in canonical form\n  fix: plait format --write {}\n", path, path);
  } else if (options.write && changed) {
    auto staged = runtime::StagedFile::stage(path, {text});
    outcome.diagnostics.append(staged.ok() ? staged->commit() : staged.diagnostics());
  } else if (!options.check && !options.write) {
    outcome.text += text;
    entry.set("text", text);
  }
  files.push_back(std::move(entry));
}

Outcome format(const FormatOptions& options) {
  Outcome outcome;
  std::vector<Report> files;
  for (const std::string& path : options.paths) {
    if (path == "-" && options.write) throw UsageError{"format: --write needs a file, not standard input"};
    format_file(path, options, outcome, files);
  }
  outcome.report.set("files", files);
  return outcome;
}

}  // namespace

void add_format(CLI::App& app, Command& command) {
  CLI::App* sub = add_command(app, command, "format", "Print tile programs in canonical form, comments kept");
  auto options = std::make_shared<FormatOptions>();
  sub->add_option("FILE", options->paths, "tile programs; - is standard input")->required();
  auto* write = sub->add_flag("--write", options->write, "write the files in place instead of printing them");
  sub->add_flag("--check", options->check, "only tell, by exit status 1, whether a file would change")->excludes(write);
  sub->callback([options, &command] { command.action = [options] { return format(*options); }; });
}

}  // namespace plait::cli
