#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace plait {

/// How tightly the operators of the language bind, weakest first; docs/language.md has the same list.
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

inline constexpr std::array<std::pair<std::string_view, Precedence>, 18> kInfixOperators = {{
    {"or", kOr},
    {"and", kAnd},
    {"==", kCompare},
    {"!=", kCompare},
    {"<", kCompare},
    {"<=", kCompare},
    {">", kCompare},
    {">=", kCompare},
    {"|", kBitOr},
    {"^", kBitXor},
    {"&", kBitAnd},
    {"<<", kShift},
    {">>", kShift},
    {"+", kSum},
    {"-", kSum},
    {"*", kProduct},
    {"/", kProduct},
    {"%", kProduct},
}};

/// Precedence of an infix operator, kNone for any other text.
constexpr Precedence infix_precedence(std::string_view token) {
  for (const auto& [text, precedence] : kInfixOperators) {
    if (text == token) return precedence;
  }
  return kNone;
}

}  // namespace plait
