#pragma once

#include <cstdint>
#include <string>

#include "ir/numeric.h"
#include "ir/tensor.h"

namespace plait::interp {

/// A value of any type: floats of every format as the double of the same value, integers sign- or zero-extended (u64 as
/// its bits), bool as 0 or 1. All bits zero is the zero of every type.
union Value {
  std::int64_t i;
  double f;
};

inline Value int_value(std::int64_t i) {
  Value v;
  v.i = i;
  return v;
}
inline Value float_value(double f) {
  Value v;
  v.f = f;
  return v;
}

/// The value of an argument.
Value from_scalar(const ir::ScalarValue& scalar);

/// The type in which sums of `type` are kept until they are stored: f32 for narrower floats, otherwise the type itself.
ir::DType sum_type(ir::DType type);

/// `value` of type `from` by the rules of docs/language.md, "Conversions".
Value convert(ir::DType from, ir::DType to, ir::Rounding rounding, bool saturate, Value value);
/// What a cast without `round=` and `saturate=` gives.
Value convert(ir::DType from, ir::DType to, Value value);
/// The bits of a value of `from` as a value of `to`, which has as many.
Value reinterpret(ir::DType from, ir::DType to, Value value);
/// Whether a value of `from` is stored alike as a value of `to`.
bool same_value(ir::DType from, ir::DType to);

/// One of add, min, max, bit_and, bit_or, bit_xor on values of `type`.
Value combine(ir::BinaryOp op, ir::DType type, Value a, Value b);
Value absolute(ir::DType type, Value a);
bool less(ir::DType type, Value a, Value b);

/// As `print` shows it: integers in decimal, true or false, floats with the fewest digits that read back as the value
/// (f64) or as the f32 of the same value (the others).
std::string show(ir::DType type, Value value);

}  // namespace plait::interp
