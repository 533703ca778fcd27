#pragma once

#include <optional>

#include "ir/expr.h"

namespace plait::ir {

// The operators and functions of docs/language.md, "Expressions and types", on values: integers and bool extended to 64
// bits as in IntLit, floats as the doubles of the same value. Operands have type `type`; comparisons and logical
// operators give 0 or 1.

/// Wraps as `type` does; nullopt for a division by zero.
std::optional<std::int64_t> evaluate_int(BinaryOp op, DType type, std::int64_t a, std::int64_t b);
std::int64_t evaluate_int(UnaryOp op, DType type, std::int64_t a);
/// Arithmetic, min and max; types narrower than f32 are computed in f32 and rounded.
double evaluate_float(BinaryOp op, DType type, double a, double b);
bool compare_float(BinaryOp op, double a, double b);
/// A function from floats of `type` to the same type; unused arguments are not looked at.
double evaluate_call(Intrinsic fn, DType type, double a, double b = 0, double c = 0);

}  // namespace plait::ir
