#pragma once

#include <functional>
#include <map>

#include "options.h"
#include "report.h"

namespace plait::cli {

enum ExitCode { kOk = 0, kBadInput = 1, kUsage = 2, kFault = 3 };

/// What a command leaves behind. main() writes `text`, or with --json `report`, to standard output, and the diagnostics
/// to standard error.
struct Outcome {
  std::string text;
  Report report;
  Diagnostics diagnostics;
  std::string remarks;  ///< for standard error, behind the diagnostics
  bool ok = true;
};

/// A command line that has the right form but makes no sense.
struct UsageError {
  std::string message;
};

/// The command chosen on the command line.
struct Command {
  std::function<Outcome()> action;
  bool json = false;
  std::string program;  ///< path of the tile program, to name it when plait itself fails
};

void add_check(CommandLine& line, Command& command);
void add_format(CommandLine& line, Command& command);
void add_print(CommandLine& line, Command& command);
void add_run(CommandLine& line, Command& command);
void add_compile(CommandLine& line, Command& command);
void add_devices(CommandLine& line, Command& command);
void add_sim(CommandLine& line, Command& command);
void add_graph(CommandLine& line, Command& command);
void add_schedule(CommandLine& line, Command& command);
void add_plan(CommandLine& line, Command& command);
void add_profile(CommandLine& line, Command& command);
void add_model(CommandLine& line, Command& command);
void add_explain(CommandLine& line, Command& command);
void add_fuse(CommandLine& line, Command& command);
void add_cache(CommandLine& line, Command& command);

/// A subcommand with --json and a footer that states the exit codes.
Options add_command(CommandLine& line, Command& command, const std::string& name, const std::string& summary);
Options add_command(const CommandGroup& group, Command& command, const std::string& name, const std::string& summary);

/// An option that may be given several times, each time with one NAME=VALUE.
Option add_assignments(const Options& options, const std::string& flag, std::vector<std::string>& into,
                       const std::string& help);
/// Checks of the text of an option.
TextCheck integer_check(std::uint64_t least, std::uint64_t most);
/// One of these words; `what` they are called, e.g. "form".
TextCheck word_check(const std::string& what, const std::vector<std::string>& words);

/// An option that takes a time in seconds.
Option add_seconds(const Options& options, const std::string& flag, double& into, const std::string& help);
/// Splits NAME=VALUE texts; a text without '=' or a name given twice throws UsageError.
std::map<std::string, std::string> parse_assignments(const std::vector<std::string>& texts, const std::string& flag);

/// The same of integers of 64 bits.
std::map<std::string, std::int64_t> dims_of(const std::vector<std::string>& texts, const std::string& flag);

/// Writes what the outcome says so far, so that it stands there while what is behind takes its time. With --json
/// nothing.
void say_now(const Command& command, Outcome& outcome);

/// Delivers the outcome and ends the process at once, whatever its other threads do: for a run that nothing else stops.
[[noreturn]] void end_now(const Command& command, const Outcome& outcome);

/// An outcome that only tells what went wrong.
Outcome failed(Diagnostics diagnostics);

}  // namespace plait::cli
