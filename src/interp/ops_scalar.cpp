#include <cmath>

#include "interp/handlers.h"
#include "interp/machine.h"
#include "ir/evaluate.h"

namespace plait::interp {

using ir::BinaryOp;
using ir::DType;

namespace {

// The common operators have an instruction of their own, the others share one that asks ir/evaluate.h, which is also
// what defines them all.

std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

struct Add {
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b) { return a + b; }
  static double apply(double a, double b) { return a + b; }
};
struct Sub {
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b) { return a - b; }
  static double apply(double a, double b) { return a - b; }
};
struct Mul {
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b) { return a * b; }
  static double apply(double a, double b) { return a * b; }
};
struct Div {
  static double apply(double a, double b) { return a / b; }
};
struct Min {
  static double apply(double a, double b) { return b < a || std::isnan(b) ? b : a; }
};
struct Max {
  static double apply(double a, double b) { return a < b || std::isnan(b) ? b : a; }
};
struct Less {
  template <typename T>
  static bool apply(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <typename T>
  static bool apply(T a, T b) {
    return a <= b;
  }
};
struct Equal {
  template <typename T>
  static bool apply(T a, T b) {
    return a == b;
  }
};
struct NotEqual {
  template <typename T>
  static bool apply(T a, T b) {
    return a != b;
  }
};
/// `a > b` as `b < a`.
template <typename Op>
struct Swapped {
  template <typename T>
  static bool apply(T a, T b) {
    return Op::apply(b, a);
  }
};

/// Signed integers: 64-bit arithmetic, then cut to the width of the type.
template <typename Op>
const Instr* run_signed(Machine& m, const Instr& in) {
  const std::uint64_t wide = Op::apply(bits(m.integer(in.a)), bits(m.integer(in.b)));
  m.reg(in.dst).i = static_cast<std::int64_t>(wide << in.shift) >> in.shift;
  return &in + 1;
}

template <typename Op>
const Instr* run_signed_compare(Machine& m, const Instr& in) {
  m.reg(in.dst).i = Op::apply(m.integer(in.a), m.integer(in.b)) ? 1 : 0;
  return &in + 1;
}

/// Any operator on any integer type; `c` is the operator's number.
const Instr* run_int(Machine& m, const Instr& in) {
  const std::int64_t a = m.integer(in.a), b = m.integer(in.b);
  const auto result = ir::evaluate_int(static_cast<BinaryOp>(in.c), in.type, a, b);
  if (!result) {
    m.fail(in.site, Rule::division_by_zero, std::to_string(a) + " is divided by zero");
    return nullptr;
  }
  m.reg(in.dst).i = *result;
  return &in + 1;
}

const Instr* run_float_any(Machine& m, const Instr& in) {
  m.reg(in.dst).f = ir::evaluate_float(static_cast<BinaryOp>(in.c), in.type, m.reg(in.a).f, m.reg(in.b).f);
  return &in + 1;
}

/// One f32 operation done in f64 and rounded to f32 is the f32 operation: 53 bits are more than twice 24 plus 1.
template <typename Op>
const Instr* run_f32(Machine& m, const Instr& in) {
  m.reg(in.dst).f = static_cast<float>(Op::apply(m.reg(in.a).f, m.reg(in.b).f));
  return &in + 1;
}

template <typename Op>
const Instr* run_f64(Machine& m, const Instr& in) {
  m.reg(in.dst).f = Op::apply(m.reg(in.a).f, m.reg(in.b).f);
  return &in + 1;
}

template <typename Op>
const Instr* run_float_compare(Machine& m, const Instr& in) {
  m.reg(in.dst).i = Op::apply(m.reg(in.a).f, m.reg(in.b).f) ? 1 : 0;
  return &in + 1;
}

template <typename Op>
Handler float_handler(DType type) {
  if (type == DType::f64) return run_f64<Op>;
  return type == DType::f32 ? run_f32<Op> : run_float_any;
}

Handler float_binary(BinaryOp op, DType type) {
  switch (op) {
    case BinaryOp::add:
      return float_handler<Add>(type);
    case BinaryOp::sub:
      return float_handler<Sub>(type);
    case BinaryOp::mul:
      return float_handler<Mul>(type);
    case BinaryOp::div:
      return float_handler<Div>(type);
    case BinaryOp::min:
      return run_f64<Min>;
    case BinaryOp::max:
      return run_f64<Max>;
    case BinaryOp::eq:
      return run_float_compare<Equal>;
    case BinaryOp::ne:
      return run_float_compare<NotEqual>;
    case BinaryOp::lt:
      return run_float_compare<Less>;
    case BinaryOp::le:
      return run_float_compare<LessEqual>;
    case BinaryOp::gt:
      return run_float_compare<Swapped<Less>>;
    case BinaryOp::ge:
      return run_float_compare<Swapped<LessEqual>>;
    case BinaryOp::mod:
    case BinaryOp::ceil_div:
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::shl:
    case BinaryOp::shr:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
      break;
  }
  return run_float_any;
}

Handler signed_binary(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return run_signed<Add>;
    case BinaryOp::sub:
      return run_signed<Sub>;
    case BinaryOp::mul:
      return run_signed<Mul>;
    case BinaryOp::eq:
      return run_signed_compare<Equal>;
    case BinaryOp::ne:
      return run_signed_compare<NotEqual>;
    case BinaryOp::lt:
      return run_signed_compare<Less>;
    case BinaryOp::le:
      return run_signed_compare<LessEqual>;
    case BinaryOp::gt:
      return run_signed_compare<Swapped<Less>>;
    case BinaryOp::ge:
      return run_signed_compare<Swapped<LessEqual>>;
    case BinaryOp::div:
    case BinaryOp::mod:
    case BinaryOp::ceil_div:
    case BinaryOp::min:
    case BinaryOp::max:
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::shl:
    case BinaryOp::shr:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
      break;
  }
  return run_int;
}

const Instr* run_negate_float(Machine& m, const Instr& in) {
  m.reg(in.dst).f = -m.reg(in.a).f;
  return &in + 1;
}

/// `c` is the operator's number.
const Instr* run_unary_int(Machine& m, const Instr& in) {
  m.reg(in.dst).i = ir::evaluate_int(static_cast<ir::UnaryOp>(in.c), in.type, m.integer(in.a));
  return &in + 1;
}

/// `target` is the function's number.
const Instr* run_call(Machine& m, const Instr& in) {
  const auto fn = static_cast<ir::Intrinsic>(in.target);
  m.reg(in.dst).f = ir::evaluate_call(fn, in.type, m.reg(in.a).f, m.reg(in.b).f, m.reg(in.c).f);
  return &in + 1;
}

const Instr* run_absolute(Machine& m, const Instr& in) {
  m.reg(in.dst) = absolute(in.type, m.reg(in.a));
  return &in + 1;
}

const Instr* run_is_nan(Machine& m, const Instr& in) {
  m.reg(in.dst).i = std::isnan(m.reg(in.a).f) ? 1 : 0;
  return &in + 1;
}

const Instr* run_is_inf(Machine& m, const Instr& in) {
  m.reg(in.dst).i = std::isinf(m.reg(in.a).f) ? 1 : 0;
  return &in + 1;
}

}  // namespace

Handler binary_handler(BinaryOp op, DType type) {
  if (ir::is_float(type)) return float_binary(op, type);
  return ir::is_signed_integer(type) ? signed_binary(op) : run_int;
}

Handler unary_handler(ir::UnaryOp op, DType type) {
  if (ir::is_float(type) && op == ir::UnaryOp::neg) return run_negate_float;
  return run_unary_int;
}

Handler call_handler(ir::Intrinsic fn) {
  if (fn == ir::Intrinsic::abs) return run_absolute;
  if (fn == ir::Intrinsic::isnan) return run_is_nan;
  return fn == ir::Intrinsic::isinf ? run_is_inf : run_call;
}

const Instr* run_move(Machine& m, const Instr& in) {
  m.reg(in.dst) = m.reg(in.a);
  return &in + 1;
}

const Instr* run_cast(Machine& m, const Instr& in) {
  const CastCode& cast = m.program().casts[static_cast<std::size_t>(in.b)];
  m.reg(in.dst) = convert(cast.from, cast.to, cast.rounding, cast.saturate, m.reg(in.a));
  return &in + 1;
}

const Instr* run_bitcast(Machine& m, const Instr& in) {
  const CastCode& cast = m.program().casts[static_cast<std::size_t>(in.b)];
  m.reg(in.dst) = reinterpret(cast.from, cast.to, m.reg(in.a));
  return &in + 1;
}

}  // namespace plait::interp
