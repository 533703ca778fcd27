#pragma once

#include <string>

#include "support/diagnostic.h"

namespace plait {

/// PLAIT_JIT=forbid: what is compiled at run time is an error, so that nothing is compiled where nobody expects it.
bool jit_is_forbidden();

/// Before `what` (a kernel, by its name) is compiled because someone needs it now: nothing, or why that may not be.
/// `fix`: where the code could come from.
Diagnostics check_jit(const std::string& what, const Loc& loc, const std::string& fix = {});

}  // namespace plait
