#pragma once

#include "command.h"
#include "runtime/frontend.h"

namespace plait::cli {

/// A file that parsed.
struct Program {
  SourceRef source;
  syntax::File file;
};
Result<Program> load_program(const std::string& path);

/// The text of FILE. Standard input is read once, however often it is asked for.
Result<SourceRef> read_program(const std::string& path);
/// Whether FILE is a role program: by its name, and where that does not say by its first word.
bool holds_roles(const std::string& path);

/// The kernel that FILE, --kernel and -D name, ready to run.
struct Session {
  Program program;
  std::string kernel_name;
  lang::Bindings bindings;
  ir::Kernel kernel;
};
Result<Session> load_kernel(const std::string& path, const std::string& kernel, const lang::Bindings& bindings);

/// Throws a UsageError for dims of a command line that the kernel does not have.
void check_dims(const ir::Kernel& kernel, const std::map<std::string, std::int64_t>& dims);

/// What FILE, --kernel and -D of a command line were.
struct ProgramOptions {
  std::string path;
  std::string kernel;
  std::vector<std::string> bindings;
};
/// Adds FILE, --kernel and -D to a command.
void add_program_options(const Options& options, Command& command, ProgramOptions& into, bool file_required = true,
                         const std::string& kinds = "tile or role program");
/// A command that only tile programs have a meaning for.
void refuse_roles(const ProgramOptions& options, const std::string& command);

/// `name(A: in f32[M, K], alpha: f32; …)` of a kernel, on one line.
std::string signature(const ir::Kernel& kernel);

}  // namespace plait::cli
