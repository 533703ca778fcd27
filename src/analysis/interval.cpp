#include "analysis/interval.h"

#include <algorithm>

namespace plait::analysis {

using namespace ir;

Interval type_interval(DType type) {
  if (is_bool(type)) return {0, 1};
  int bits = dtype_bits(type);
  if (is_signed_integer(type)) return {-(Wide(1) << (bits - 1)), (Wide(1) << (bits - 1)) - 1};
  return {0, (Wide(1) << bits) - 1};
}

Interval hull(const Interval& a, const Interval& b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

namespace {

Wide magnitude(Wide x) { return x < 0 ? -x : x; }

std::optional<Interval> multiply(const Interval& a, const Interval& b) {
  Wide corner[4];
  const Wide x[] = {a.lo, a.lo, a.hi, a.hi}, y[] = {b.lo, b.hi, b.lo, b.hi};
  for (int i = 0; i < 4; ++i) {
    if (__builtin_mul_overflow(x[i], y[i], &corner[i])) return std::nullopt;
  }
  auto [lo, hi] = std::minmax_element(corner, corner + 4);
  return Interval{*lo, *hi};
}

/// A quotient is monotonic in either operand while the divisor keeps its sign, so its extremes lie at the corners.
std::optional<Interval> divide(const Interval& a, const Interval& b, Wide (*quotient)(Wide, Wide)) {
  std::optional<Interval> result;
  auto add = [&](Wide lo, Wide hi) {
    if (lo > hi) return;
    for (Wide x : {a.lo, a.hi}) {
      for (Wide y : {lo, hi}) {
        Interval point{quotient(x, y), quotient(x, y)};
        result = result ? hull(*result, point) : point;
      }
    }
    // Between negative and positive dividends lies 0.
    if (a.lo <= 0 && a.hi >= 0) result = hull(*result, {0, 0});
  };
  add(b.lo, std::min(b.hi, Wide(-1)));
  add(std::max(b.lo, Wide(1)), b.hi);
  return result;
}

Wide truncated(Wide a, Wide b) { return a / b; }
Wide ceiling(Wide a, Wide b) { return a / b + ((a % b != 0 && (a < 0) == (b < 0)) ? 1 : 0); }

Interval remainder(const Interval& a, const Interval& b) {
  Wide limit = std::max(magnitude(b.lo), magnitude(b.hi)) - 1;
  if (limit < 0) limit = 0;
  if (a.lo >= 0 && b.lo > a.hi) return a;
  return {a.lo >= 0 ? 0 : -std::min(limit, -a.lo), a.hi <= 0 ? 0 : std::min(limit, a.hi)};
}

std::optional<Interval> bitwise(BinaryOp op, const Interval& a, const Interval& b) {
  if (op == BinaryOp::bit_and) {
    if (a.lo >= 0 && b.lo >= 0) return Interval{0, std::min(a.hi, b.hi)};
    if (a.lo >= 0) return Interval{0, a.hi};
    if (b.lo >= 0) return Interval{0, b.hi};
    return std::nullopt;
  }
  if (a.lo < 0 || b.lo < 0) return std::nullopt;
  Wide mask = 0;
  while (mask < a.hi || mask < b.hi) mask = mask * 2 + 1;
  return Interval{op == BinaryOp::bit_or ? std::max(a.lo, b.lo) : 0, mask};
}

std::optional<Interval> shift(BinaryOp op, const Interval& a, const Interval& count, DType type) {
  int bits = dtype_bits(type);
  if (!count.single() || count.lo < 0 || count.lo >= bits) {
    if (op == BinaryOp::shr) return Interval{std::min(a.lo, Wide(0)), std::max(a.hi, Wide(0))};
    return std::nullopt;
  }
  int n = static_cast<int>(count.lo);
  if (op == BinaryOp::shl) return multiply(a, {Wide(1) << n, Wide(1) << n});
  return Interval{a.lo >> n, a.hi >> n};
}

Interval truth(bool always, bool never) { return {always ? 1 : 0, never ? 0 : 1}; }

}  // namespace

std::optional<Interval> apply(BinaryOp op, const Interval& a, const Interval& b, DType type) {
  switch (op) {
    case BinaryOp::add:
      return Interval{a.lo + b.lo, a.hi + b.hi};
    case BinaryOp::sub:
      return Interval{a.lo - b.hi, a.hi - b.lo};
    case BinaryOp::mul:
      return multiply(a, b);
    case BinaryOp::div:
      return divide(a, b, truncated);
    case BinaryOp::ceil_div:
      return divide(a, b, ceiling);
    case BinaryOp::mod:
      return remainder(a, b);
    case BinaryOp::min:
      return Interval{std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case BinaryOp::max:
      return Interval{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
      return bitwise(op, a, b);
    case BinaryOp::shl:
    case BinaryOp::shr:
      return shift(op, a, b, type);
    case BinaryOp::eq:
      return truth(a.single() && a == b, a.hi < b.lo || b.hi < a.lo);
    case BinaryOp::ne:
      return truth(a.hi < b.lo || b.hi < a.lo, a.single() && a == b);
    case BinaryOp::lt:
      return truth(a.hi < b.lo, a.lo >= b.hi);
    case BinaryOp::le:
      return truth(a.hi <= b.lo, a.lo > b.hi);
    case BinaryOp::gt:
      return truth(a.lo > b.hi, a.hi <= b.lo);
    case BinaryOp::ge:
      return truth(a.lo >= b.hi, a.hi < b.lo);
    case BinaryOp::logical_and:
      return Interval{std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case BinaryOp::logical_or:
      return Interval{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  }
  return std::nullopt;
}

}  // namespace plait::analysis
