#include "syntax/operators.h"

namespace plait::syntax {
namespace {

struct Operator {
  Tok token;
  Precedence precedence;
};
constexpr Operator kOperators[] = {
    {Tok::kw_or, kOr},          {Tok::kw_and, kAnd},         {Tok::equal, kCompare},    {Tok::not_equal, kCompare},
    {Tok::less, kCompare},      {Tok::less_equal, kCompare}, {Tok::greater, kCompare},  {Tok::greater_equal, kCompare},
    {Tok::bar, kBitOr},         {Tok::caret, kBitXor},       {Tok::ampersand, kBitAnd}, {Tok::shift_left, kShift},
    {Tok::shift_right, kShift}, {Tok::plus, kSum},           {Tok::minus, kSum},        {Tok::star, kProduct},
    {Tok::slash, kProduct},     {Tok::percent, kProduct},
};

}  // namespace

Precedence binary_precedence(Tok op) {
  for (const Operator& o : kOperators) {
    if (o.token == op) return o.precedence;
  }
  return kNone;
}

Precedence binary_precedence(std::string_view op) {
  for (const Operator& o : kOperators) {
    if (spelling(o.token) == op) return o.precedence;
  }
  return kNone;
}

}  // namespace plait::syntax
