#pragma once

#include "support/result.h"

namespace plait::roles {

/// The canonical text of a role program as it is written: compile-time parameters, comments and the blank lines between
/// statements stay (one at a time), blocks are indented by two spaces, tokens stand apart as docs/roles.md has them;
/// lines are broken in brackets where they were. A text that is not well formed is refused.
Result<std::string> format(const SourceRef& source);

}  // namespace plait::roles
