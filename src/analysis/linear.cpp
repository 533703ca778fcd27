#include "analysis/linear.h"

#include <algorithm>

#include "ir/evaluate.h"
#include "ir/numeric.h"

namespace plait::analysis {

using namespace ir;

namespace {

std::int64_t wrapping(BinaryOp op, DType type, std::int64_t a, std::int64_t b) {
  return evaluate_int(op, type, a, b).value_or(0);
}

void add_term(LinearForm& form, const ExprRef& atom, std::int64_t coefficient) {
  auto it = std::find_if(form.terms.begin(), form.terms.end(), [&](auto& t) { return same_expr(t.atom, atom); });
  if (it == form.terms.end()) it = form.terms.insert(it, {atom, 0});
  it->coefficient = wrapping(BinaryOp::add, form.type, it->coefficient, coefficient);
  if (it->coefficient != 0) return;
  form.gone.push_back(it->atom);
  form.terms.erase(it);
}

class TermCollector {
 public:
  TermCollector(LinearForm& form, Ranges& ranges) : form_(form), ranges_(ranges) {}

  void add(const ExprRef& expr, std::int64_t factor) {
    if (auto value = std::get_if<IntLit>(&expr->node)) {
      std::int64_t product = wrapping(BinaryOp::mul, form_.type, value->value, factor);
      form_.constant = wrapping(BinaryOp::add, form_.type, form_.constant, product);
      return;
    }
    if (--fuel_ < 0 || !add_sum(expr, factor)) return add_term(form_, expr, factor);
    form_.exact = form_.exact && !ranges_.of(expr).opaque;
  }

 private:
  /// False when the expression is an atom.
  bool add_sum(const ExprRef& expr, std::int64_t factor) {
    if (const auto* e = std::get_if<Unary>(&expr->node)) {
      if (e->op != UnaryOp::neg) return false;
      add(e->a, evaluate_int(UnaryOp::neg, form_.type, factor));
      return true;
    }
    const auto* e = std::get_if<Binary>(&expr->node);
    if (e == nullptr) return false;
    if (e->op == BinaryOp::add || e->op == BinaryOp::sub) {
      add(e->a, factor);
      add(e->b, e->op == BinaryOp::add ? factor : evaluate_int(UnaryOp::neg, form_.type, factor));
      return true;
    }
    if (e->op != BinaryOp::mul) return false;
    const auto* left = std::get_if<IntLit>(&e->a->node);
    const auto* right = std::get_if<IntLit>(&e->b->node);
    if (left == nullptr && right == nullptr) return false;
    const IntLit& literal = right != nullptr ? *right : *left;
    add(right != nullptr ? e->a : e->b, wrapping(BinaryOp::mul, form_.type, factor, literal.value));
    return true;
  }

  LinearForm& form_;
  Ranges& ranges_;
  int fuel_ = 1000;
};

/// x / c · c + x % c is x: true of truncating division for every x, and modulo 2^bits.
bool join_quotient(LinearForm& form) {
  for (const auto& quotient : form.terms) {
    const auto* q = std::get_if<Binary>(&quotient.atom->node);
    if (q == nullptr || q->op != BinaryOp::div) continue;
    auto divisor = small_literal(q->b);
    if (!divisor || *divisor <= 0) continue;
    for (const auto& rest : form.terms) {
      const auto* r = std::get_if<Binary>(&rest.atom->node);
      if (r == nullptr || r->op != BinaryOp::mod || !same_expr(q->a, r->a) || !same_expr(q->b, r->b)) continue;
      if (wrapping(BinaryOp::mul, form.type, rest.coefficient, *divisor) != quotient.coefficient) continue;
      ExprRef whole = q->a, first = quotient.atom, second = rest.atom;
      std::int64_t coefficient = rest.coefficient;
      std::erase_if(form.terms, [&](const auto& t) { return t.atom == first || t.atom == second; });
      add_term(form, whole, coefficient);
      return true;
    }
  }
  return false;
}

ExprRef scaled(const ExprRef& atom, std::int64_t coefficient, const Loc& loc) {
  if (coefficient == 1) return atom;
  return binary_expr(BinaryOp::mul, atom, int_expr(atom->type, coefficient, loc), loc);
}

}  // namespace

LinearForm linear_form(const ExprRef& expr, Ranges& ranges) {
  LinearForm form;
  form.type = expr->type;
  TermCollector(form, ranges).add(expr, 1);
  while (join_quotient(form)) continue;
  return form;
}

void add_form(LinearForm& to, const LinearForm& form, std::int64_t factor) {
  std::int64_t product = wrapping(BinaryOp::mul, to.type, form.constant, factor);
  to.constant = wrapping(BinaryOp::add, to.type, to.constant, product);
  for (const auto& term : form.terms) {
    add_term(to, term.atom, wrapping(BinaryOp::mul, to.type, term.coefficient, factor));
  }
  to.gone.insert(to.gone.end(), form.gone.begin(), form.gone.end());
  to.exact = to.exact && form.exact;
}

ExprRef to_expr(const LinearForm& form, const Loc& loc) {
  bool has_sign = is_signed_integer(form.type);
  ExprRef sum;
  auto add = [&](const ExprRef& e) { sum = sum ? binary_expr(BinaryOp::add, sum, e, loc) : e; };
  for (const auto& t : form.terms) {
    if (!has_sign || t.coefficient > 0) add(scaled(t.atom, t.coefficient, loc));
  }
  bool constant_done = form.constant == 0;
  if (!sum && !constant_done) {
    add(int_expr(form.type, form.constant, loc));
    constant_done = true;
  }
  for (const auto& t : form.terms) {
    if (!has_sign || t.coefficient > 0) continue;
    std::int64_t positive = evaluate_int(UnaryOp::neg, form.type, t.coefficient);
    ExprRef part = scaled(t.atom, positive, loc);
    sum = sum ? binary_expr(BinaryOp::sub, sum, part, loc) : make_expr(form.type, Unary{UnaryOp::neg, part}, loc);
  }
  if (!sum) return int_expr(form.type, form.constant, loc);
  if (constant_done) return sum;
  bool minus = has_sign && form.constant < 0 && evaluate_int(UnaryOp::neg, form.type, form.constant) > 0;
  std::int64_t size = minus ? -form.constant : form.constant;
  return binary_expr(minus ? BinaryOp::sub : BinaryOp::add, sum, int_expr(form.type, size, loc), loc);
}

}  // namespace plait::analysis
