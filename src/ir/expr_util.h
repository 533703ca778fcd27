#pragma once

#include <functional>
#include <span>

#include "ir/build.h"

namespace plait::ir {

// Shared by the files that implement build.h.

ExprRef make_expr(DType type, Loc loc, ExprNode node, bool weak = false);
/// The place of `e`, or `otherwise` where it has none.
const Loc& place_of(const ExprRef& e, const Loc& otherwise);
/// A literal of float type `type`; `value` is already rounded to it.
ExprRef float_of(DType type, double value, Loc loc, bool weak = false);

/// A weak expression with `fn` of each of its literals in its place; null where one is null.
ExprRef map_weak(const ExprRef& weak, const std::function<ExprRef(const ExprRef&)>& fn);
/// A weak expression with floats for its integers.
ExprRef weak_float(const ExprRef& weak);
/// The literal as one of `type`; null after a report where it does not fit or may not become one.
ExprRef adopt_literal(DType type, const ExprRef& literal, const Loc& loc, Diagnostics& diags);
/// The same for a weak expression.
ExprRef adopt(DType type, const ExprRef& weak, const Loc& loc, Diagnostics& diags);
/// `e`, weak or of a type that `type` holds, as `type`.
ExprRef widen(DType type, const ExprRef& e, const Loc& loc, Diagnostics& diags);
/// Brings operands to their common type; `what` names the operator. Weak literals alone stay weak, of one kind. False
/// after a report.
bool unify(std::span<ExprRef> operands, std::string_view what, const Loc& loc, Diagnostics& diags);

/// Gives each weak operand its default type; false after a report.
bool settle_all(std::span<ExprRef> operands, const Loc& loc, Diagnostics& diags);

/// The literal that a cast of literal `a` gives.
ExprRef fold_cast(DType type, const Expr& a, Rounding rounding, bool saturate, const Loc& loc);
/// The rounding of a conversion to `type` where none is asked for.
Rounding default_rounding(DType type);

}  // namespace plait::ir
