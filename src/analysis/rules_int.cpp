#include <algorithm>
#include <numeric>

#include "analysis/simplify.h"
#include "ir/evaluate.h"

namespace plait::analysis {

using namespace ir;

ExprRef Rules::sum(const ExprRef& expr) {
  LinearForm form = linear_form(expr, solver_.ranges());
  if (!std::all_of(form.gone.begin(), form.gone.end(), [&](auto& e) { return harmless(e); })) return nullptr;
  return to_expr(form, expr->loc);
}

ExprRef Rules::quotient(const ExprRef& expr, const Binary& e) {
  using Rule = ExprRef (Rules::*)(const ExprRef&, const Binary&);
  for (Rule rule :
       {&Rules::small_quotient, &Rules::nested_quotient, &Rules::product_quotient, &Rules::split_quotient}) {
    ExprRef result = (this->*rule)(expr, e);
    if (result) return result;
  }
  return nullptr;
}

/// a / 1, and quotients and remainders of 0 <= a < b.
ExprRef Rules::small_quotient(const ExprRef& expr, const Binary& e) {
  if (small_literal(e.b) == 1 && e.op != BinaryOp::mod) return e.a;
  if (e.op == BinaryOp::ceil_div || range(e.b).hi <= 0 || !harmless(expr)) return nullptr;
  if (compare(BinaryOp::ge, e.a, 0) != Truth::always || compare(BinaryOp::lt, e.a, e.b) != Truth::always) {
    return nullptr;
  }
  return e.op == BinaryOp::mod ? e.a : int_expr(expr->type, 0, expr->loc);
}

/// a / c / d is a / (c·d), a % c % d is a % d where d divides c; for positive literals.
ExprRef Rules::nested_quotient(const ExprRef& expr, const Binary& e) {
  const auto* inner = std::get_if<Binary>(&e.a->node);
  if (inner == nullptr || inner->op != e.op) return nullptr;
  auto c = small_literal(inner->b), d = small_literal(e.b);
  if (!c || !d || *c <= 0 || *d <= 0) return nullptr;
  if (e.op == BinaryOp::mod) return *c % *d == 0 ? binary_expr(e.op, inner->a, e.b, expr->loc) : nullptr;
  std::int64_t product = 0;
  bool fits = !__builtin_mul_overflow(*c, *d, &product) && Wide(product) <= type_interval(expr->type).hi;
  return fits ? binary_expr(e.op, inner->a, int_expr(expr->type, product, e.b->loc), expr->loc) : nullptr;
}

/// (a·b) / b and (a·b) % b of a product that does not wrap, b not 0.
ExprRef Rules::product_quotient(const ExprRef& expr, const Binary& e) {
  const auto* product = std::get_if<Binary>(&e.a->node);
  if (product == nullptr || product->op != BinaryOp::mul || solver_.ranges().of(e.a).opaque) return nullptr;
  if (!harmless(expr)) return nullptr;
  ExprRef rest;
  if (same_expr(product->b, e.b)) rest = product->a;
  if (same_expr(product->a, e.b)) rest = product->b;
  if (!rest || e.op != BinaryOp::mod) return rest;
  return int_expr(expr->type, 0, expr->loc);
}

/// (d·q + r) / d and % d, r being what is not a multiple of the literal d.
ExprRef Rules::split_quotient(const ExprRef& expr, const Binary& e) {
  auto d = small_literal(e.b);
  if (!d || *d <= 1) return nullptr;
  LinearForm form = linear_form(e.a, solver_.ranges());
  if (!form.exact || !form.gone.empty()) return nullptr;
  LinearForm q = form, r = form;
  std::erase_if(q.terms, [&](const auto& t) { return t.coefficient % *d != 0; });
  std::erase_if(r.terms, [&](const auto& t) { return t.coefficient % *d == 0; });
  for (auto& term : q.terms) term.coefficient /= *d;
  r.constant = ((form.constant % *d) + *d) % *d;
  q.constant = (form.constant - r.constant) / *d;
  if (q.terms.empty() && q.constant == 0) return nullptr;
  bool q_harmless = std::all_of(q.terms.begin(), q.terms.end(), [&](auto& t) { return harmless(t.atom); });
  if (e.op == BinaryOp::mod && !q_harmless) return nullptr;
  ExprRef rest = to_expr(r, e.a->loc);
  if (r.terms.empty() && r.constant == 0) return e.op == BinaryOp::mod ? rest : to_expr(q, expr->loc);
  if (!linear_form(rest, solver_.ranges()).exact || compare(BinaryOp::ge, rest, 0) != Truth::always) return nullptr;
  bool small = compare(BinaryOp::lt, rest, *d) == Truth::always;
  if (e.op == BinaryOp::ceil_div) {
    if (!small || compare(BinaryOp::gt, rest, 0) != Truth::always || !harmless(rest)) return nullptr;
    q.constant = *evaluate_int(BinaryOp::add, q.type, q.constant, 1);
    return to_expr(q, expr->loc);
  }
  // Truncation is flooring here.
  if (compare(BinaryOp::ge, e.a, 0) != Truth::always) return nullptr;
  if (e.op == BinaryOp::div) return small && harmless(rest) ? to_expr(q, expr->loc) : nullptr;
  return small ? rest : binary_expr(BinaryOp::mod, rest, e.b, expr->loc);
}

ExprRef Rules::extreme(const ExprRef& expr, const Binary& e) {
  bool is_min = e.op == BinaryOp::min;
  if (same_expr(e.a, e.b)) return e.a;
  if (harmless(expr)) {
    if (compare(BinaryOp::le, e.a, e.b) == Truth::always) return is_min ? e.a : e.b;
    if (compare(BinaryOp::ge, e.a, e.b) == Truth::always) return is_min ? e.b : e.a;
  }
  const auto* inner = std::get_if<Binary>(&e.a->node);
  if (inner == nullptr || inner->op != e.op || !small_literal(e.b) || !small_literal(inner->b)) return nullptr;
  bool outer_wins = (range(e.b).lo < range(inner->b).lo) == is_min;
  return outer_wins ? binary_expr(e.op, inner->a, e.b, expr->loc) : e.a;
}

ExprRef Rules::bitwise(const ExprRef&, const Binary& e) {
  bool mask = e.op == BinaryOp::bit_and;
  auto literal = literal_value(*e.b);
  if (!literal) return nullptr;
  if (!mask) return *literal == 0 ? e.a : nullptr;
  bool low_bits = *literal >= 0 && (*literal & (*literal + 1)) == 0;
  return low_bits && range(e.a).within({0, *literal}) ? e.a : nullptr;
}

namespace {

bool moderate(const LinearForm& form) {
  constexpr std::int64_t limit = std::int64_t{1} << 40;
  auto small = [](std::int64_t x) { return x > -limit && x < limit; };
  return small(form.constant) &&
         std::all_of(form.terms.begin(), form.terms.end(), [&](auto& t) { return small(t.coefficient); });
}

void divide_by_common_factor(LinearForm& form) {
  std::int64_t factor = std::abs(form.constant);
  for (const auto& t : form.terms) factor = std::gcd(factor, t.coefficient);
  if (factor <= 1) return;
  form.constant /= factor;
  for (auto& t : form.terms) t.coefficient /= factor;
}

/// form op 0 as left op right without negative coefficients; the constant joins the side where it is positive, or
/// stands alone.
std::pair<LinearForm, LinearForm> sides(const LinearForm& form) {
  LinearForm left, right;
  for (const auto& t : form.terms) {
    if (t.coefficient > 0) left.terms.push_back(t);
    if (t.coefficient < 0) right.terms.push_back({t.atom, -t.coefficient});
  }
  bool to_left = left.terms.empty() || (form.constant > 0 && !right.terms.empty());
  (to_left ? left : right).constant = to_left ? form.constant : -form.constant;
  return {left, right};
}

}  // namespace

/// What stands on both sides cancels where nothing wraps: x + 64 < y + 64 is x < y.
ExprRef Rules::compared_forms(const ExprRef& expr, const Binary& e) {
  if (e.a->type != DType::i64) return nullptr;
  LinearForm form = linear_form(e.a, solver_.ranges()), b = linear_form(e.b, solver_.ranges());
  if (!moderate(form) || !moderate(b)) return nullptr;
  add_form(form, b, -1);
  if (!form.exact || form.terms.empty()) return nullptr;
  if (!std::all_of(form.gone.begin(), form.gone.end(), [&](auto& x) { return harmless(x); })) return nullptr;
  divide_by_common_factor(form);
  auto [left, right] = sides(form);
  ExprRef x = to_expr(left, e.a->loc), y = to_expr(right, e.b->loc);
  bool exact = linear_form(x, solver_.ranges()).exact && linear_form(y, solver_.ranges()).exact;
  return exact ? binary_expr(e.op, x, y, expr->loc) : nullptr;
}

}  // namespace plait::analysis
