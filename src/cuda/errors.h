#pragma once

#include "cuda/driver.h"

namespace plait::cuda {

/// A call of the driver that failed, in plain words, with the driver's own text as a note. `what` was being done, e.g.
/// "loading kernel f".
Diagnostic explain(const Driver& driver, Status status, std::string_view what, const Loc& loc = {});

/// One error with a note: what the vendor's software says, or where plait looked.
Diagnostics problem(Rule rule, std::string message, std::string note);

/// Nothing for `ok`, else the explanation.
Diagnostics check(const Driver& driver, Status status, std::string_view what, const Loc& loc = {});

}  // namespace plait::cuda
