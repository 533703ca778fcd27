#include "analysis/expr_util.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "support/result.h"

namespace plait::analysis {

using namespace ir;

ExprRef make_expr(DType type, ExprNode node, Loc loc) {
  return std::make_shared<const Expr>(Expr{type, std::move(loc), std::move(node), false});
}
ExprRef int_expr(DType type, std::int64_t value, Loc loc) { return make_expr(type, IntLit{value}, std::move(loc)); }
ExprRef bool_expr(bool value, Loc loc) { return int_expr(DType::bool_, value ? 1 : 0, std::move(loc)); }
ExprRef var_expr(const Var& var) { return make_expr(var->type, VarRef{var}, var->loc); }

static bool gives_bool(BinaryOp op) {
  return is_comparison(op) || op == BinaryOp::logical_and || op == BinaryOp::logical_or;
}

ExprRef binary_expr(BinaryOp op, ExprRef a, ExprRef b, Loc loc) {
  DType type = gives_bool(op) ? DType::bool_ : a->type;
  return make_expr(type, Binary{op, std::move(a), std::move(b)}, std::move(loc));
}
ExprRef not_expr(ExprRef a) {
  Loc loc = a->loc;
  return make_expr(DType::bool_, Unary{UnaryOp::logical_not, std::move(a)}, std::move(loc));
}

bool is_int_or_bool(DType type) { return is_integer(type) || is_bool(type); }

std::optional<Wide> literal_value(const Expr& expr) {
  const auto* lit = std::get_if<IntLit>(&expr.node);
  if (lit == nullptr || !is_int_or_bool(expr.type)) return std::nullopt;
  if (expr.type == DType::u64) return Wide(static_cast<std::uint64_t>(lit->value));
  return Wide(lit->value);
}

std::optional<std::int64_t> small_literal(const ExprRef& expr) {
  auto value = literal_value(*expr);
  if (!value || *value > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::vector<ExprRef> operands(const Expr& expr) {
  using List = std::vector<ExprRef>;
  return std::visit(Overload{[](const IntLit&) { return List{}; }, [](const FloatLit&) { return List{}; },
                             [](const VarRef&) { return List{}; }, [](const Load& e) { return e.index; },
                             [](const Unary& e) { return List{e.a}; }, [](const Binary& e) { return List{e.a, e.b}; },
                             [](const Select& e) { return List{e.cond, e.if_true, e.if_false}; },
                             [](const Cast& e) { return List{e.a}; }, [](const Bitcast& e) { return List{e.a}; },
                             [](const Call& e) { return e.args; }},
                    expr.node);
}

ExprRef with_operands(const ExprRef& expr, const std::vector<ExprRef>& ops) {
  if (operands(*expr) == ops) return expr;
  ExprNode node = std::visit(
      Overload{[](const IntLit& e) -> ExprNode { return e; }, [](const FloatLit& e) -> ExprNode { return e; },
               [](const VarRef& e) -> ExprNode { return e; },
               [&](const Load& e) -> ExprNode { return Load{e.buffer, ops}; },
               [&](const Unary& e) -> ExprNode { return Unary{e.op, ops[0]}; },
               [&](const Binary& e) -> ExprNode { return Binary{e.op, ops[0], ops[1]}; },
               [&](const Select&) -> ExprNode { return Select{ops[0], ops[1], ops[2]}; },
               [&](const Cast& e) -> ExprNode { return Cast{ops[0], e.rounding, e.saturate}; },
               [&](const Bitcast&) -> ExprNode { return Bitcast{ops[0]}; },
               [&](const Call& e) -> ExprNode { return Call{e.fn, ops}; }},
      expr->node);
  return make_expr(expr->type, std::move(node), expr->loc);
}

std::vector<ExprRef> factors(const ExprRef& expr) {
  constexpr std::size_t max_factors = 16;
  std::vector<ExprRef> result{expr};
  for (std::size_t i = 0; i < result.size() && result.size() < max_factors;) {
    const auto* e = std::get_if<Binary>(&result[i]->node);
    if (e == nullptr || e->op != BinaryOp::mul) {
      ++i;
      continue;
    }
    ExprRef left = e->a, right = e->b;
    result[i] = std::move(left);
    result.push_back(std::move(right));
  }
  return result;
}

std::optional<std::vector<ExprRef>> without(std::vector<ExprRef> all, const std::vector<ExprRef>& some) {
  for (const ExprRef& factor : some) {
    auto it = std::find_if(all.begin(), all.end(), [&](const ExprRef& e) { return same_expr(e, factor); });
    if (it == all.end()) return std::nullopt;
    all.erase(it);
  }
  return all;
}

bool any_of_tree(const ExprRef& expr, const std::function<bool(const Expr&)>& pred) {
  std::unordered_set<const Expr*> seen;
  std::vector<ExprRef> work{expr};
  while (!work.empty()) {
    ExprRef e = std::move(work.back());
    work.pop_back();
    if (!e || !seen.insert(e.get()).second) continue;
    if (pred(*e)) return true;
    for (auto& operand : operands(*e)) work.push_back(std::move(operand));
  }
  return false;
}

namespace {

/// What distinguishes two nodes apart from their operands.
bool same_node(const Expr& a, const Expr& b) {
  if (a.type != b.type || a.node.index() != b.node.index()) return false;
  return std::visit(
      Overload{[&](const IntLit& x) { return x.value == std::get<IntLit>(b.node).value; },
               [&](const FloatLit& x) {
                 return std::bit_cast<std::uint64_t>(x.value) ==
                        std::bit_cast<std::uint64_t>(std::get<FloatLit>(b.node).value);
               },
               [&](const VarRef& x) { return x.var == std::get<VarRef>(b.node).var; },
               [&](const Load& x) {
                 const auto& y = std::get<Load>(b.node);
                 return x.buffer == y.buffer && x.index.size() == y.index.size();
               },
               [&](const Unary& x) { return x.op == std::get<Unary>(b.node).op; },
               [&](const Binary& x) { return x.op == std::get<Binary>(b.node).op; }, [](const Select&) { return true; },
               [&](const Cast& x) {
                 const auto& y = std::get<Cast>(b.node);
                 return x.rounding == y.rounding && x.saturate == y.saturate;
               },
               [](const Bitcast&) { return true; },
               [&](const Call& x) {
                 const auto& y = std::get<Call>(b.node);
                 return x.fn == y.fn && x.args.size() == y.args.size();
               }},
      a.node);
}

bool same_tree(const ExprRef& a, const ExprRef& b, int& fuel) {
  if (a == b) return true;
  if (--fuel < 0 || !same_node(*a, *b)) return false;
  auto x = operands(*a), y = operands(*b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!same_tree(x[i], y[i], fuel)) return false;
  }
  return true;
}

std::size_t mix(std::size_t seed, std::size_t value) { return seed * 0x9e3779b97f4a7c15u + (value ^ (seed >> 29)); }

std::size_t hash_node(const Expr& expr) {
  std::size_t seed = mix(static_cast<std::size_t>(expr.type), expr.node.index());
  auto add = [&](auto value) { seed = mix(seed, static_cast<std::size_t>(value)); };
  std::visit(
      Overload{[&](const IntLit& e) { add(e.value); },
               [&](const FloatLit& e) { add(std::bit_cast<std::uint64_t>(e.value)); },
               [&](const VarRef& e) { add(reinterpret_cast<std::uintptr_t>(e.var.get())); },
               [&](const Load& e) { add(reinterpret_cast<std::uintptr_t>(e.buffer.get())); },
               [&](const Unary& e) { add(e.op); }, [&](const Binary& e) { add(e.op); }, [](const Select&) {},
               [&](const Cast& e) { add(e.saturate); }, [](const Bitcast&) {}, [&](const Call& e) { add(e.fn); }},
      expr.node);
  return seed;
}

std::size_t hash_top(const ExprRef& expr, int levels) {
  std::size_t seed = hash_node(*expr);
  if (levels == 0) return seed;
  for (const auto& operand : operands(*expr)) seed = mix(seed, hash_top(operand, levels - 1));
  return seed;
}

}  // namespace

bool same_expr(const ExprRef& a, const ExprRef& b) {
  int fuel = 2000;
  return same_tree(a, b, fuel);
}
std::size_t hash_expr(const ExprRef& expr) { return hash_top(expr, 4); }

}  // namespace plait::analysis
