#pragma once

#include "roles/parse.h"
#include "session.h"

namespace plait::cli {

// What the commands do with role programs (FILE.roles).

Outcome check_roles(const ProgramOptions& options);
Outcome print_roles(const ProgramOptions& options);

}  // namespace plait::cli
