#include <algorithm>

#include "analysis/expr_util.h"
#include "ir/build.h"
#include "pipeline/scalars.h"

// What the launch has to see to so that values fit in 32 bits.
namespace plait::pipeline {

using namespace ir;

namespace {

ExprRef joined(BinaryOp op, const ExprRef& a, const ExprRef& b) {
  Diagnostics diags;
  return make_binary(op, a, b, a->loc, diags);
}

ExprRef number(std::int64_t value) { return typed_int(DType::i64, value); }

/// Whether the value is known at the launch.
bool is_of_dims(const ExprRef& expr) {
  return !analysis::any_of_tree(expr, [](const Expr& e) {
    const auto* ref = std::get_if<VarRef>(&e.node);
    return (ref != nullptr && ref->var->kind != VarKind::dim) || std::holds_alternative<Load>(e.node);
  });
}

}  // namespace

/// Bounds of an i64 expression over the domain, of dims and literals; nothing where none are found.
std::optional<Scalars::Reach> Scalars::reach(const ExprRef& expr) {
  if (expr->type != DType::i64) return {};
  if (is_of_dims(expr)) return Reach{expr, expr};
  if (const auto* ref = std::get_if<VarRef>(&expr->node)) return reach(ref->var);
  const auto* node = std::get_if<Binary>(&expr->node);
  if (node == nullptr) return {};
  auto a = reach(node->a), b = reach(node->b);
  if (!a || !b) return {};
  auto natural = [&](const ExprRef& e) { return is_least(e, 0); };
  switch (node->op) {
    case BinaryOp::add:
      return Reach{joined(BinaryOp::add, a->least, b->least), joined(BinaryOp::add, a->most, b->most)};
    case BinaryOp::sub:
      return Reach{joined(BinaryOp::sub, a->least, b->most), joined(BinaryOp::sub, a->most, b->least)};
    case BinaryOp::mul:
      if (!natural(node->a) || !natural(node->b)) return {};
      return Reach{number(0), joined(BinaryOp::mul, a->most, b->most)};
    case BinaryOp::div:
      // A quotient of naturals is no larger than what is divided, a remainder no larger than the divisor.
      if (!natural(node->a) || !natural(node->b)) return {};
      return Reach{number(0), a->most};
    case BinaryOp::mod:
      if (!natural(node->a) || !natural(node->b)) return {};
      return Reach{number(0), b->most};
    default:
      return {};
  }
}

std::optional<Scalars::Reach> Scalars::reach(const Var& var) {
  for (auto it = domain_.lets.rbegin(); it != domain_.lets.rend(); ++it) {
    if (it->first != var) continue;
    const ExprRef value = it->second;
    return reach(value);
  }
  for (const analysis::DomainVar& known : domain_.vars) {
    if (known.var != var || known.begin == nullptr || known.end == nullptr) continue;
    const ExprRef begin = known.begin, end = known.end;
    auto first = reach(begin), last = reach(end);
    if (!first || !last) return {};
    return Reach{first->least, joined(BinaryOp::sub, last->most, number(1))};
  }
  return {};
}

/// Has the launch see to it that the expression fits in 32 bits; false where its bounds are not found.
bool Scalars::demand(const ExprRef& expr) {
  auto found = reach(expr);
  if (!found) return false;
  auto add = [&](const ExprRef& cond) {
    auto same = [&](const ExprRef& other) { return analysis::same_expr(cond, other); };
    if (as_int(cond) == 1 || std::any_of(demands_.begin(), demands_.end(), same)) return;
    demands_.push_back(cond);
  };
  const ExprRef below = joined(BinaryOp::le, found->most, number(INT32_MAX));
  const ExprRef above = is_least(expr, 0) ? bool_literal(true) : joined(BinaryOp::ge, found->least, number(INT32_MIN));
  if (as_int(below) == 0 || as_int(above) == 0) return false;
  add(below);
  add(above);
  return true;
}

}  // namespace plait::pipeline
