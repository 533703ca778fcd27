#pragma once

#include <unordered_map>

#include "roles/program.h"

namespace plait::roles {

/// What is known of an integer: least <= value <= most, and value ≡ rest (modulo `step`, a power of two). Bounds at the
/// ends of i64 say nothing.
struct Range {
  std::int64_t least = INT64_MIN, most = INT64_MAX;
  std::int64_t step = 1, rest = 0;

  static Range of(std::int64_t value);
  static Range between(std::int64_t least, std::int64_t most) { return {least, most, 1, 0}; }

  bool constant() const { return least == most; }
  /// A value that is as well aligned as all of them: the value itself, or the smallest one >= 0 with this rest.
  std::int64_t example() const { return constant() ? least : rest; }
  /// Whether no value is a multiple of `factor`, a power of two.
  bool never_multiple(std::int64_t factor) const;
};

/// Ranges of variables at a place of a role.
class Ranges {
 public:
  void set(const Var& var, const Range& range) { known_[var.get()] = range; }
  /// Of an integer or bool expression; anything else, and what is not understood, is any value of its type.
  Range of(const ExprRef& e) const;
  /// Nodes looked at so far.
  std::int64_t cost() const { return cost_; }

 private:
  std::unordered_map<const ir::VarDecl*, Range> known_;
  mutable std::int64_t cost_ = 0;
};

}  // namespace plait::roles
