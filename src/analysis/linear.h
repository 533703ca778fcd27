#pragma once

#include "analysis/interval.h"

namespace plait::analysis {

/// constant + Σ coefficient·atom modulo 2^bits of `type`, atoms being any expressions.
struct LinearForm {
  struct Term {
    ir::ExprRef atom;
    std::int64_t coefficient = 0;
  };
  ir::DType type = ir::DType::i64;
  std::int64_t constant = 0;
  std::vector<Term> terms;  ///< nonzero, in order of first occurrence
  /// No operation on the way wraps: the form is true of the integers too.
  bool exact = true;
  /// Atoms that cancelled.
  std::vector<ir::ExprRef> gone;
};

/// The form of an integer expression; an expression that is no sum is its own atom.
LinearForm linear_form(const ir::ExprRef& expr, Ranges& ranges);
/// The sum of `factor` times a form to another of the same type.
void add_form(LinearForm& to, const LinearForm& form, std::int64_t factor);
/// Readable text order: what is added, then what is subtracted, the constant last.
ir::ExprRef to_expr(const LinearForm& form, const Loc& loc);

}  // namespace plait::analysis
