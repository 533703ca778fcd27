#pragma once

#include "analysis/affine.h"

namespace plait::analysis {

/// What is known of one index of one element access, or of one range of a tile region in an on-chip buffer.
struct AccessFact {
  ir::StmtRef stmt;
  const ir::Expr* load = nullptr;      ///< the Load; null: the element that stmt itself stores to, or a region
  const ir::Region* region = nullptr;  ///< points into stmt
  std::size_t dim = 0;
  /// Whether 0 <= index < extent (a region: the whole range lies inside) in every execution, in none, or unknown.
  Truth in_bounds = Truth::unknown;
  /// Whatever the arguments, if the access is executed at all, some execution leaves the buffer: the program is wrong.
  bool refuted = false;
};
/// One fact for each (stmt, load or region, dim), in program order. Accesses under `select`, `and`, `or`, `if`,
/// `assert` and in loops count only where these let them happen.
std::vector<AccessFact> check_accesses(const ir::Kernel& kernel);

struct ParallelConflict {
  /// Whether different iterations touch one element, at least one of them writing and not both atomically: never is
  /// proved independence; always: they do whenever two iterations reach these accesses, whatever the arguments.
  Truth conflict = Truth::unknown;
  ir::StmtRef first, second;  ///< the accesses that conflict or may; null for never
  ir::Buffer buffer;
};
/// The worst pair of accesses of a parallel loop (the first conflicting one, else the first unknown one).
ParallelConflict parallel_conflicts(const ir::For& parallel, const Domain& outer);

}  // namespace plait::analysis
