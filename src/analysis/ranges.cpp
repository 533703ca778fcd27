#include <algorithm>

#include "analysis/expr_util.h"
#include "analysis/interval.h"
#include "support/result.h"

namespace plait::analysis {

using namespace ir;

namespace {

Interval declared_interval(const VarDecl& var) {
  Interval range = type_interval(var.type);
  if (var.kind == VarKind::dim) range = {0, max_dim};
  if (var.kind == VarKind::grid) range.lo = 0;
  return range;
}

}  // namespace

Ranges::Ranges(const Domain& domain) : domain_(domain) {
  for (const auto& v : domain.vars) {
    if (!v.begin || !v.end) continue;
    Interval range{of(v.begin).range.lo, of(v.end).range.hi - 1};
    Interval declared = declared_interval(*v.var);
    range = {std::max(range.lo, declared.lo), std::min(range.hi, declared.hi)};
    vars_[v.var.get()] = range.lo <= range.hi ? range : declared;
  }
  // Twice, for conditions that bound each other's variables.
  for (int round = 0; round < 2; ++round) {
    for (const auto& cond : domain.conditions) assume(cond);
  }
}

bool Ranges::read_only(const Buffer& buffer) const {
  return std::find(domain_.read_only.begin(), domain_.read_only.end(), buffer) != domain_.read_only.end();
}

bool Ranges::stable(const ExprRef& expr) const {
  return !any_of_tree(expr, [&](const Expr& e) {
    const auto* load = std::get_if<Load>(&e.node);
    return load != nullptr && !read_only(load->buffer);
  });
}

/// A search from the innermost let outwards: there may be many, of which few are asked for.
ExprRef Ranges::definition(const VarDecl* var) const {
  if (var->kind != VarKind::let) return nullptr;
  auto [known, added] = definitions_.emplace(var, nullptr);
  if (!added) return known->second;
  auto let =
      std::find_if(domain_.lets.rbegin(), domain_.lets.rend(), [&](const auto& l) { return l.first.get() == var; });
  if (let != domain_.lets.rend() && stable(let->second)) known->second = let->second;
  return known->second;
}

Interval Ranges::of_var(const VarDecl& var) const {
  auto it = vars_.find(&var);
  return it != vars_.end() ? it->second : declared_interval(var);
}

void Ranges::restore(State state) {
  vars_ = std::move(state.vars);
  memo_.clear();
}

Ranges::Entry Ranges::of(const ExprRef& expr) {
  if (auto it = memo_.find(expr.get()); it != memo_.end()) return it->second.second;
  if (depth_ >= max_depth) return {type_interval(expr->type), true};
  ++depth_;
  Entry entry = compute(expr);
  --depth_;
  memo_[expr.get()] = {expr, entry};
  return entry;
}

Ranges::Entry Ranges::checked(DType type, std::optional<Interval> exact) const {
  Interval limits = type_interval(type);
  if (exact && exact->within(limits)) return {*exact, false};
  return {limits, true};
}

Ranges::Entry Ranges::compute(const ExprRef& expr) {
  const Entry unknown{type_interval(expr->type), true};
  return std::visit(
      Overload{[&](const IntLit&) {
                 Wide value = *literal_value(*expr);
                 return Entry{{value, value}, false};
               },
               [&](const VarRef& e) { return of_var_ref(e.var); }, [&](const Unary& e) { return of_unary(*expr, e); },
               [&](const Binary& e) { return of_binary(expr, e); }, [&](const Select& e) { return of_select(e); },
               [&](const Cast& e) { return of_cast(*expr, e); }, [&](const Call& e) { return of_call(*expr, e); },
               [&](const auto&) { return unknown; }},
      expr->node);
}

Ranges::Entry Ranges::of_var_ref(const Var& var) {
  if (ExprRef value = definition(var.get())) {
    Entry entry = of(value);
    return {entry.range, false};
  }
  return {of_var(*var), false};
}

Ranges::Entry Ranges::of_unary(const Expr& expr, const Unary& e) {
  Interval a = of(e.a).range;
  switch (e.op) {
    case UnaryOp::neg:
      return checked(expr.type, Interval{-a.hi, -a.lo});
    case UnaryOp::bit_not:
      return is_signed_integer(expr.type) ? Entry{{-a.hi - 1, -a.lo - 1}, false}
                                          : Entry{type_interval(expr.type), true};
    case UnaryOp::logical_not:
      return {{1 - a.hi, 1 - a.lo}, false};
  }
  return {type_interval(expr.type), true};
}

bool Ranges::product_of_extents(const ExprRef& expr) const {
  std::vector<ExprRef> dims = factors(expr);
  return std::any_of(domain_.shapes.begin(), domain_.shapes.end(), [&](const std::vector<Var>& shape) {
    std::vector<Var> left = shape;
    return std::all_of(dims.begin(), dims.end(), [&](const ExprRef& e) {
      const auto* ref = std::get_if<VarRef>(&e->node);
      auto it = ref == nullptr ? left.end() : std::find(left.begin(), left.end(), ref->var);
      if (it == left.end()) return false;
      left.erase(it);
      return true;
    });
  });
}

Ranges::Entry Ranges::of_binary(const ExprRef& expr, const Binary& e) {
  DType type = e.a->type;
  if (!is_int_or_bool(type)) return {type_interval(expr->type), true};
  Entry entry = checked(expr->type, apply(e.op, of(e.a).range, of(e.b).range, type));
  if (e.op == BinaryOp::mul && entry.range.hi > max_dim && product_of_extents(expr)) return {{0, max_dim}, false};
  return entry;
}

Ranges::Entry Ranges::of_select(const Select& e) {
  Interval cond = of(e.cond).range;
  if (cond.lo == 1) return {of(e.if_true).range, false};
  if (cond.hi == 0) return {of(e.if_false).range, false};
  return {hull(of(e.if_true).range, of(e.if_false).range), false};
}

Ranges::Entry Ranges::of_cast(const Expr& expr, const Cast& e) {
  if (!is_int_or_bool(e.a->type)) return {type_interval(expr.type), true};
  Interval a = of(e.a).range, limits = type_interval(expr.type);
  if (is_bool(expr.type)) return {*apply(BinaryOp::ne, a, {0, 0}, e.a->type), false};
  if (!e.saturate) return checked(expr.type, a);
  return {{std::clamp(a.lo, limits.lo, limits.hi), std::clamp(a.hi, limits.lo, limits.hi)}, false};
}

Ranges::Entry Ranges::of_call(const Expr& expr, const Call& e) {
  if (e.fn != Intrinsic::abs || !is_integer(expr.type)) return {type_interval(expr.type), true};
  Interval a = of(e.args[0]).range;
  Wide low = a.lo > 0 ? a.lo : (a.hi < 0 ? -a.hi : 0);
  return checked(expr.type, Interval{low, std::max(a.hi, -a.lo)});
}

void Ranges::assume(const ExprRef& cond, bool value) {
  if (const auto* unary = std::get_if<Unary>(&cond->node); unary && unary->op == UnaryOp::logical_not) {
    return assume(unary->a, !value);
  }
  const auto* e = std::get_if<Binary>(&cond->node);
  if (e == nullptr) return narrow(cond, {value ? 1 : 0, value ? 1 : 0});
  if (e->op == (value ? BinaryOp::logical_and : BinaryOp::logical_or)) {
    assume(e->a, value);
    assume(e->b, value);
  }
  if (!is_comparison(e->op) || !is_integer(e->a->type)) return;
  static constexpr std::pair<BinaryOp, BinaryOp> opposite[] = {
      {BinaryOp::eq, BinaryOp::ne}, {BinaryOp::lt, BinaryOp::ge}, {BinaryOp::le, BinaryOp::gt}};
  BinaryOp op = e->op;
  for (auto [x, y] : opposite) {
    if (!value && (op == x || op == y)) {
      op = op == x ? y : x;
      break;
    }
  }
  assume_comparison(op, e->a, e->b);
}

void Ranges::assume_comparison(BinaryOp op, const ExprRef& a, const ExprRef& b) {
  if (op == BinaryOp::ne) {
    Interval x = of(a).range, y = of(b).range;
    if (y.single() && y.lo == x.lo) narrow(a, {x.lo + 1, x.hi});
    if (y.single() && y.hi == x.hi) narrow(a, {x.lo, x.hi - 1});
    return;
  }
  if (op == BinaryOp::gt || op == BinaryOp::ge) {
    return assume_comparison(op == BinaryOp::gt ? BinaryOp::lt : BinaryOp::le, b, a);
  }
  Interval x = of(a).range, y = of(b).range;
  if (op == BinaryOp::eq) {
    narrow(a, y);
    narrow(b, x);
    return;
  }
  Wide strict = op == BinaryOp::lt ? 1 : 0;
  narrow(a, {x.lo, y.hi - strict});
  narrow(b, {x.lo + strict, y.hi});
}

void Ranges::narrow(const ExprRef& expr, const Interval& to) {
  if (const auto* ref = std::get_if<VarRef>(&expr->node)) {
    if (ExprRef value = definition(ref->var.get())) {
      if (depth_ >= max_depth) return;
      ++depth_;
      narrow(value, to);
      --depth_;
      return;
    }
    Interval now = of_var(*ref->var);
    Interval next{std::max(now.lo, to.lo), std::min(now.hi, to.hi)};
    if (next.lo > next.hi || next == now) return;
    vars_[ref->var.get()] = next;
    memo_.clear();
    return;
  }
  if (of(expr).opaque) return;
  if (const auto* cast = std::get_if<Cast>(&expr->node); cast && !is_bool(expr->type) && !cast->saturate) {
    return narrow(cast->a, to);
  }
  const auto* e = std::get_if<Binary>(&expr->node);
  if (e == nullptr || (e->op != BinaryOp::add && e->op != BinaryOp::sub)) return;
  Interval a = of(e->a).range, b = of(e->b).range;
  if (b.single()) {
    Wide c = e->op == BinaryOp::add ? b.lo : -b.lo;
    return narrow(e->a, {to.lo - c, to.hi - c});
  }
  if (a.single() && e->op == BinaryOp::add) narrow(e->b, {to.lo - a.lo, to.hi - a.lo});
}

}  // namespace plait::analysis
