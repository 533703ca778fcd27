#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "analysis/interval.h"
#include "analysis/isl_raii.h"

namespace plait::analysis {

/// What a parameter of the isl sets stands for.
struct Symbol {
  IslId id;
  ir::Var var;         ///< a variable, or
  ir::ExprRef opaque;  ///< an expression that is not quasi-affine (var is null), or neither: an auxiliary of a query
  bool stable = true;  ///< false: the value holds in one expression at one time only
};

/// Turns expressions into isl's quasi-affine functions and sets. Every symbol is a named parameter; all sets are
/// parameter sets.
class Translator {
 public:
  Translator(isl_ctx* ctx, Ranges& ranges);

  /// The value of an integer or bool expression; null after an isl failure.
  IslPwAff value(const ir::ExprRef& expr);
  /// Begin and extent (1 where it is null) of indices into a buffer, for questions about elements inside it only: a sum
  /// that wraps is taken for the integer that it is not, as either lies outside every buffer.
  std::pair<IslPwAff, IslPwAff> index(const ir::Range& range);
  /// Where a boolean expression holds; null after an isl failure.
  IslSet holds(const ir::ExprRef& cond);

  IslPwAff constant(Wide value);
  IslPwAff var(const ir::Var& var);
  /// A symbol that nothing else mentions.
  IslPwAff fresh();
  IslSet universe();
  IslSet nowhere();

  /// Loads from buffers that may be written have other values in what is translated from here on.
  void next_time();
  /// To be called when ranges changed.
  void forget();
  /// What the ranges in force say of the symbols (those that `which` accepts), to be intersected with every domain.
  IslSet facts(const std::function<bool(const Symbol&)>& which = nullptr);
  IslId id(const ir::Var& var);
  IslPwAff of_id(const IslId& id);
  const std::vector<Symbol>& symbols() const { return symbols_; }

 private:
  IslPwAff build(const ir::ExprRef& expr);
  IslPwAff index_sum(const ir::ExprRef& expr);
  IslPwAff build_unary(const ir::ExprRef& expr, const ir::Unary& e);
  IslPwAff build_binary(const ir::ExprRef& expr, const ir::Binary& e);
  IslPwAff build_product(const ir::Binary& e);
  IslPwAff build_quotient(ir::BinaryOp op, const ir::ExprRef& dividend, const ir::ExprRef& divisor);
  IslPwAff build_bitwise(const ir::Binary& e, ir::DType type);
  IslPwAff build_cast(const ir::ExprRef& expr, const ir::Cast& e);
  IslSet build_condition(const ir::ExprRef& cond);
  IslSet build_comparison(ir::BinaryOp op, const ir::ExprRef& a, const ir::ExprRef& b);
  IslPwAff indicator(IslSet set);
  IslPwAff choose(IslSet cond, IslPwAff yes, IslPwAff no);
  IslPwAff opaque(const ir::ExprRef& expr);
  IslPwAff add_symbol(Symbol symbol);
  IslSet symbol_facts(const Symbol& symbol);
  IslSet remainder_facts(const Symbol& symbol);
  IslSet quotient_facts(const Symbol& quotient, const Symbol& product);

  isl_ctx* ctx_;
  Ranges& ranges_;
  std::vector<Symbol> symbols_;
  std::unordered_map<const ir::VarDecl*, std::size_t> vars_;
  std::unordered_multimap<std::size_t, std::pair<int, std::size_t>> opaques_;  ///< hash -> (time, symbol)
  std::unordered_map<const ir::Expr*, std::pair<ir::ExprRef, IslPwAff>> values_;
  std::optional<std::pair<std::size_t, IslSet>> known_facts_;  ///< of so many symbols, under the ranges in force
  int time_ = 1;
  int depth_ = 0;
};

}  // namespace plait::analysis
