#include "interp/value.h"

#include <fmt/format.h>

#include <cmath>

#include "ir/evaluate.h"

namespace plait::interp {

using ir::BinaryOp;
using ir::DType;

DType sum_type(DType type) { return ir::is_float(type) && type != DType::f64 ? DType::f32 : type; }

ir::ScalarValue scalar(DType type, Value value) {
  return ir::is_float(type) ? ir::ScalarValue{type, 0, value.f} : ir::ScalarValue{type, value.i, 0};
}

Value from_scalar(const ir::ScalarValue& scalar) {
  return ir::is_float(scalar.type) ? float_value(scalar.f) : int_value(scalar.i);
}

Value convert(DType from, DType to, ir::Rounding rounding, bool saturate, Value value) {
  return from_scalar(ir::evaluate_cast(to, scalar(from, value), rounding, saturate));
}

Value reinterpret(DType from, DType to, Value value) {
  return from_scalar(ir::evaluate_bitcast(to, scalar(from, value)));
}

Value convert(DType from, DType to, Value value) {
  if (from == to) return value;
  return convert(from, to, ir::is_float(to) ? ir::Rounding::nearest_even : ir::Rounding::toward_zero, false, value);
}

bool same_value(DType from, DType to) {
  if (from == to) return true;
  if (ir::is_bool(from)) return ir::is_integer(to) && ir::dtype_bits(to) > 1;
  if (ir::is_bool(to) || ir::is_float(from) != ir::is_float(to)) return false;
  return ir::common_type(from, to) == to;
}

bool less(DType type, Value a, Value b) {
  if (ir::is_float(type)) return a.f < b.f;
  if (type == DType::u64) return static_cast<std::uint64_t>(a.i) < static_cast<std::uint64_t>(b.i);
  return a.i < b.i;
}

Value combine(BinaryOp op, DType type, Value a, Value b) {
  if (ir::is_float(type)) return float_value(ir::evaluate_float(op, type, a.f, b.f));
  return int_value(*ir::evaluate_int(op, type, a.i, b.i));
}

Value absolute(DType type, Value a) {
  if (ir::is_float(type)) return float_value(std::fabs(a.f));
  return int_value(ir::evaluate_abs(type, a.i));
}

std::string show(DType type, Value value) {
  if (ir::is_bool(type)) return value.i != 0 ? "true" : "false";
  if (type == DType::f64) return fmt::format("{}", value.f);
  if (ir::is_float(type)) return fmt::format("{}", static_cast<float>(value.f));
  if (type == DType::u64) return fmt::format("{}", static_cast<std::uint64_t>(value.i));
  return fmt::format("{}", value.i);
}

}  // namespace plait::interp
