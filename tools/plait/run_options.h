#pragma once

#include "session.h"

namespace plait::cli {

/// The command line of `plait run`, NAME=VALUE texts taken apart.
struct RunRequest {
  std::string path;
  std::string kernel;
  std::string device = "host";
  lang::Bindings bindings;
  std::map<std::string, std::int64_t> dims;
  std::map<std::string, std::string> inputs, outputs;  ///< files
  std::map<std::string, ir::DType> dtypes;             ///< of raw files
  std::map<std::string, std::string> scalars;
  std::uint64_t seed = 0;
  int threads = 0;
  bool verify = false;
  bool bench = false;
  bool checks = true;
  double interpreter_seconds = 20;  ///< that the interpreter may take
  double timeout = 0;               ///< seconds that everything may take; 0: no limit
  std::string reproducer_folder = "plait-reproducers";
  /// Is told a line before what it announces is done.
  std::function<void(const std::string&)> announce = [](const std::string&) {};
};

}  // namespace plait::cli
