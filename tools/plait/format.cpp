#include <fmt/format.h>

#include "roles/format.h"
#include "roles/parse.h"
#include "runtime/files.h"
#include "session.h"

namespace plait::cli {
namespace {

struct FormatOptions {
  std::vector<std::string> paths;
  bool check = false;
  bool write = false;
};

struct Formatted {
  SourceRef source;
  std::string text;
};

Result<Formatted> formatted(const std::string& path) {
  if (holds_roles(path)) {
    auto source = read_program(path);
    if (!source) return source.diagnostics();
    auto text = roles::format(*source);
    if (!text) return text.diagnostics();
    return Formatted{*source, std::move(*text)};
  }
  auto program = load_program(path);
  if (!program) return program.diagnostics();
  return Formatted{program->source, syntax::format(program->file)};
}

/// Formats one file; what it changes goes where the options say.
void format_file(const std::string& path, const FormatOptions& options, Outcome& outcome, std::vector<Report>& files) {
  auto result = formatted(path);
  if (!result) return outcome.diagnostics.append(result.diagnostics());
  const std::string& text = result->text;
  bool changed = text != result->source->text();
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

void add_format(CommandLine& line, Command& command) {
  Options sub = add_command(line, command, "format", "Print tile and role programs in canonical form, comments kept");
  auto options = std::make_shared<FormatOptions>();
  sub.add("FILE", options->paths, "tile programs; - is standard input").required();
  Option write = sub.flag("--write", options->write, "write the files in place instead of printing them");
  sub.flag("--check", options->check, "only tell, by exit status 1, whether a file would change").excludes(write);
  sub.chosen([options, &command] { command.action = [options] { return format(*options); }; });
}

}  // namespace plait::cli
