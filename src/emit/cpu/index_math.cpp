#include "emit/cpu/index_math.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace plait::cpu {
namespace {

using ir::BinaryOp;

constexpr int most_bits = 62;
constexpr std::int64_t most_step = std::int64_t{1} << 40;

int checked_bits(int bits) { return bits > most_bits ? 0 : bits; }

Val known(Val value, int bits, std::int64_t multiple) {
  value.bits = bits;
  value.multiple = std::max<std::int64_t>(1, multiple);
  return value;
}

Val sum(Emitter& e, BinaryOp op, const Val& a, const Val& b) {
  const bool add = op == BinaryOp::add;
  const Val result =
      add ? linear(e.b.CreateAdd(a.v, b.v), a.step + b.step) : linear(e.b.CreateSub(a.v, b.v), a.step - b.step);
  const int bits = add && a.bits > 0 && b.bits > 0 ? checked_bits(std::max(a.bits, b.bits) + 1) : 0;
  return known(result, bits, std::gcd(a.multiple, b.multiple));
}

std::optional<Val> product(Emitter& e, const Val& a, const Val& b) {
  const Val& other = b.form == Form::uniform ? a : b;
  const Val& factor = b.form == Form::uniform ? b : a;
  if (factor.form != Form::uniform) return std::nullopt;
  const auto literal = const_int(factor.v);
  if (literal == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
  if (other.form == Form::linear &&
      (!literal.has_value() || std::abs(*literal) >= most_step / std::max<std::int64_t>(1, std::abs(other.step))))
    return std::nullopt;
  const Val result = linear(e.b.CreateMul(a.v, b.v), other.step * literal.value_or(0));
  const int bits = a.bits > 0 && b.bits > 0 ? checked_bits(a.bits + b.bits) : 0;
  const bool small = a.multiple <= most_step && b.multiple <= most_step / a.multiple;
  return known(result, bits, small ? a.multiple * b.multiple : std::max(a.multiple, b.multiple));
}

int quotient_bits(int bits, std::int64_t divisor) {
  return std::max(1, bits - (static_cast<int>(std::bit_width(static_cast<std::uint64_t>(divisor))) - 1));
}

/// a / c for a >= 0 and a literal c > 0.
Val quotient(Emitter& e, const Val& a, std::int64_t c) {
  const int bits = quotient_bits(a.bits, c);
  const std::int64_t multiple = a.multiple % c == 0 ? a.multiple / c : 1;
  llvm::Value* scalar = e.b.CreateUDiv(a.v, e.i64(c));
  if (a.form == Form::uniform) return known(uniform(scalar), bits, multiple);
  // All lanes lie between two neighbouring multiples of g, which divides c.
  const std::int64_t g = std::gcd(a.multiple, c);
  if (a.step > 0 && a.step * (e.lanes.count - 1) < g) return known(uniform(scalar), bits, multiple);
  if (a.step % c == 0 && a.multiple % c == 0) return known(linear(scalar, a.step / c), bits, multiple);
  llvm::Value* all = spread(e, a);
  return varying(e.b.CreateUDiv(all, llvm::ConstantInt::get(all->getType(), static_cast<std::uint64_t>(c))));
}

/// a % c for a >= 0 and a literal c > 0.
Val remainder(Emitter& e, const Val& a, std::int64_t c) {
  const int bits = std::min(a.bits, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(c))));
  const std::int64_t g = std::gcd(a.multiple, c);
  llvm::Value* scalar = e.b.CreateURem(a.v, e.i64(c));
  if (a.form == Form::uniform) return known(uniform(scalar), bits, g);
  if (a.step > 0 && a.step * (e.lanes.count - 1) < g) return known(linear(scalar, a.step), bits, g);
  if (a.step % c == 0) return known(uniform(scalar), bits, g);
  llvm::Value* all = spread(e, a);
  return varying(e.b.CreateURem(all, llvm::ConstantInt::get(all->getType(), static_cast<std::uint64_t>(c))));
}

/// v + lane < u as a comparison of 32-bit lane numbers with u - v, brought into their range first. No overflow: both
/// sides are in [0, 2^62).
Val lane_compare(Emitter& e, llvm::CmpInst::Predicate predicate, const Val& line, const Val& other) {
  llvm::Value* distance = e.b.CreateSub(other.v, line.v);
  distance = greatest(e, least(e, distance, e.i64(e.lanes.count + 1)), e.i64(-1));
  llvm::Value* bound =
      e.b.CreateVectorSplat(static_cast<unsigned>(e.lanes.count), e.b.CreateTrunc(distance, e.b.getInt32Ty()));
  return varying(e.b.CreateICmp(predicate, iota32(e), bound));
}

std::optional<Val> compare(Emitter& e, BinaryOp op, const Val& a, const Val& b) {
  using P = llvm::CmpInst;
  P::Predicate predicate = P::ICMP_SLT;
  if (op == BinaryOp::le) predicate = P::ICMP_SLE;
  if (op == BinaryOp::gt) predicate = P::ICMP_SGT;
  if (op == BinaryOp::ge) predicate = P::ICMP_SGE;
  if (a.bits == 0 || b.bits == 0) return std::nullopt;
  if (a.form == Form::linear && a.step == 1 && b.form == Form::uniform) return lane_compare(e, predicate, a, b);
  if (b.form == Form::linear && b.step == 1 && a.form == Form::uniform)
    return lane_compare(e, P::getSwappedPredicate(predicate), b, a);
  return std::nullopt;
}

std::optional<Val> divide(Emitter& e, BinaryOp op, const Val& a, const Val& b) {
  const auto c = b.form == Form::uniform ? const_int(b.v) : std::nullopt;
  if (a.bits == 0 || !c.has_value() || *c <= 0) return std::nullopt;
  if (op == BinaryOp::div) return quotient(e, a, *c);
  if (op == BinaryOp::mod) return remainder(e, a, *c);
  if (a.bits >= most_bits || *c > (std::int64_t{1} << most_bits)) return std::nullopt;
  Val up = a;
  up.v = e.b.CreateAdd(a.v, e.i64(*c - 1));
  up.bits = std::max(a.bits, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(*c)))) + 1;
  up.multiple = std::gcd(a.multiple, *c - 1);
  return quotient(e, up, *c);
}

}  // namespace

Val literal_index(llvm::Value* v, std::int64_t value) {
  constexpr std::int64_t any = std::int64_t{1} << 30;  // zero is a multiple of everything
  if (value == std::numeric_limits<std::int64_t>::min()) return uniform(v);
  const int bits = value < 0 ? 0 : std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))));
  return known(uniform(v), checked_bits(bits), value == 0 ? any : std::abs(value));
}

std::optional<Val> emit_index_math(Emitter& e, BinaryOp op, const Val& a, const Val& b) {
  if (a.form == Form::varying || b.form == Form::varying) return std::nullopt;
  if (std::abs(a.step) > most_step || std::abs(b.step) > most_step) return std::nullopt;
  switch (op) {
    case BinaryOp::add:
    case BinaryOp::sub:
      return sum(e, op, a, b);
    case BinaryOp::mul:
      return product(e, a, b);
    case BinaryOp::div:
    case BinaryOp::mod:
    case BinaryOp::ceil_div:
      return divide(e, op, a, b);
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
      return compare(e, op, a, b);
    case BinaryOp::min:
    case BinaryOp::max:
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::shl:
    case BinaryOp::shr:
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace plait::cpu
