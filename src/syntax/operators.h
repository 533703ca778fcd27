#pragma once

#include "support/precedence.h"
#include "syntax/token.h"

namespace plait::syntax {

/// Precedence of a binary operator, kNone for other tokens.
inline Precedence binary_precedence(Tok op) { return infix_precedence(spelling(op)); }

}  // namespace plait::syntax
