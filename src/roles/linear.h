#pragma once

#include <functional>
#include <map>

#include "roles/program.h"

namespace plait::roles {

/// constant + Σ factor·symbol, factors other than 0; symbols are numbers that the user gives out.
struct Linear {
  std::map<std::int64_t, std::int64_t> terms;
  std::int64_t constant = 0;

  static Linear of(std::int64_t value) { return {{}, value}; }
  static Linear symbol(std::int64_t number) { return {{{number, 1}}, 0}; }
  bool is_constant() const { return terms.empty(); }
  bool operator==(const Linear&) const = default;
};
Linear operator+(const Linear& a, const Linear& b);
Linear operator-(const Linear& a, const Linear& b);
Linear operator*(const Linear& a, std::int64_t factor);

/// What is known of a variable; nothing: nothing.
using LinearValues = std::function<std::optional<Linear>(const ir::VarDecl&)>;

/// An integer as a sum of what is known of its variables, as if no type wrapped; nothing where it is none.
std::optional<Linear> linear(const ExprRef& e, const LinearValues& values);
/// Whether a condition holds, where that follows from what is known.
std::optional<bool> holds(const ExprRef& e, const LinearValues& values);

}  // namespace plait::roles
