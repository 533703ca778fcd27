#include "analysis/simplify.h"
#include "ir/evaluate.h"
#include "support/result.h"

namespace plait::analysis {

using namespace ir;

bool Rules::harmless(const ExprRef& expr) {
  return !any_of_tree(expr, [&](const Expr& node) {
    if (std::holds_alternative<Load>(node.node)) return true;
    const auto* e = std::get_if<Binary>(&node.node);
    bool divides = e != nullptr && (e->op == BinaryOp::div || e->op == BinaryOp::mod || e->op == BinaryOp::ceil_div);
    if (!divides || !is_integer(node.type)) return false;
    Interval divisor = range(e->b);
    return divisor.lo <= 0 && divisor.hi >= 0;
  });
}

Truth Rules::compare(BinaryOp op, const ExprRef& a, const ExprRef& b) { return solver_.decide(binary_expr(op, a, b)); }
Truth Rules::compare(BinaryOp op, const ExprRef& a, std::int64_t b) { return compare(op, a, int_expr(a->type, b)); }

ExprRef Rules::apply(const ExprRef& expr) {
  ExprRef result = known_value(expr);
  if (!result) result = candidate(expr);
  return result && expr_cost(result) < expr_cost(expr) ? result : nullptr;
}

ExprRef Rules::known_value(const ExprRef& expr) {
  if (!is_int_or_bool(expr->type) || std::holds_alternative<IntLit>(expr->node)) return nullptr;
  Interval values = range(expr);
  if (!values.single() || !harmless(expr)) return nullptr;
  return int_expr(expr->type, static_cast<std::int64_t>(values.lo), expr->loc);
}

ExprRef Rules::candidate(const ExprRef& expr) {
  return std::visit(
      Overload{[&](const Unary& e) { return unary(expr, e); }, [&](const Binary& e) { return binary(expr, e); },
               [&](const Select& e) { return select(expr, e); }, [&](const Cast& e) { return cast(expr, e); },
               [&](const Call& e) {
                 bool drops = e.fn == Intrinsic::abs && is_integer(expr->type) && range(e.args[0]).lo >= 0;
                 return drops ? e.args[0] : nullptr;
               },
               [](const auto&) { return ExprRef(); }},
      expr->node);
}

static BinaryOp negated(BinaryOp op) {
  if (op == BinaryOp::eq) return BinaryOp::ne;
  if (op == BinaryOp::ne) return BinaryOp::eq;
  if (op == BinaryOp::lt) return BinaryOp::ge;
  if (op == BinaryOp::ge) return BinaryOp::lt;
  return op == BinaryOp::le ? BinaryOp::gt : BinaryOp::le;
}

ExprRef Rules::unary(const ExprRef& expr, const Unary& e) {
  if (e.op == UnaryOp::neg && is_integer(expr->type)) return sum(expr);
  if (const auto* inner = std::get_if<Unary>(&e.a->node); inner && inner->op == e.op) return inner->a;
  const auto* test = std::get_if<Binary>(&e.a->node);
  // Not of floats: a comparison with NaN and its opposite are both false.
  bool flips = e.op == UnaryOp::logical_not && test && is_comparison(test->op) && is_int_or_bool(test->a->type);
  return flips ? binary_expr(negated(test->op), test->a, test->b, e.a->loc) : nullptr;
}

ExprRef Rules::binary(const ExprRef& expr, const Binary& e) {
  if (is_float(e.a->type)) return float_binary(e);
  if (auto a = std::get_if<IntLit>(&e.a->node), b = std::get_if<IntLit>(&e.b->node); a && b) {
    auto value = evaluate_int(e.op, e.a->type, a->value, b->value);
    return value ? int_expr(expr->type, *value, expr->loc) : nullptr;
  }
  switch (e.op) {
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul:
      return sum(expr);
    case BinaryOp::div:
    case BinaryOp::mod:
    case BinaryOp::ceil_div:
      return quotient(expr, e);
    case BinaryOp::min:
    case BinaryOp::max:
      return extreme(expr, e);
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::shl:
    case BinaryOp::shr:
      return bitwise(expr, e);
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
      return comparison(expr, e);
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
      return logical(e);
  }
  return nullptr;
}

ExprRef Rules::float_binary(const Binary& e) {
  auto is_one = [](const ExprRef& x) {
    const auto* lit = std::get_if<FloatLit>(&x->node);
    return lit != nullptr && lit->value == 1;
  };
  if ((e.op == BinaryOp::mul || e.op == BinaryOp::div) && is_one(e.b)) return e.a;
  if (e.op == BinaryOp::mul && is_one(e.a)) return e.b;
  bool extreme = e.op == BinaryOp::min || e.op == BinaryOp::max;
  return extreme && same_expr(e.a, e.b) ? e.a : nullptr;
}

ExprRef Rules::select(const ExprRef& expr, const Select& e) {
  if (auto cond = small_literal(e.cond)) return *cond != 0 ? e.if_true : e.if_false;
  if (same_expr(e.if_true, e.if_false) && harmless(e.cond)) return e.if_true;
  if (const auto* flip = std::get_if<Unary>(&e.cond->node); flip && flip->op == UnaryOp::logical_not) {
    return make_expr(expr->type, Select{flip->a, e.if_false, e.if_true}, expr->loc);
  }
  if (!is_bool(expr->type)) return nullptr;
  auto yes = small_literal(e.if_true), no = small_literal(e.if_false);
  if (yes == 1 && no == 0) return e.cond;
  if (yes == 0 && no == 1) return not_expr(e.cond);
  return nullptr;
}

ExprRef Rules::cast(const ExprRef& expr, const Cast& e) {
  if (e.a->type == expr->type && !is_float(expr->type)) return e.a;
  const auto* inner = std::get_if<Cast>(&e.a->node);
  if (inner == nullptr || !is_int_or_bool(inner->a->type) || !is_integer(e.a->type)) return nullptr;
  // The inner cast changes no value, so it may be left out.
  if (is_bool(e.a->type) || !range(inner->a).within(type_interval(e.a->type))) return nullptr;
  if (inner->a->type == expr->type) return inner->a;
  return make_expr(expr->type, Cast{inner->a, e.rounding, e.saturate}, expr->loc);
}

ExprRef Rules::comparison(const ExprRef& expr, const Binary& e) {
  if (harmless(expr)) {
    Truth truth = solver_.decide(expr);
    if (truth != Truth::unknown) return bool_expr(truth == Truth::always, expr->loc);
  }
  if (!is_bool(e.a->type)) return compared_forms(expr, e);
  auto literal = small_literal(e.b) ? small_literal(e.b) : small_literal(e.a);
  if (!literal || (e.op != BinaryOp::eq && e.op != BinaryOp::ne)) return nullptr;
  const ExprRef& other = small_literal(e.b) ? e.a : e.b;
  return (*literal != 0) == (e.op == BinaryOp::eq) ? other : not_expr(other);
}

ExprRef Rules::logical(const Binary& e) {
  bool is_and = e.op == BinaryOp::logical_and;
  // The value that decides: false for `and`, true for `or`.
  std::int64_t deciding = is_and ? 0 : 1;
  if (auto a = small_literal(e.a)) return *a == deciding ? e.a : e.b;
  if (auto b = small_literal(e.b)) {
    if (*b != deciding) return e.a;
    return harmless(e.a) ? e.b : nullptr;
  }
  if (same_expr(e.a, e.b)) return e.a;
  if (!harmless(e.a) || !harmless(e.b)) return nullptr;
  // b alone: where it does not decide, neither does a.
  solver_.push(is_and ? e.b : not_expr(e.b));
  Truth truth = solver_.decide(e.a);
  solver_.pop();
  return truth == (is_and ? Truth::always : Truth::never) ? e.b : nullptr;
}

}  // namespace plait::analysis
