#pragma once

#include <optional>

#include "ir/expr.h"
#include "ir/tensor.h"

namespace plait::ir {

// The operators and functions of docs/language.md, "Expressions and types", on values: integers and bool extended to 64
// bits as in IntLit, floats as the doubles of the same value. Operands have type `type`; comparisons and logical
// operators give 0 or 1.

/// Wraps as `type` does; nullopt for a division by zero.
std::optional<std::int64_t> evaluate_int(BinaryOp op, DType type, std::int64_t a, std::int64_t b);
std::int64_t evaluate_int(UnaryOp op, DType type, std::int64_t a);
/// `abs`; the least number of a signed type stays.
std::int64_t evaluate_abs(DType type, std::int64_t a);
/// Arithmetic, min and max; types narrower than f32 are computed in f32 and rounded.
double evaluate_float(BinaryOp op, DType type, double a, double b);
bool compare_float(BinaryOp op, double a, double b);
/// A function from floats of `type` to the same type; unused arguments are not looked at.
double evaluate_call(Intrinsic fn, DType type, double a, double b = 0, double c = 0);

/// A cast, by the rules of docs/language.md, "Conversions".
ScalarValue evaluate_cast(DType to, const ScalarValue& value, Rounding rounding, bool saturate);
/// A bitcast between types of as many bits.
ScalarValue evaluate_bitcast(DType to, const ScalarValue& value);

}  // namespace plait::ir
