#include "pipeline/scalars.h"

#include "analysis/expr_util.h"
#include "ir/expr_util.h"

namespace plait::pipeline {

using namespace ir;

namespace {

ExprRef right(ExprRef made, const Diagnostics& diags) {
  PLAIT_ASSERT(made != nullptr, "a scalar of a role program is built wrongly:\n" + diags.render());
  return made;
}

Value made_binary(BinaryOp op, const Value& a, const Value& b, const Loc& loc) {
  Diagnostics diags;
  return right(make_binary(op, a.expr(), b.expr(), loc, diags), diags);
}

DType type_of(const Value& value) { return value.expr()->type; }

Value widened(const Value& value, DType type) {
  return type_of(value) == type ? value : roles::build::cast(type, value);
}

}  // namespace

Scalars::Scalars(const Kernel& kernel) : domain_(analysis::kernel_domain(kernel)) {
  for (analysis::DomainVar& v : domain_.vars) {
    if (v.var->kind != VarKind::dim) continue;
    v.begin = typed_int(DType::i64, 0);
    v.end = typed_int(DType::i64, kMostExtent + 1);
  }
}

void Scalars::add_let(const Let& let) {
  domain_.add_let(let);
  ranges_.reset();
}

void Scalars::add_loop(const For& loop) {
  domain_.add_loop(loop);
  ranges_.reset();
}

void Scalars::assume(const ExprRef& cond, bool holds) {
  domain_.assume(cond, holds);
  ranges_.reset();
}

bool Scalars::fits(const ExprRef& expr) {
  if (ranges_ == nullptr) ranges_ = std::make_unique<analysis::Ranges>(domain_);
  analysis::Ranges::Entry entry = ranges_->of(expr);
  return (!entry.opaque && entry.range.within(analysis::type_interval(DType::i32))) || (demanding_ && demand(expr));
}

bool Scalars::is_least(const ExprRef& expr, std::int64_t least) {
  if (ranges_ == nullptr) ranges_ = std::make_unique<analysis::Ranges>(domain_);
  analysis::Ranges::Entry entry = ranges_->of(expr);
  return !entry.opaque && entry.range.lo >= least;
}

bool Scalars::is_below(const ExprRef& expr, const ExprRef& end) const {
  Diagnostics diags;
  ExprRef cond = make_binary(BinaryOp::lt, expr, end, expr->loc, diags);
  return cond != nullptr && analysis::decide(cond, domain_) == analysis::Truth::always;
}

Value Scalars::variable(const Var& var) {
  auto it = values_.find(var.get());
  if (it != values_.end()) return it->second;
  if (var->kind != VarKind::dim) return var;
  narrowed_.insert(var);
  return roles::build::cast(DType::i32, var);
}

/// A quotient or remainder of a sum without what the domain decides: in a loop over tiles the number of a group of
/// elements is that of the tile, whatever the element. The same expression where nothing is decided.
ExprRef Scalars::divided(const ExprRef& expr, const Binary& node) const {
  const bool divides = node.op == BinaryOp::div || node.op == BinaryOp::mod;
  const bool composed = std::holds_alternative<Binary>(node.a->node);
  return divides && composed && as_int(node.b) ? analysis::simplify(expr, domain_) : expr;
}

Value Scalars::binary(const ExprRef& expr, const Binary& node, const Element& element) {
  if (ExprRef simple = divided(expr, node); simple != expr) return convert(simple, element);
  Value a = convert(node.a, element), b = convert(node.b, element);
  if (node.a->type != DType::i64) return made_binary(node.op, a, b, expr->loc);
  bool narrow = type_of(a) == DType::i32 && type_of(b) == DType::i32;
  // A comparison of two exact values is right in any type that holds both.
  // A quotient is no larger than what is divided, a remainder smaller than the divisor.
  bool divides = node.op == BinaryOp::div || node.op == BinaryOp::mod;
  if (narrow && divides && (is_least(node.a, 0) || is_least(node.b, 0))) return made_binary(node.op, a, b, expr->loc);
  if (narrow && (is_comparison(node.op) || fits(expr))) return made_binary(node.op, a, b, expr->loc);
  return made_binary(node.op, widened(a, DType::i64), widened(b, DType::i64), expr->loc);
}

Value Scalars::cast(const ExprRef& expr, const Cast& node, const Element& element) {
  Value a = convert(node.a, element);
  if (expr->type == DType::i64 && type_of(a) == DType::i32) return a;
  if (expr->type == type_of(a)) return a;
  Diagnostics diags;
  std::optional<Rounding> rounding;
  if (node.rounding != default_rounding(expr->type)) rounding = node.rounding;
  return right(make_cast(expr->type, a.expr(), rounding, node.saturate, expr->loc, diags), diags);
}

Value Scalars::convert(const ExprRef& expr, const Element& element) {
  Diagnostics diags;
  auto same = [&](const ExprRef& e) { return convert(e, element); };
  return std::visit(Overload{[&](const IntLit& lit) -> Value {
                               if (expr->type == DType::i64 && lit.value == static_cast<std::int32_t>(lit.value))
                                 return typed_int(DType::i32, lit.value, expr->loc);
                               return make_expr(expr->type, expr->loc, lit);
                             },
                             [&](const FloatLit& lit) -> Value { return make_expr(expr->type, expr->loc, lit); },
                             [&](const VarRef& ref) -> Value { return variable(ref.var); },
                             [&](const Load& load) -> Value {
                               Values index;
                               for (const ExprRef& e : load.index) index.push_back(same(e));
                               const Element& read = element ? element : element_;
                               PLAIT_ASSERT(read, "a scalar that reads `" + load.buffer->name + "`");
                               return read(load, index);
                             },
                             [&](const Unary& node) -> Value {
                               Value a = same(node.a);
                               if (expr->type == DType::i64 && !fits(expr)) a = widened(a, DType::i64);
                               return right(make_unary(node.op, a.expr(), expr->loc, diags), diags);
                             },
                             [&](const Binary& node) -> Value { return binary(expr, node, element); },
                             [&](const Select& node) -> Value {
                               Value cond = same(node.cond), a = same(node.if_true), b = same(node.if_false);
                               if (type_of(a) != type_of(b)) {
                                 a = widened(a, expr->type);
                                 b = widened(b, expr->type);
                               }
                               return right(make_select(cond.expr(), a.expr(), b.expr(), expr->loc, diags), diags);
                             },
                             [&](const Cast& node) -> Value { return cast(expr, node, element); },
                             [&](const Bitcast& node) -> Value {
                               Value a = widened(same(node.a), node.a->type);
                               return right(make_bitcast(expr->type, a.expr(), expr->loc, diags), diags);
                             },
                             [&](const Call& node) -> Value {
                               std::vector<ExprRef> args;
                               for (const ExprRef& e : node.args) args.push_back(widened(same(e), e->type).expr());
                               return right(make_call(node.fn, std::move(args), expr->loc, diags), diags);
                             }},
                    expr->node);
}

Value Scalars::index(const ExprRef& expr, const Element& element) {
  Value value = convert(expr, element);
  if (type_of(value) == DType::i32) return value;
  // Extents stay below 2^31 - 2^20: what lies outside of every tensor still does so.
  value = min(max(value, typed_int(DType::i64, INT32_MIN)), typed_int(DType::i64, INT32_MAX));
  return roles::build::cast(DType::i32, value);
}

}  // namespace plait::pipeline
