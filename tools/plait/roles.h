#pragma once

#include "roles/parse.h"
#include "session.h"

namespace plait::cli {

// What the commands do with role programs (FILE.roles).

Outcome check_roles(const ProgramOptions& options);
/// `channels`: with mbarriers in place of the channels.
Outcome print_roles(const ProgramOptions& options, bool channels);

}  // namespace plait::cli
