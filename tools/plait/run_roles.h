#pragma once

#include "run_options.h"

namespace plait::cli {

/// What only role programs take.
struct RolesFlags {
  std::string architecture;  ///< empty: compile: that of the program's device; run: that of the device here
  std::string reference;     ///< kernel whose reference says what is right; empty: the program's own name
  bool allow_serialized = false;
};
void add_roles_flags(CLI::App& app, RolesFlags& flags);

/// `plait run FILE.roles`: on the GPU of this machine.
Outcome run_roles(RunRequest request, RolesFlags flags, const Command& command);

/// What `plait compile` makes of a kernel or a role program.
struct Made {
  std::string name;  ///< of the kernel
  std::string content;
  Diagnostics warnings;
};
/// `plait compile FILE.roles`: the CUDA C++ ("source"), PTX or cubin.
Result<Made> compile_roles(const std::string& path, const lang::Bindings& bindings, const std::string& emit,
                           const RolesFlags& flags);

}  // namespace plait::cli
