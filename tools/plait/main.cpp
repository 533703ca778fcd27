// The command line: reads it, runs one command, writes what it leaves, and turns every failure into a message and an
// exit status.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include "command.h"
#include "plait/plait.h"
#include "runtime/files.h"

namespace plait::cli {
namespace {

/// A standard stream that is closed must not become the descriptor of the next file opened; what is written to it shall
/// fail.
void keep_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
      if (::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd) ::_exit(kFault);
    }
  }
}

void write_error(const std::string& text) { runtime::write_all(STDERR_FILENO, text); }

/// With --json standard output holds one object: whatever else a program or a library prints there goes to standard
/// error.
int output_descriptor = STDOUT_FILENO;

void set_output_apart() {
  output_descriptor = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

int write_output(const std::string& text, int code) {
  std::fflush(stdout);
  if (runtime::write_all(output_descriptor, text)) return code;
  write_error(fmt::format("plait: error: cannot write standard output: {}\n", std::strerror(errno)));
  return code == kOk ? kBadInput : code;
}

/// The object of a run that ended before its command could make one.
std::string failure_object(const std::string& message) {
  Report report;
  report.set("ok", false);
  report.set("error", message);
  return report.text();
}

int fail(const Command& command, int code, const std::string& message) {
  write_error(message);
  return command.json ? write_output(failure_object(message), code) : code;
}

int deliver(const Command& command, const Outcome& outcome) {
  write_error(outcome.diagnostics.render() + outcome.remarks);
  bool ok = outcome.ok && !outcome.diagnostics.has_errors();
  int code = ok ? kOk : kBadInput;
  if (!command.json) return write_output(outcome.text, code);
  Report report;
  report.set("ok", ok);
  report.merge(outcome.report);
  report.set("diagnostics", outcome.diagnostics);
  return write_output(report.text(), code);
}

int internal_error(const Command& command, const std::string& what) {
  std::string attach =
      command.program.empty() ? "the command line" : fmt::format("the command line and {}", command.program);
  return fail(command, kFault,
              fmt::format("plait: internal error: {}\nThis is a fault of plait {}, not of the input. Please report it "
                          "with this message and {} attached.\n",
                          what, PLAIT_VERSION, attach));
}

int run_action(const Command& command) {
  if (command.json) set_output_apart();
  try {
    return deliver(command, command.action());
  } catch (const UsageError& e) {
    return fail(command, kUsage, fmt::format("plait: {}\n", e.message));
  } catch (const std::bad_alloc&) {
    return fail(command, kBadInput, "plait: error: out of memory [out-of-memory]\n  fix: run with smaller extents\n");
  } catch (const std::exception& e) {
    return internal_error(command, e.what());
  }
}

/// What an interrupted run has half written goes away with it.
extern "C" void abandon(int signal) {
  runtime::StagedFile::abandon_all();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void clean_up_on_signals() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action{};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action.sa_handler = abandon;
    ::sigaction(signal, &action, nullptr);
  }
}

bool asks_for_json(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) return true;
  }
  return false;
}

int run(int argc, char** argv) {
  Command command;
  CommandLine line("plait", "plait: a tile compiler", fmt::format("plait {}", PLAIT_VERSION),
                   "`plait COMMAND --help` tells more. Exit status: 0 success, 1 the input is wrong, 2 the command "
                   "line is wrong, 3 a fault of plait.");
  add_check(line, command);
  add_format(line, command);
  add_print(line, command);
  add_run(line, command);
  add_compile(line, command);
  add_devices(line, command);
  add_sim(line, command);
  add_graph(line, command);
  add_schedule(line, command);
  add_plan(line, command);
  add_profile(line, command);
  add_model(line, command);
  add_explain(line, command);
  add_fuse(line, command);
  add_cache(line, command);
  if (auto answer = line.parse(argc, argv)) {
    if (answer->ok) return write_output(answer->text, kOk);
    command.json = asks_for_json(argc, argv);
    return fail(command, kUsage, fmt::format("plait: {}", answer->text));
  }
  return run_action(command);
}

}  // namespace

void say_now(const Command& command, Outcome& outcome) {
  if (command.json) return;
  std::fflush(stdout);
  // What cannot be written is tried again, and told of, at the end.
  if (runtime::write_all(output_descriptor, outcome.text)) outcome.text.clear();
}

void end_now(const Command& command, const Outcome& outcome) {
  runtime::StagedFile::abandon_all();
  ::_exit(deliver(command, outcome));
}

}  // namespace plait::cli

int main(int argc, char** argv) {
  plait::cli::keep_standard_streams();
  // What they are about then fails where it is done, with its error.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  plait::cli::clean_up_on_signals();
  return plait::cli::run(argc, argv);
}
