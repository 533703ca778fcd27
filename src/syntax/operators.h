#pragma once

#include "syntax/token.h"

namespace plait::syntax {

/// How tightly operators bind, weakest first; docs/language.md has the same list.
enum Precedence : int {
  kNone,
  kOr,
  kAnd,
  kNot,
  kCompare,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kAtom,
};

/// Precedence of a binary operator, kNone for other tokens.
Precedence binary_precedence(Tok op);
/// The same by the operator's text.
Precedence binary_precedence(std::string_view op);

}  // namespace plait::syntax
