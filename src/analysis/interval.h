#pragma once

#include <unordered_map>

#include "analysis/expr_util.h"

namespace plait::analysis {

/// All integers from lo to hi.
struct Interval {
  Wide lo = 0, hi = 0;
  bool single() const { return lo == hi; }
  bool within(const Interval& other) const { return lo >= other.lo && hi <= other.hi; }
  bool operator==(const Interval&) const = default;
};

/// The values of an integer type or of bool.
Interval type_interval(ir::DType type);
Interval hull(const Interval& a, const Interval& b);
/// Values of `a op b` over the integers for arithmetic, as an over-approximation; nullopt where nothing better than the
/// type is known. A zero divisor counts as never happening. Comparisons and logical operators give an interval of 0
/// and 1.
std::optional<Interval> apply(ir::BinaryOp op, const Interval& a, const Interval& b, ir::DType operand_type);

/// Ranges of integer expressions from the ranges of variables: cheap, without the relations between variables.
class Ranges {
 public:
  /// The domain must outlive the ranges.
  explicit Ranges(const Domain& domain);

  struct Entry {
    Interval range;
    /// The value may differ from the mathematical result of the operands' values: arithmetic wrapped, bits were cut, or
    /// the node is not arithmetic at all.
    bool opaque = false;
  };
  /// Precondition: an integer or bool expression.
  Entry of(const ir::ExprRef& expr);

  /// From here on the condition holds.
  void assume(const ir::ExprRef& cond, bool value = true);
  /// Definition of a let whose value means the same wherever it is used, or null.
  ir::ExprRef definition(const ir::VarDecl* var) const;
  Interval of_var(const ir::VarDecl& var) const;
  bool read_only(const ir::Buffer& buffer) const;
  /// Whether two evaluations of the expression at different times give the same value.
  bool stable(const ir::ExprRef& expr) const;

  struct State {
    std::unordered_map<const ir::VarDecl*, Interval> vars;
  };
  State save() const { return State{vars_}; }
  void restore(State state);

 private:
  Entry compute(const ir::ExprRef& expr);
  Entry checked(ir::DType type, std::optional<Interval> exact) const;
  Entry of_var_ref(const ir::Var& var);
  Entry of_unary(const ir::Expr& expr, const ir::Unary& e);
  bool product_of_extents(const ir::ExprRef& expr) const;
  Entry of_binary(const ir::ExprRef& expr, const ir::Binary& e);
  Entry of_select(const ir::Select& e);
  Entry of_cast(const ir::Expr& expr, const ir::Cast& e);
  Entry of_call(const ir::Expr& expr, const ir::Call& e);
  void assume_comparison(ir::BinaryOp op, const ir::ExprRef& a, const ir::ExprRef& b);
  void narrow(const ir::ExprRef& expr, const Interval& to);

  std::unordered_map<const ir::VarDecl*, Interval> vars_;
  const Domain& domain_;
  mutable std::unordered_map<const ir::VarDecl*, ir::ExprRef> definitions_;  ///< those asked for; null: none
  std::unordered_map<const ir::Expr*, std::pair<ir::ExprRef, Entry>> memo_;
  int depth_ = 0;
};

}  // namespace plait::analysis
