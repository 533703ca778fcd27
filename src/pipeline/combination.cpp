#include <cmath>

#include "ir/build.h"
#include "ir/numeric.h"
#include "pipeline/threads.h"

namespace plait::pipeline {

using namespace ir;

namespace {

Value made_binary(BinaryOp op, const Value& a, const Value& b) {
  Diagnostics diags;
  ExprRef made = make_binary(op, a.expr(), b.expr(), {}, diags);
  PLAIT_ASSERT(made != nullptr, "a reduction is built wrongly:\n" + diags.render());
  return made;
}

Value least(DType type) {
  if (ir::is_float(type)) return typed_literal(type, -INFINITY);
  if (!ir::is_signed_integer(type)) return typed_int(type, 0);
  return typed_int(type, INT64_MIN >> (64 - dtype_bits(type)));
}

Value greatest(DType type) {
  if (ir::is_float(type)) return typed_literal(type, INFINITY);
  if (ir::is_bool(type)) return typed_int(type, 1);
  if (ir::is_signed_integer(type)) return typed_int(type, ~(INT64_MIN >> (64 - dtype_bits(type))));
  return typed_int(type, int_to_int(type, -1));
}

}  // namespace

Combination combination_of(OpKind kind) {
  switch (kind) {
    case OpKind::reduce_max:
      return {BinaryOp::max, false};
    case OpKind::reduce_min:
      return {BinaryOp::min, false};
    case OpKind::reduce_abssum:
      return {BinaryOp::add, true};
    case OpKind::reduce_absmax:
      return {BinaryOp::max, true};
    case OpKind::reduce_bitand:
      return {BinaryOp::bit_and, false};
    case OpKind::reduce_bitor:
      return {BinaryOp::bit_or, false};
    case OpKind::reduce_bitxor:
      return {BinaryOp::bit_xor, false};
    default:
      return {BinaryOp::add, false};
  }
}

Value bit_xor(const Value& a, const Value& b) { return made_binary(BinaryOp::bit_xor, a, b); }

Value Combination::combine(const Value& a, const Value& b) const {
  return made_binary(op, a, absolute ? roles::build::call(Intrinsic::abs, {b}) : b);
}

Value Combination::neutral(DType type) const {
  if (op == BinaryOp::min) return greatest(type);
  if (op == BinaryOp::max && !absolute) return least(type);
  if (op == BinaryOp::bit_and) return ir::is_bool(type) ? typed_int(type, 1) : typed_int(type, int_to_int(type, -1));
  return zero_of(type);
}

}  // namespace plait::pipeline
