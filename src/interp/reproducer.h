#pragma once

#include <map>

#include "ir/kernel.h"

namespace plait::interp {

/// A run that went wrong, as far as the command line can repeat it.
struct FailedRun {
  std::string problem;  ///< what was found, one or more lines; e.g. Diagnostics::render()
  std::map<std::string, std::int64_t> dims;
  std::uint64_t seed = 0;            ///< of the inputs that are drawn
  std::vector<std::string> options;  ///< further words of the command line, e.g. "--device", "host", "--verify"
};

/// One file that repeats a failure: comments with the problem and the `plait run` command for a file at `path`, then
/// the program.
std::string reproducer_text(const ir::Kernel& kernel, const FailedRun& run, const std::string& path);
/// Writes it to `path`, or reports why it cannot.
Diagnostics write_reproducer(const ir::Kernel& kernel, const FailedRun& run, const std::string& path);

}  // namespace plait::interp
