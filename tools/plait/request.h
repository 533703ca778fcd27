#pragma once

#include "jit/jit.h"
#include "run_roles.h"

namespace plait::cli {

/// What a command line asks to be compiled for a GPU: FILE for calls with these extents. Nothing for the model of
/// another machine, which load_device_program() says more about.
Result<std::optional<jit::Request>> read_request(const ProgramOptions& options, const DeviceFlags& target,
                                                 const RolesFlags& flags,
                                                 const std::map<std::string, std::int64_t>& dims);

}  // namespace plait::cli
