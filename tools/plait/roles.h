#pragma once

#include "roles/parse.h"
#include "session.h"

namespace plait::cli {

// What the commands do with role programs (FILE.roles).

/// `device`: a machine model; empty: that of the program.
Outcome check_roles(const ProgramOptions& options, const std::string& device);
/// `channels`: with mbarriers in place of the channels.
Outcome print_roles(const ProgramOptions& options, const std::string& device, bool channels);

}  // namespace plait::cli
