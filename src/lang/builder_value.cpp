// Values of the C++ form: literals, operators, functions.
#include <fmt/format.h>

#include <algorithm>

#include "lang/builder_state.h"
#include "lang/elaborator.h"

namespace plait {

using detail::BuilderState;
using ir::BinaryOp;
using ir::ExprRef;
using ir::Intrinsic;
using ir::UnaryOp;

static_assert(static_cast<int>(ir::DType::bool_) == PLAIT_BOOL && static_cast<int>(ir::DType::u64) == PLAIT_U64 &&
              static_cast<int>(ir::DType::e2m1) == PLAIT_E2M1 && static_cast<int>(ir::DType::f64) == PLAIT_F64);

namespace {

constexpr int kMaxValueDepth = 200;

Value binary(BinaryOp op, const Value& a, const Value& b) {
  return BuilderState::combine({&a, &b}, [op](std::vector<ExprRef> e, Diagnostics& diags) {
    return ir::make_binary(op, e[0], e[1], {}, diags);
  });
}

Value unary(UnaryOp op, const Value& a) {
  return BuilderState::combine(
      {&a}, [op](std::vector<ExprRef> e, Diagnostics& diags) { return ir::make_unary(op, e[0], {}, diags); });
}

Value call(Intrinsic fn, const std::vector<const Value*>& args) {
  return BuilderState::combine(
      args, [fn](std::vector<ExprRef> e, Diagnostics& diags) { return ir::make_call(fn, std::move(e), {}, diags); });
}

std::optional<ir::Rounding> rounding(std::optional<Round> round) {
  if (!round) return std::nullopt;
  switch (*round) {
    case Round::nearest_even:
      return ir::Rounding::nearest_even;
    case Round::toward_zero:
      return ir::Rounding::toward_zero;
    case Round::down:
      return ir::Rounding::down;
    case Round::up:
      return ir::Rounding::up;
  }
  return std::nullopt;
}

}  // namespace

namespace detail {

void throw_error(const Diagnostics& diags) { throw Error(PLAIT_REJECTED, diags.render(), diags.to_json()); }

void BuilderState::report(const std::shared_ptr<BuilderState>& state, const Diagnostics& found) {
  if (found.empty()) return;
  if (state == nullptr) throw_error(found);
  state->pending_.append(found);
}

Value BuilderState::combine(const std::vector<const Value*>& operands, const Maker& make) {
  std::shared_ptr<BuilderState> state;
  std::vector<ExprRef> exprs;
  std::int64_t nodes = 1;
  int depth = 0;
  bool whole = true, mixed = false;
  for (const Value* operand : operands) {
    if (state == nullptr) state = operand->state_;
    mixed = mixed || (operand->state_ != nullptr && operand->state_ != state);
    exprs.push_back(operand->expr_);
    whole = whole && operand->expr_ != nullptr;
    nodes += operand->nodes_;
    depth = std::max(depth, operand->depth_);
  }
  Diagnostics found;
  ++depth;
  if (mixed) {
    found.error(Rule::builder_use, {}, "an expression joins values of two builders");
    // Each of them then refuses to build.
    for (const Value* operand : operands) {
      if (operand->state_ != nullptr && operand->state_ != state) report(operand->state_, found);
    }
  }
  if (nodes > lang::kMaxNodes || depth > kMaxValueDepth) {
    found.error(Rule::expansion_limit, {}, fmt::format("an expression grows to {} nodes, {} deep", nodes, depth),
                "fix parts of it with let");
  }
  ExprRef result = whole && found.empty() ? make(std::move(exprs), found) : nullptr;
  report(state, found);
  return Value(std::move(state), std::move(result), nodes, depth);
}

Value BuilderState::load(const Ref& ref) {
  const std::shared_ptr<BuilderState>& state = ref.state_;
  if (ref.buffer_ == nullptr) return state->leaf(nullptr);
  Diagnostics found;
  Loc at = state->loc(ref.at_);
  std::vector<const Value*> operands;
  for (const Index& index : ref.index_) {
    if (index.range_) {
      found.error(Rule::not_a_value, at, fmt::format("a tile of `{}` is not a value", ref.buffer_->name));
      break;
    }
    operands.push_back(&*index.begin_);
  }
  if (!found.empty()) {
    report(state, found);
    return state->leaf(nullptr);
  }
  Value base = state->leaf(ir::int_literal(0));
  operands.push_back(&base);  // gives an element of literal indices its builder
  return combine(operands, [&](std::vector<ExprRef> e, Diagnostics& diags) {
    e.pop_back();
    for (ExprRef& index : e) index = lang::to_i64(index, diags);
    return ir::make_load(ref.buffer_, std::move(e), at, diags);
  });
}

}  // namespace detail

Value Value::from_bool(bool literal) { return BuilderState::literal(ir::bool_literal(literal)); }
Value Value::from_signed(std::int64_t literal) { return BuilderState::literal(ir::int_literal(literal)); }
Value Value::from_float(double literal) { return BuilderState::literal(ir::float_literal(literal)); }
Value Value::from_unsigned(std::uint64_t literal) {
  auto bits = static_cast<std::int64_t>(literal);
  return BuilderState::literal(bits >= 0 ? ir::int_literal(bits) : ir::typed_int(ir::DType::u64, bits));
}
Value::Value(const Ref& element) : Value(BuilderState::load(element)) {}

Value DType::operator()(const Value& x, const CastOptions& options) const {
  return BuilderState::combine({&x}, [&](std::vector<ExprRef> e, Diagnostics& diags) {
    return ir::make_cast(static_cast<ir::DType>(type_), e[0], rounding(options.round), options.saturate, {}, diags);
  });
}

Value operator+(const Value& a, const Value& b) { return binary(BinaryOp::add, a, b); }
Value operator-(const Value& a, const Value& b) { return binary(BinaryOp::sub, a, b); }
Value operator*(const Value& a, const Value& b) { return binary(BinaryOp::mul, a, b); }
Value operator/(const Value& a, const Value& b) { return binary(BinaryOp::div, a, b); }
Value operator%(const Value& a, const Value& b) { return binary(BinaryOp::mod, a, b); }
Value operator&(const Value& a, const Value& b) { return binary(BinaryOp::bit_and, a, b); }
Value operator|(const Value& a, const Value& b) { return binary(BinaryOp::bit_or, a, b); }
Value operator^(const Value& a, const Value& b) { return binary(BinaryOp::bit_xor, a, b); }
Value operator<<(const Value& a, const Value& b) { return binary(BinaryOp::shl, a, b); }
Value operator>>(const Value& a, const Value& b) { return binary(BinaryOp::shr, a, b); }
Value operator==(const Value& a, const Value& b) { return binary(BinaryOp::eq, a, b); }
Value operator!=(const Value& a, const Value& b) { return binary(BinaryOp::ne, a, b); }
Value operator<(const Value& a, const Value& b) { return binary(BinaryOp::lt, a, b); }
Value operator<=(const Value& a, const Value& b) { return binary(BinaryOp::le, a, b); }
Value operator>(const Value& a, const Value& b) { return binary(BinaryOp::gt, a, b); }
Value operator>=(const Value& a, const Value& b) { return binary(BinaryOp::ge, a, b); }
Value operator&&(const Value& a, const Value& b) { return binary(BinaryOp::logical_and, a, b); }
Value operator||(const Value& a, const Value& b) { return binary(BinaryOp::logical_or, a, b); }
Value operator-(const Value& a) { return unary(UnaryOp::neg, a); }
Value operator~(const Value& a) { return unary(UnaryOp::bit_not, a); }
Value operator!(const Value& a) { return unary(UnaryOp::logical_not, a); }

Value ceildiv(const Value& a, const Value& b) { return binary(BinaryOp::ceil_div, a, b); }
Value min(const Value& a, const Value& b) { return binary(BinaryOp::min, a, b); }
Value max(const Value& a, const Value& b) { return binary(BinaryOp::max, a, b); }
Value select(const Value& cond, const Value& if_true, const Value& if_false) {
  return BuilderState::combine({&cond, &if_true, &if_false}, [](std::vector<ExprRef> e, Diagnostics& diags) {
    return ir::make_select(e[0], e[1], e[2], {}, diags);
  });
}
Value bitcast(DType type, const Value& x) {
  return BuilderState::combine({&x}, [&](std::vector<ExprRef> e, Diagnostics& diags) {
    return ir::make_bitcast(static_cast<ir::DType>(plait_dtype(type)), e[0], {}, diags);
  });
}
Value exp(const Value& x) { return call(Intrinsic::exp, {&x}); }
Value exp2(const Value& x) { return call(Intrinsic::exp2, {&x}); }
Value log(const Value& x) { return call(Intrinsic::log, {&x}); }
Value log2(const Value& x) { return call(Intrinsic::log2, {&x}); }
Value sqrt(const Value& x) { return call(Intrinsic::sqrt, {&x}); }
Value rsqrt(const Value& x) { return call(Intrinsic::rsqrt, {&x}); }
Value sin(const Value& x) { return call(Intrinsic::sin, {&x}); }
Value cos(const Value& x) { return call(Intrinsic::cos, {&x}); }
Value tanh(const Value& x) { return call(Intrinsic::tanh, {&x}); }
Value erf(const Value& x) { return call(Intrinsic::erf, {&x}); }
Value sigmoid(const Value& x) { return call(Intrinsic::sigmoid, {&x}); }
Value floor(const Value& x) { return call(Intrinsic::floor, {&x}); }
Value ceil(const Value& x) { return call(Intrinsic::ceil, {&x}); }
Value round(const Value& x) { return call(Intrinsic::round, {&x}); }
Value trunc(const Value& x) { return call(Intrinsic::trunc, {&x}); }
Value abs(const Value& x) { return call(Intrinsic::abs, {&x}); }
Value pow(const Value& x, const Value& y) { return call(Intrinsic::pow, {&x, &y}); }
Value fma(const Value& a, const Value& b, const Value& c) { return call(Intrinsic::fma, {&a, &b, &c}); }
Value isnan(const Value& x) { return call(Intrinsic::isnan, {&x}); }
Value isinf(const Value& x) { return call(Intrinsic::isinf, {&x}); }

}  // namespace plait
