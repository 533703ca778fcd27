#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "ir/kernel.h"

namespace plait::analysis {

/// Dims, and products of a tensor's extents (an extent of 0 counting as 1), are at most this large: a call that binds
/// larger ones is refused. So index arithmetic over them does not wrap.
inline constexpr std::int64_t max_dim = (std::int64_t{1} << 47) - 1;

/// A loop or grid variable with its bounds, or a dim: what index expressions are affine in. Outer ones first.
struct DomainVar {
  ir::Var var;
  ir::ExprRef begin, end;  ///< null for a dim or a scalar: unbounded above, dims >= 0
  ir::ExprRef step;        ///< null means 1
};

/// The iterations around a statement, with the conditions that hold there (`require`, guards of enclosing ifs).
/// Variables that are not listed have any value of their type (dims: any value >= 0), the same in all expressions of
/// one query.
struct Domain {
  std::vector<DomainVar> vars;
  std::vector<ir::ExprRef> conditions;
  std::vector<std::pair<ir::Var, ir::ExprRef>> lets = {};  ///< definitions that hold here, outer ones first
  /// `in` parameters: two loads of one element are equal whenever they happen. Loads from other buffers are equal only
  /// inside one expression.
  std::vector<ir::Buffer> read_only = {};

  /// The dims that are extents of one tensor, for each tensor of several: their product is at most max_dim.
  std::vector<std::vector<ir::Var>> shapes = {};

  void add_loop(const ir::For& loop);
  /// From here on the condition holds, or does not.
  void assume(const ir::ExprRef& cond, bool holds = true);
  void add_let(const ir::Let& let) { lets.emplace_back(let.var, let.value); }
};

/// What holds everywhere in a kernel: dims, scalars, grid variables, requires, extents >= 0, read-only buffers.
Domain kernel_domain(const ir::Kernel& kernel);

/// Calls `visit` for every loop of a kernel, outer ones first, with the domain around it.
using LoopVisit = std::function<void(const ir::StmtRef&, const ir::For&, const Domain&)>;
void for_each_loop(const ir::Kernel& kernel, const LoopVisit& visit);

/// constant + Σ coefficient·var.
struct Affine {
  std::int64_t constant = 0;
  std::vector<std::pair<ir::Var, std::int64_t>> terms;  ///< nonzero, in order of first occurrence
  std::int64_t coefficient(const ir::VarDecl* var) const;
};
/// The affine form of an i64 expression (leaves of other integer types may be cast to i64), when it has one.
std::optional<Affine> affine(const ir::ExprRef& expr);

/// `unknown` whenever it cannot be decided, e.g. because an expression is not quasi-affine.
enum class Truth { always, never, unknown };
/// Whether a boolean expression holds in every iteration (always), in none (never), or cannot be decided. An empty
/// domain gives `always`.
Truth decide(const ir::ExprRef& cond, const Domain& domain);

/// Least and greatest value of an integer expression over the domain where they are numbers; none over an empty domain.
struct Bounds {
  std::optional<std::int64_t> min, max;
};
Bounds bounds(const ir::ExprRef& expr, const Domain& domain);

/// Whether two regions share an element of a buffer, both taken in the same iteration: always in every one, never in
/// none.
Truth overlap(const ir::Region& a, const ir::Region& b, const Domain& domain);

enum class DependenceKind { flow, anti, output };
/// From an access in iteration i of a loop to one in iteration i + distance. Flow: the reader may see what the writer
/// wrote (an element certainly overwritten in between carries none). Anti and output: to the next writer. Not provably
/// independent means dependent.
struct Dependence {
  DependenceKind kind;
  std::size_t from, to;  ///< statement numbers in the loop body
  ir::Buffer buffer;
  std::optional<std::int64_t> distance;  ///< the one or least distance; nullopt: unknown, treat as every distance >= 0
  bool exact = false;                    ///< distance is the only one

  bool carried() const { return !exact || !distance || *distance > 0; }
};
/// Dependences between the statements of a loop body, loop-independent (distance 0, from before to) and carried; at
/// most one for each (kind, from, to, buffer). What happens inside one statement within one iteration is left out. Of a
/// loop with several axes the distance is 0 or unknown. Buffers that nobody writes, and those of `outer.read_only`,
/// have none; a buffer allocated in the body has no carried ones.
std::vector<Dependence> dependences(const ir::For& loop, const Domain& outer);

/// Equal value, fewer operations, still readable: folds constants, cancels, drops min/max/mod/div/select that the
/// domain decides. Errors of the program (an index out of bounds, division by zero) are kept. Returns the same pointer
/// when nothing changed.
ir::ExprRef simplify(const ir::ExprRef& expr, const Domain& domain);

}  // namespace plait::analysis
