#pragma once

#include "device_program.h"
#include "jit/jit.h"
#include "run_options.h"

namespace plait::cli {

/// What only role programs take.
struct RolesFlags {
  std::string architecture;  ///< empty: compile: that of the program's device; run: that of the device here
  std::string reference;     ///< kernel whose reference says what is right; empty: the program's own name
  bool allow_serialized = false;
};
void add_roles_flags(const Options& options, RolesFlags& flags);

/// `plait run` of a role program, or of a tile program for a GPU's model: on the GPU of this machine.
Outcome run_roles(RunRequest request, DeviceFlags target, RolesFlags flags, const Command& command);

/// What `plait compile` makes of a kernel or a role program.
struct Made {
  std::string name;  ///< of the kernel
  std::string content;
  Diagnostics warnings;
};
/// `plait compile` to what the folder of compiled code may hold: "ptx" or "cubin".
Result<Made> compile_cached(jit::Request request, const std::string& emit);
/// `plait compile` of a program for a GPU: its roles, the CUDA C++ ("source"), PTX or cubin.
Result<Made> compile_roles(DeviceProgram program, const std::string& emit, const RolesFlags& flags);

}  // namespace plait::cli
