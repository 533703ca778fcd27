#pragma once

#include <optional>

#include "ir/kernel.h"

namespace plait::analysis {

/// A loop or grid variable with its bounds, or a dim: what index expressions are affine in. Outer ones first.
struct DomainVar {
  ir::Var var;
  ir::ExprRef begin, end;  ///< null for a dim or a scalar: unbounded above, dims >= 0
  ir::ExprRef step;
};
/// The iterations around a statement, with the conditions that hold there (`require`, guards of enclosing ifs).
struct Domain {
  std::vector<DomainVar> vars;
  std::vector<ir::ExprRef> conditions;
};

/// begin + Σ coefficient·var, when `expr` has this form (constants folded, shared subtrees allowed); nullopt otherwise.
struct Affine {
  std::int64_t constant = 0;
  std::vector<std::pair<ir::Var, std::int64_t>> terms;  ///< nonzero, in order of first occurrence
  std::int64_t coefficient(const ir::VarDecl* var) const;
};
std::optional<Affine> affine(const ir::ExprRef& expr);

/// What can be said of `lower <= expr` and `expr < upper` over a domain; `unknown` whenever an expression is not (quasi-)affine.
enum class Truth { always, never, unknown };
/// Whether a boolean expression holds in every iteration (always), in none (never), or cannot be decided. An empty domain gives `always`.
Truth decide(const ir::ExprRef& cond, const Domain& domain);
/// Least and greatest value of an integer expression over the domain where they are numbers.
struct Bounds {
  std::optional<std::int64_t> min, max;
};
Bounds bounds(const ir::ExprRef& expr, const Domain& domain);

/// Whether two regions of one buffer can share an element in some iteration of the domain; `never` only when proved.
Truth overlap(const ir::Region& a, const ir::Region& b, const Domain& domain);

enum class DependenceKind { flow, anti, output };
/// From an access in iteration i of a loop to one in iteration i + distance. Not provably independent counts as dependent at every distance.
struct Dependence {
  DependenceKind kind;
  std::size_t from, to;             ///< statement numbers in the loop body
  ir::Buffer buffer;
  std::optional<std::int64_t> distance;  ///< the one or least distance; nullopt: unknown, treat as every distance >= 0
  bool exact = false;               ///< distance is the only one
};
/// Dependences between the statements of a loop body, loop-independent (distance 0, from before to) and carried.
std::vector<Dependence> dependences(const ir::For& loop, const Domain& outer);

/// Equal value, fewer operations, still readable: folds constants, cancels, drops min/max/mod/div/select that the domain decides. Returns the same pointer when nothing changed.
ir::ExprRef simplify(const ir::ExprRef& expr, const Domain& domain);

}  // namespace plait::analysis
