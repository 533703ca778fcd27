#pragma once

#include <set>
#include <string>

#include "ir/expr.h"
#include "support/diagnostic.h"

namespace plait::emit::c {

/// Prints what a launch computes on the host as C, with the meaning that runtime/eval.h gives it: overflow and division
/// by zero are found. Values are int64_t (of u64 the same bits) and double; a variable x is `v_x`; `n` is a pointer to
/// `struct num`, whose `failure` the first operation without a value sets.
class HostExprs {
 public:
  std::string text(const ir::ExprRef& expr);

  /// Variables that were named since the last call of take_variables().
  std::set<std::string> take_variables();
  /// The definitions of `struct num` and of the functions that were called, which nothing else defines.
  std::string helpers() const;
  /// Whether infinities or NaN were printed, which <math.h> defines.
  bool needs_math() const { return needs_math_; }
  /// What cannot be printed: functions, and floats that C does not have.
  const Diagnostics& refused() const { return refused_; }
  void refuse(const Loc& loc, const std::string& what);

 private:
  std::string print(const ir::Expr& expr, const ir::IntLit& lit);
  std::string print(const ir::Expr& expr, const ir::FloatLit& lit);
  std::string print(const ir::Expr& expr, const ir::VarRef& ref);
  std::string print(const ir::Expr& expr, const ir::Load& load);
  std::string print(const ir::Expr& expr, const ir::Unary& unary);
  std::string print(const ir::Expr& expr, const ir::Binary& binary);
  std::string print(const ir::Expr& expr, const ir::Select& select);
  std::string print(const ir::Expr& expr, const ir::Cast& cast);
  std::string print(const ir::Expr& expr, const ir::Bitcast& bitcast);
  std::string print(const ir::Expr& expr, const ir::Call& call);
  std::string float_operation(const ir::Expr& expr, const ir::Binary& binary);
  std::string compared(ir::DType type, const ir::Binary& binary);
  std::string called(const std::string& helper, ir::DType type, const std::string& arguments);
  std::string refused(const ir::Expr& expr, const std::string& what);

  std::set<std::string> variables_, helpers_;
  bool needs_math_ = false;
  Diagnostics refused_;
};

/// The name of a variable in what is printed.
std::string variable(const std::string& name);

}  // namespace plait::emit::c
