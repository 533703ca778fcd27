#pragma once

#include <unordered_map>

#include "analysis/linear.h"
#include "analysis/solver.h"

namespace plait::analysis {

/// One step of the simplifier: rewrites of the top of an expression whose operands are simple already. Each takes fewer
/// or cheaper operations than what it replaces.
class Rules {
 public:
  explicit Rules(Solver& solver) : solver_(solver) {}

  /// A cheaper expression of equal value, or null.
  ir::ExprRef apply(const ir::ExprRef& expr);

 private:
  ir::ExprRef candidate(const ir::ExprRef& expr);
  ir::ExprRef unary(const ir::ExprRef& expr, const ir::Unary& e);
  ir::ExprRef binary(const ir::ExprRef& expr, const ir::Binary& e);
  ir::ExprRef select(const ir::ExprRef& expr, const ir::Select& e);
  ir::ExprRef cast(const ir::ExprRef& expr, const ir::Cast& e);
  ir::ExprRef float_binary(const ir::Binary& e);
  ir::ExprRef sum(const ir::ExprRef& expr);
  ir::ExprRef quotient(const ir::ExprRef& expr, const ir::Binary& e);
  ir::ExprRef small_quotient(const ir::ExprRef& expr, const ir::Binary& e);
  ir::ExprRef nested_quotient(const ir::ExprRef& expr, const ir::Binary& e);
  ir::ExprRef product_quotient(const ir::ExprRef& expr, const ir::Binary& e);
  ir::ExprRef split_quotient(const ir::ExprRef& expr, const ir::Binary& e);
  ir::ExprRef extreme(const ir::ExprRef& expr, const ir::Binary& e);
  ir::ExprRef bitwise(const ir::ExprRef& expr, const ir::Binary& e);
  ir::ExprRef comparison(const ir::ExprRef& expr, const ir::Binary& e);
  ir::ExprRef compared_forms(const ir::ExprRef& expr, const ir::Binary& e);
  ir::ExprRef logical(const ir::Binary& e);
  ir::ExprRef known_value(const ir::ExprRef& expr);

  Truth compare(ir::BinaryOp op, const ir::ExprRef& a, const ir::ExprRef& b);
  Truth compare(ir::BinaryOp op, const ir::ExprRef& a, std::int64_t b);
  Interval range(const ir::ExprRef& expr) { return solver_.ranges().of(expr).range; }
  /// Whether evaluating the expression can never be an error of the program, so that it may be left out.
  bool harmless(const ir::ExprRef& expr);

  Solver& solver_;
};

/// Rough cost of evaluating and reading an expression, bounded.
std::int64_t expr_cost(const ir::ExprRef& expr);

}  // namespace plait::analysis
