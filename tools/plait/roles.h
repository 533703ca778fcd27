#pragma once

#include "roles/parse.h"
#include "session.h"

namespace plait::cli {

// What the commands do with role programs (FILE.roles).

Outcome check_roles(const ProgramOptions& options);
Outcome print_roles(const ProgramOptions& options);
/// Why `plait format` leaves a role program alone.
Diagnostic no_format(const std::string& path);

}  // namespace plait::cli
