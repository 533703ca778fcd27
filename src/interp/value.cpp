#include "interp/value.h"

#include <fmt/format.h>

#include <cmath>

#include "ir/evaluate.h"

namespace plait::interp {

using ir::BinaryOp;
using ir::DType;

DType sum_type(DType type) { return ir::is_float(type) && type != DType::f64 ? DType::f32 : type; }

Value convert(DType from, DType to, ir::Rounding rounding, bool saturate, Value value) {
  const bool from_u64 = from == DType::u64;
  if (ir::is_bool(to)) return int_value(ir::is_float(from) ? value.f != 0 : value.i != 0);
  if (ir::is_float(from)) {
    if (ir::is_float(to)) return float_value(ir::round_to(to, value.f, rounding, saturate));
    return int_value(ir::float_to_int(to, value.f, rounding, saturate));
  }
  if (ir::is_float(to)) return float_value(ir::int_to_float(to, value.i, from_u64));
  return int_value(ir::int_to_int(to, value.i, from_u64, saturate));
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
  const bool negative = ir::is_signed_integer(type) && a.i < 0;
  return negative ? int_value(ir::evaluate_int(ir::UnaryOp::neg, type, a.i)) : a;
}

std::string show(DType type, Value value) {
  if (ir::is_bool(type)) return value.i != 0 ? "true" : "false";
  if (type == DType::f64) return fmt::format("{}", value.f);
  if (ir::is_float(type)) return fmt::format("{}", static_cast<float>(value.f));
  if (type == DType::u64) return fmt::format("{}", static_cast<std::uint64_t>(value.i));
  return fmt::format("{}", value.i);
}

}  // namespace plait::interp
