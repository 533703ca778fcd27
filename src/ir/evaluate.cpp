#include "ir/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/numeric.h"
#include "support/diagnostic.h"

namespace plait::ir {
namespace {

template <typename T>
bool compare(BinaryOp op, T a, T b) {
  if (op == BinaryOp::eq) return a == b;
  if (op == BinaryOp::ne) return a != b;
  if (op == BinaryOp::lt) return a < b;
  if (op == BinaryOp::le) return a <= b;
  if (op == BinaryOp::gt) return a > b;
  return a >= b;
}

/// Quotient, remainder or rounded-up quotient of 64-bit numbers; the divisor is not zero.
std::uint64_t divide_unsigned(BinaryOp op, std::uint64_t a, std::uint64_t b) {
  if (op == BinaryOp::mod) return a % b;
  return a / b + (op == BinaryOp::ceil_div && a % b != 0 ? 1 : 0);
}

std::int64_t divide_signed(BinaryOp op, std::int64_t a, std::int64_t b) {
  // The one quotient that overflows wraps.
  if (b == -1) return op == BinaryOp::mod ? 0 : static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
  if (op == BinaryOp::mod) return a % b;
  bool up = op == BinaryOp::ceil_div && a % b != 0 && (a < 0) == (b < 0);
  return a / b + (up ? 1 : 0);
}

std::int64_t shift(BinaryOp op, DType type, std::int64_t a, std::int64_t count) {
  bool is_signed = is_signed_integer(type);
  bool inside = count >= 0 && count < dtype_bits(type);
  if (!inside) return op == BinaryOp::shr && is_signed && a < 0 ? -1 : 0;
  auto bits = static_cast<std::uint64_t>(a);
  if (op == BinaryOp::shl) return static_cast<std::int64_t>(bits << count);
  return is_signed ? a >> count : static_cast<std::int64_t>(bits >> count);
}

bool less(DType type, std::int64_t a, std::int64_t b) {
  return is_signed_integer(type) ? a < b : static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b);
}

bool compare_int(BinaryOp op, DType type, std::int64_t a, std::int64_t b) {
  if (is_signed_integer(type)) return compare(op, a, b);
  return compare(op, static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
}

/// The integer operators before they wrap; the divisor is not zero.
std::int64_t apply(BinaryOp op, DType type, std::int64_t a, std::int64_t b) {
  auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  switch (op) {
    case BinaryOp::add:
      return static_cast<std::int64_t>(x + y);
    case BinaryOp::sub:
      return static_cast<std::int64_t>(x - y);
    case BinaryOp::mul:
      return static_cast<std::int64_t>(x * y);
    case BinaryOp::div:
    case BinaryOp::mod:
    case BinaryOp::ceil_div:
      return is_signed_integer(type) ? divide_signed(op, a, b) : static_cast<std::int64_t>(divide_unsigned(op, x, y));
    case BinaryOp::min:
      return less(type, b, a) ? b : a;
    case BinaryOp::max:
      return less(type, a, b) ? b : a;
    case BinaryOp::bit_and:
      return a & b;
    case BinaryOp::bit_or:
      return a | b;
    case BinaryOp::bit_xor:
      return a ^ b;
    case BinaryOp::shl:
    case BinaryOp::shr:
      return shift(op, type, a, b);
    case BinaryOp::logical_and:
      return a != 0 && b != 0 ? 1 : 0;
    case BinaryOp::logical_or:
      return a != 0 || b != 0 ? 1 : 0;
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
      return compare_int(op, type, a, b) ? 1 : 0;
  }
  return 0;
}

bool divides(BinaryOp op) { return op == BinaryOp::div || op == BinaryOp::mod || op == BinaryOp::ceil_div; }

template <typename T>
T float_arithmetic(BinaryOp op, T a, T b) {
  if (op == BinaryOp::add) return a + b;
  if (op == BinaryOp::sub) return a - b;
  if (op == BinaryOp::mul) return a * b;
  if (op == BinaryOp::div) return a / b;
  PLAIT_ASSERT(op == BinaryOp::min || op == BinaryOp::max,
               "no operator on floats: " + std::string(binary_op_token(op)));
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  return op == BinaryOp::min ? std::min(a, b) : std::max(a, b);
}

double apply(Intrinsic fn, double a, double b) {
  switch (fn) {
    case Intrinsic::exp:
      return std::exp(a);
    case Intrinsic::exp2:
      return std::exp2(a);
    case Intrinsic::log:
      return std::log(a);
    case Intrinsic::log2:
      return std::log2(a);
    case Intrinsic::sqrt:
      return std::sqrt(a);
    case Intrinsic::rsqrt:
      return 1 / std::sqrt(a);
    case Intrinsic::sin:
      return std::sin(a);
    case Intrinsic::cos:
      return std::cos(a);
    case Intrinsic::tanh:
      return std::tanh(a);
    case Intrinsic::erf:
      return std::erf(a);
    case Intrinsic::sigmoid:
      return 1 / (1 + std::exp(-a));
    case Intrinsic::floor:
      return std::floor(a);
    case Intrinsic::ceil:
      return std::ceil(a);
    case Intrinsic::round:
      return std::round(a);
    case Intrinsic::trunc:
      return std::trunc(a);
    case Intrinsic::abs:
      return std::fabs(a);
    case Intrinsic::pow:
      return std::pow(a, b);
    case Intrinsic::isnan:
      return std::isnan(a) ? 1 : 0;
    case Intrinsic::isinf:
      return std::isinf(a) ? 1 : 0;
    case Intrinsic::fma:
      break;  // rounded once, so not by way of double
  }
  throw InternalError("fma has three operands");
}

/// Results of f32 arithmetic as values of `type`; a NaN made by arithmetic is the positive quiet one.
double finish(DType type, double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  return type == DType::f32 ? value : round_to(type, value);
}

}  // namespace

std::optional<std::int64_t> evaluate_int(BinaryOp op, DType type, std::int64_t a, std::int64_t b) {
  if (divides(op) && b == 0) return std::nullopt;
  std::int64_t result = apply(op, type, a, b);
  if (is_comparison(op)) return result;
  return int_to_int(type, result);
}

std::int64_t evaluate_int(UnaryOp op, DType type, std::int64_t a) {
  switch (op) {
    case UnaryOp::neg:
      return int_to_int(type, static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)));
    case UnaryOp::bit_not:
      return int_to_int(type, ~a);
    case UnaryOp::logical_not:
      return a == 0 ? 1 : 0;
  }
  return 0;
}

std::int64_t evaluate_abs(DType type, std::int64_t a) {
  return is_signed_integer(type) && a < 0 ? evaluate_int(UnaryOp::neg, type, a) : a;
}

ScalarValue evaluate_cast(DType to, const ScalarValue& value, Rounding rounding, bool saturate) {
  const bool from_float = is_float(value.type), from_u64 = value.type == DType::u64;
  if (is_bool(to)) return {to, from_float ? value.f != 0 : value.i != 0, 0};
  if (is_float(to)) {
    return {to, 0,
            from_float ? round_to(to, value.f, rounding, saturate) : int_to_float(to, value.i, from_u64, saturate)};
  }
  return {to, from_float ? float_to_int(to, value.f, rounding, saturate) : int_to_int(to, value.i, from_u64, saturate),
          0};
}

ScalarValue evaluate_bitcast(DType to, const ScalarValue& value) {
  const std::uint64_t bits =
      is_float(value.type) ? encode_float(value.type, value.f) : static_cast<std::uint64_t>(value.i);
  if (is_float(to)) return {to, 0, decode_float(to, bits)};
  return {to, int_to_int(to, static_cast<std::int64_t>(bits)), 0};
}

double evaluate_float(BinaryOp op, DType type, double a, double b) {
  if (type == DType::f64) return finish(type, float_arithmetic(op, a, b));
  return finish(type, float_arithmetic(op, static_cast<float>(a), static_cast<float>(b)));
}

bool compare_float(BinaryOp op, double a, double b) { return compare(op, a, b); }

double evaluate_call(Intrinsic fn, DType type, double a, double b, double c) {
  if (type == DType::f64) return finish(type, fn == Intrinsic::fma ? std::fma(a, b, c) : apply(fn, a, b));
  if (fn == Intrinsic::fma) {
    return finish(type, std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
  }
  return finish(type, round_to(DType::f32, apply(fn, a, b)));
}

}  // namespace plait::ir
