#include "roles/range.h"

#include <algorithm>
#include <limits>

#include "ir/evaluate.h"
#include "support/result.h"

namespace plait::roles {
namespace {

using ir::BinaryOp;

constexpr std::int64_t kMaxStep = std::int64_t{1} << 20;
/// Bounds beyond this are dropped, so that sums and differences do not overflow.
constexpr std::int64_t kMaxBound = std::int64_t{1} << 61;

std::int64_t modulo(std::int64_t value, std::int64_t step) { return ((value % step) + step) % step; }

Range of_type(DType type) {
  int bits = ir::dtype_bits(type);
  if (ir::is_bool(type)) return Range::between(0, 1);
  if (!ir::is_integer(type) || bits >= 64) return {};
  std::int64_t span = std::int64_t{1} << (ir::is_signed_integer(type) ? bits - 1 : bits);
  return Range::between(ir::is_signed_integer(type) ? -span : 0, span - 1);
}

/// The range with bounds that the type holds. A value that wraps keeps its rest, as steps divide the type's span.
Range in_type(Range range, DType type) {
  Range all = of_type(type);
  if (range.least > range.most || range.least < all.least || range.most > all.most || range.least < -kMaxBound ||
      range.most > kMaxBound) {
    range.least = all.least;
    range.most = all.most;
  }
  std::int64_t widest = ir::dtype_bits(type) >= 20 ? kMaxStep : std::int64_t{1} << ir::dtype_bits(type);
  range.step = std::min(range.step, widest);
  range.rest = modulo(range.rest, range.step);
  return range;
}

bool bounded(const Range& r) { return r.least >= -kMaxBound && r.most <= kMaxBound; }

Range plus(const Range& a, const Range& b, int sign) {
  Range out;
  if (bounded(a) && bounded(b)) {
    out.least = a.least + (sign > 0 ? b.least : -b.most);
    out.most = a.most + (sign > 0 ? b.most : -b.least);
  }
  out.step = std::min(a.step, b.step);
  out.rest = modulo(a.rest + sign * b.rest, out.step);
  return out;
}

/// The power of two that divides every value.
std::int64_t factor(const Range& r) {
  if (r.rest == 0) return r.step;
  return r.rest & -r.rest;
}

Range times(const Range& a, const Range& b) {
  Range out;
  constexpr std::int64_t kSmall = std::int64_t{1} << 30;
  bool small =
      std::max({std::abs(a.least / 2), std::abs(a.most / 2), std::abs(b.least / 2), std::abs(b.most / 2)}) < kSmall / 2;
  if (small) {
    auto [least, most] = std::minmax({a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most});
    out.least = least;
    out.most = most;
  }
  out.step = std::min({kMaxStep, a.step * factor(b), b.step * factor(a)});
  out.rest = modulo(a.rest * b.rest, out.step);
  return out;
}

Range over(const Range& a, const Range& b) {
  if (!b.constant() || b.least < 1 || a.least < 0) return {};
  Range out = Range::between(a.least / b.least, a.most == INT64_MAX ? INT64_MAX : a.most / b.least);
  if (a.step % b.least == 0) {
    out.step = a.step / b.least;
    out.rest = modulo(a.rest / b.least, out.step);
  }
  return out;
}

Range remainder(const Range& a, const Range& b) {
  if (b.least < 1) return {};
  Range out = Range::between(a.least < 0 ? -(b.most - 1) : 0, b.most - 1);
  if (a.least >= 0 && a.most < b.least) return a;
  if (a.least < 0 || !b.constant()) return out;
  out.step = std::min(a.step, factor(b));
  out.rest = modulo(a.rest, out.step);
  return out;
}

Range masked(const Range& a, const Range& b) {
  const Range& mask = b.constant() ? b : a;
  const Range& value = b.constant() ? a : b;
  if (!mask.constant() || mask.least < 0) return {};
  Range out = Range::between(0, mask.least);
  out.step = value.step;
  out.rest = modulo(value.rest & mask.least, out.step);
  return out;
}

Range join(const Range& a, const Range& b) {
  Range out = Range::between(std::min(a.least, b.least), std::max(a.most, b.most));
  out.step = std::min(a.step, b.step);
  while (modulo(a.rest, out.step) != modulo(b.rest, out.step)) out.step /= 2;
  out.rest = modulo(a.rest, out.step);
  return out;
}

Range smaller(const Range& a, const Range& b, bool least) {
  Range out = join(a, b);
  if (least) {
    out.most = std::min(a.most, b.most);
  } else {
    out.least = std::max(a.least, b.least);
  }
  return out;
}

bool is(const Range& r, std::int64_t value) { return r.constant() && r.least == value; }
bool disjoint(const Range& a, const Range& b) { return a.most < b.least || b.most < a.least; }

/// Whether a < b, where the bounds alone decide.
Range less(const Range& a, const Range& b) {
  if (a.most < b.least) return Range::of(1);
  return a.least >= b.most ? Range::of(0) : Range();
}
Range negated(const Range& r) { return r.constant() ? Range::of(1 - r.least) : r; }

Range combine(BinaryOp op, const Range& a, const Range& b) {
  switch (op) {
    case BinaryOp::add:
      return plus(a, b, 1);
    case BinaryOp::sub:
      return plus(a, b, -1);
    case BinaryOp::mul:
      return times(a, b);
    case BinaryOp::div:
      return over(a, b);
    case BinaryOp::mod:
      return remainder(a, b);
    case BinaryOp::bit_and:
      return masked(a, b);
    case BinaryOp::min:
      return smaller(a, b, true);
    case BinaryOp::max:
      return smaller(a, b, false);
    case BinaryOp::shl:
      return b.constant() && b.least >= 0 && b.least < 20 ? times(a, Range::of(std::int64_t{1} << b.least)) : Range();
    case BinaryOp::shr:
      return b.constant() && b.least >= 0 && b.least < 62 ? over(a, Range::of(std::int64_t{1} << b.least)) : Range();
    case BinaryOp::eq:
      return disjoint(a, b) ? Range::of(0) : Range();
    case BinaryOp::ne:
      return disjoint(a, b) ? Range::of(1) : Range();
    case BinaryOp::lt:
      return less(a, b);
    case BinaryOp::gt:
      return less(b, a);
    case BinaryOp::le:
      return negated(less(b, a));
    case BinaryOp::ge:
      return negated(less(a, b));
    case BinaryOp::logical_and:
      return is(a, 0) || is(b, 0) ? Range::of(0) : Range();
    case BinaryOp::logical_or:
      return is(a, 1) || is(b, 1) ? Range::of(1) : Range();
    case BinaryOp::ceil_div:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
      return {};
  }
  return {};
}

}  // namespace

Range Range::of(std::int64_t value) { return {value, value, kMaxStep, modulo(value, kMaxStep)}; }

bool Range::never_multiple(std::int64_t multiple) const {
  if (constant()) return least % multiple != 0;
  return rest % std::min(step, multiple) != 0;
}

Range Ranges::of(const ExprRef& e) const {
  ++cost_;
  if (!ir::is_integer(e->type) && !ir::is_bool(e->type)) return {};
  auto any = [&] { return of_type(e->type); };
  return std::visit(Overload{[&](const ir::IntLit& x) { return Range::of(x.value); },
                             [&](const ir::VarRef& x) {
                               auto it = known_.find(x.var.get());
                               return it == known_.end() ? any() : it->second;
                             },
                             [&](const ir::Binary& x) {
                               Range a = of(x.a), b = of(x.b);
                               if (a.constant() && b.constant()) {
                                 auto value = ir::evaluate_int(x.op, x.a->type, a.least, b.least);
                                 if (value) return Range::of(*value);
                               }
                               // Values of u64 beyond i64 are held as negative ones.
                               if (x.a->type == DType::u64 && ir::is_comparison(x.op)) return any();
                               return in_type(combine(x.op, a, b), e->type);
                             },
                             [&](const ir::Unary& x) {
                               Range a = of(x.a);
                               if (a.constant()) return Range::of(ir::evaluate_int(x.op, x.a->type, a.least));
                               return x.op == ir::UnaryOp::neg ? in_type(plus(Range::of(0), a, -1), e->type) : any();
                             },
                             [&](const ir::Select& x) {
                               Range cond = of(x.cond);
                               if (cond.constant()) return of(cond.least != 0 ? x.if_true : x.if_false);
                               return join(of(x.if_true), of(x.if_false));
                             },
                             [&](const ir::Cast& x) {
                               return ir::is_integer(x.a->type) && !x.saturate ? in_type(of(x.a), e->type) : any();
                             },
                             [&](const auto&) { return any(); }},
                    e->node);
}

}  // namespace plait::roles
