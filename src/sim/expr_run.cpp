#include <fmt/format.h>

#include <cmath>

#include "ir/evaluate.h"
#include "sim/access.h"
#include "sim/machine.h"

namespace plait::sim {

using ir::BinaryOp;
using ir::DType;

namespace {

/// Applies fn to the operands of every lane that the instruction has.
template <typename Fn>
void for_lanes(Evaluation& e, const ExprInstr& in, Fn fn) {
  Value* dst = e.file + in.dst;
  const Value *a = e.file + in.a, *b = e.file + in.b, *c = e.file + in.c;
  for (int i = 0; i < in.lanes; ++i) {
    fn(dst[i], *a, *b, *c);
    a += in.step_a;
    b += in.step_b;
    c += in.step_c;
  }
}

/// One f32 operation done in f64 and rounded to f32 is the f32 operation: 53 bits are more than twice 24 plus 1.
struct Add {
  static double apply(double a, double b) { return a + b; }
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b) { return a + b; }
};
struct Sub {
  static double apply(double a, double b) { return a - b; }
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b) { return a - b; }
};
struct Mul {
  static double apply(double a, double b) { return a * b; }
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b) { return a * b; }
};
struct Div {
  static double apply(double a, double b) { return a / b; }
};
struct Max {
  static double apply(double a, double b) { return a < b || std::isnan(b) ? b : a; }
};

template <typename Op>
void run_f32(Evaluation& e, const ExprInstr& in) {
  for_lanes(e, in, [](Value& d, Value a, Value b, Value) { d.f = static_cast<float>(Op::apply(a.f, b.f)); });
}

/// Whether the lane of a value takes part: a value of all lanes, where any does.
bool takes_part(const Evaluation& e, const ExprInstr& in, int lane) {
  return (e.mask & (in.lanes == 1 ? kAllLanes : LaneMask{1} << lane)) != 0;
}

void fail(Evaluation& e, Rule rule, std::string message) {
  e.failed = true;
  if (!e.machine.told(rule, e.site)) e.machine.fail(rule, e.site, std::move(message));
}

/// Reports a result that its signed type cannot hold: C++ leaves that undefined.
void fail_overflow(Evaluation& e, DType type, const std::string& text) {
  fail(e, Rule::sim_overflow, fmt::format("{} overflows {}", text, ir::dtype_name(type)));
}

/// Whether the exact result of an operator is none of the signed type, and undefined: narrower types are computed in
/// int, and wrap.
bool overflows(BinaryOp op, DType type, std::int64_t a, std::int64_t b) {
  constexpr int int_bits = 32;
  if (ir::dtype_bits(type) < int_bits) return false;
  std::int64_t result = 0;
  bool beyond = false;
  if (op == BinaryOp::add) {
    beyond = __builtin_add_overflow(a, b, &result);
  } else if (op == BinaryOp::sub) {
    beyond = __builtin_sub_overflow(a, b, &result);
  } else if (op == BinaryOp::mul) {
    beyond = __builtin_mul_overflow(a, b, &result);
  } else if (op == BinaryOp::div || op == BinaryOp::mod || op == BinaryOp::ceil_div) {
    beyond = b == -1 && __builtin_sub_overflow(std::int64_t{0}, a, &result);
  }
  return beyond || ir::int_to_int(type, result) != result;
}

bool is_shift(BinaryOp op) { return op == BinaryOp::shl || op == BinaryOp::shr; }

/// Reports an operation whose result is undefined.
void fail_undefined(Evaluation& e, const ExprInstr& in, BinaryOp op, std::int64_t a, std::int64_t b) {
  if (is_shift(op)) {
    fail(e, Rule::sim_shift, fmt::format("a value of {} bits is shifted by {}", ir::dtype_bits(in.type), b));
  } else {
    fail_overflow(e, in.type, fmt::format("{} {} {}", a, ir::binary_op_token(op), b));
  }
}

/// Any operator on integers. A lane that does not take part may divide by zero, overflow or shift too far.
void run_int_any(Evaluation& e, const ExprInstr& in) {
  auto op = static_cast<BinaryOp>(in.extra);
  int lane = 0;
  for_lanes(e, in, [&](Value& d, Value a, Value b, Value) {
    auto result = ir::evaluate_int(op, in.type, a.i, b.i);
    d.i = result.value_or(0);
    if (!takes_part(e, in, lane++)) return;
    if (!result) fail(e, Rule::division_by_zero, std::to_string(a.i) + " is divided by zero");
    if (is_undefined(op, in.type, a.i, b.i)) fail_undefined(e, in, op, a.i, b.i);
  });
}

template <typename Op>
void run_i32(Evaluation& e, const ExprInstr& in) {
  bool wraps = false;
  for_lanes(e, in, [&](Value& d, Value a, Value b, Value) {
    // Of two 32-bit numbers all sums and products fit 64 bits.
    auto exact = static_cast<std::int64_t>(Op::apply(static_cast<std::uint64_t>(a.i), static_cast<std::uint64_t>(b.i)));
    d.i = static_cast<std::int32_t>(exact);
    wraps |= d.i != exact;
  });
  if (wraps) run_int_any(e, in);  // finds the lane
}

void run_fma_f32(Evaluation& e, const ExprInstr& in) {
  for_lanes(e, in, [](Value& d, Value a, Value b, Value c) {
    d.f = std::fma(static_cast<float>(a.f), static_cast<float>(b.f), static_cast<float>(c.f));
  });
}

/// Functions of one f32 in f32, as ir::evaluate_call has them.
void run_exp2_f32(Evaluation& e, const ExprInstr& in) {
  for_lanes(e, in, [](Value& d, Value a, Value, Value) { d.f = static_cast<float>(std::exp2(a.f)); });
}

/// Any operator on floats; `extra` is the operator's number.
void run_float_any(Evaluation& e, const ExprInstr& in) {
  auto op = static_cast<BinaryOp>(in.extra);
  for_lanes(e, in, [&](Value& d, Value a, Value b, Value) { d.f = ir::evaluate_float(op, in.type, a.f, b.f); });
}

void run_float_compare(Evaluation& e, const ExprInstr& in) {
  auto op = static_cast<BinaryOp>(in.extra);
  for_lanes(e, in, [&](Value& d, Value a, Value b, Value) { d.i = ir::compare_float(op, a.f, b.f) ? 1 : 0; });
}

void run_unary_int(Evaluation& e, const ExprInstr& in) {
  auto op = static_cast<ir::UnaryOp>(in.extra);
  bool negates = op == ir::UnaryOp::neg && ir::is_signed_integer(in.type);
  int lane = 0;
  for_lanes(e, in, [&](Value& d, Value a, Value, Value) {
    bool overflow = negates && overflows(BinaryOp::sub, in.type, 0, a.i) && takes_part(e, in, lane);
    ++lane;
    if (overflow) fail_overflow(e, in.type, fmt::format("-({})", a.i));
    d.i = ir::evaluate_int(op, in.type, a.i);
  });
}

void run_negate(Evaluation& e, const ExprInstr& in) {
  for_lanes(e, in, [](Value& d, Value a, Value, Value) { d.f = -a.f; });
}

void run_call(Evaluation& e, const ExprInstr& in) {
  auto fn = static_cast<ir::Intrinsic>(in.extra);
  for_lanes(e, in, [&](Value& d, Value a, Value b, Value c) { d.f = ir::evaluate_call(fn, in.type, a.f, b.f, c.f); });
}

void run_absolute(Evaluation& e, const ExprInstr& in) {
  int lane = 0;
  for_lanes(e, in, [&](Value& d, Value a, Value, Value) {
    bool overflow =
        ir::is_signed_integer(in.type) && overflows(BinaryOp::sub, in.type, 0, a.i) && takes_part(e, in, lane);
    ++lane;
    if (overflow) fail_overflow(e, in.type, fmt::format("abs({})", a.i));
    d = interp::absolute(in.type, a);
  });
}

void run_is_nan(Evaluation& e, const ExprInstr& in) {
  for_lanes(e, in, [](Value& d, Value a, Value, Value) { d.i = std::isnan(a.f) ? 1 : 0; });
}

void run_is_inf(Evaluation& e, const ExprInstr& in) {
  for_lanes(e, in, [](Value& d, Value a, Value, Value) { d.i = std::isinf(a.f) ? 1 : 0; });
}

}  // namespace

bool is_undefined(BinaryOp op, DType type, std::int64_t a, std::int64_t b) {
  // A count of u64 beyond i64 is negative here.
  if (is_shift(op)) return b < 0 || b >= ir::dtype_bits(type);
  return ir::is_signed_integer(type) && overflows(op, type, a, b);
}

ExprHandler binary_handler(BinaryOp op, DType type) {
  if (ir::is_float(type)) {
    if (ir::is_comparison(op)) return run_float_compare;
    if (type != DType::f32) return run_float_any;
    if (op == BinaryOp::add) return run_f32<Add>;
    if (op == BinaryOp::sub) return run_f32<Sub>;
    if (op == BinaryOp::mul) return run_f32<Mul>;
    if (op == BinaryOp::div) return run_f32<Div>;
    return op == BinaryOp::max ? run_f32<Max> : run_float_any;
  }
  if (type == DType::i32 && op == BinaryOp::add) return run_i32<Add>;
  if (type == DType::i32 && op == BinaryOp::sub) return run_i32<Sub>;
  if (type == DType::i32 && op == BinaryOp::mul) return run_i32<Mul>;
  return run_int_any;
}

ExprHandler unary_handler(ir::UnaryOp op, DType type) {
  return ir::is_float(type) && op == ir::UnaryOp::neg ? run_negate : run_unary_int;
}

ExprHandler call_handler(ir::Intrinsic fn, DType type) {
  if (fn == ir::Intrinsic::abs) return run_absolute;
  if (fn == ir::Intrinsic::isnan) return run_is_nan;
  if (fn == ir::Intrinsic::isinf) return run_is_inf;
  if (type == DType::f32 && fn == ir::Intrinsic::fma) return run_fma_f32;
  if (type == DType::f32 && fn == ir::Intrinsic::exp2) return run_exp2_f32;
  return run_call;
}

void run_select(Evaluation& e, const ExprInstr& in) {
  for_lanes(e, in, [](Value& d, Value cond, Value a, Value b) { d = cond.i != 0 ? a : b; });
}

void run_cast(Evaluation& e, const ExprInstr& in) {
  const CastCode& cast = e.machine.code().casts[static_cast<std::size_t>(in.extra)];
  for_lanes(e, in, [&](Value& d, Value a, Value, Value) {
    d = interp::convert(cast.from, cast.to, cast.rounding, cast.saturate, a);
  });
}

void run_bitcast(Evaluation& e, const ExprInstr& in) {
  const CastCode& cast = e.machine.code().casts[static_cast<std::size_t>(in.extra)];
  for_lanes(e, in, [&](Value& d, Value a, Value, Value) {
    auto bits = ir::is_float(cast.from) ? ir::encode_float(cast.from, a.f) : static_cast<std::uint64_t>(a.i);
    if (ir::is_float(cast.to)) {
      d.f = ir::decode_float(cast.to, bits);
    } else {
      d.i = ir::int_to_int(cast.to, static_cast<std::int64_t>(bits));
    }
  });
}

void run_narrow(Evaluation& e, const ExprInstr& in) {
  e.outer.push_back(e.mask);
  const Value* cond = e.file + in.a;
  LaneMask holds = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((cond[lane * in.step_a].i != 0) == (in.extra == 0)) holds |= LaneMask{1} << lane;
  }
  e.mask &= holds;
  if (e.mask == 0) e.next += in.skip;
}

void run_widen(Evaluation& e, const ExprInstr&) {
  e.mask = e.outer.back();
  e.outer.pop_back();
}

}  // namespace plait::sim
