#include "analysis/simplify.h"

#include <algorithm>

#include "support/result.h"

namespace plait::analysis {

using namespace ir;

namespace {

/// Expressions of more than this are left alone: shared subtrees make trees without end.
constexpr std::int64_t max_cost = 4000;

std::int64_t operator_cost(BinaryOp op) {
  switch (op) {
    case BinaryOp::div:
    case BinaryOp::mod:
    case BinaryOp::ceil_div:
      return 6;
    case BinaryOp::mul:
    case BinaryOp::min:
    case BinaryOp::max:
      return 2;
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::shl:
    case BinaryOp::shr:
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
      return 1;
  }
  return 1;
}

std::int64_t node_cost(const Expr& expr) {
  return std::visit(
      Overload{[](const IntLit&) -> std::int64_t { return 1; }, [](const FloatLit&) -> std::int64_t { return 1; },
               [](const VarRef&) -> std::int64_t { return 2; }, [](const Binary& e) { return operator_cost(e.op); },
               [](const auto&) -> std::int64_t { return 2; }},
      expr.node);
}

std::int64_t bounded_cost(const ExprRef& expr, std::int64_t budget) {
  std::int64_t cost = node_cost(*expr);
  for (const ExprRef& operand : operands(*expr)) {
    if (cost > budget) break;
    cost += bounded_cost(operand, budget - cost);
  }
  return cost;
}

class Simplifier {
 public:
  explicit Simplifier(const Domain& domain) : solver_(domain), rules_(solver_) {}

  ExprRef run(ExprRef expr) {
    // Every pass that changes something makes the expression cheaper, so this ends.
    while (true) {
      ExprRef next = pass(expr);
      if (next == expr) return expr;
      expr = std::move(next);
    }
  }

 private:
  ExprRef pass(const ExprRef& expr) {
    if (auto it = done_.find(expr.get()); it != done_.end()) return it->second.second;
    ExprRef result = with_operands(expr, simple_operands(expr));
    while (ExprRef next = rules_.apply(result)) result = std::move(next);
    done_[expr.get()] = {expr, result};
    return result;
  }

  std::vector<ExprRef> simple_operands(const ExprRef& expr) {
    std::vector<ExprRef> ops = operands(*expr);
    if (std::holds_alternative<Select>(expr->node)) {
      ops[0] = pass(ops[0]);
      ops[1] = pass_under(ops[0], ops[1]);
      ops[2] = pass_under(not_expr(ops[0]), ops[2]);
      return ops;
    }
    const auto* e = std::get_if<Binary>(&expr->node);
    if (e != nullptr && (e->op == BinaryOp::logical_and || e->op == BinaryOp::logical_or)) {
      ops[0] = pass(ops[0]);
      ops[1] = pass_under(e->op == BinaryOp::logical_and ? ops[0] : not_expr(ops[0]), ops[1]);
      return ops;
    }
    for (ExprRef& operand : ops) operand = pass(operand);
    return ops;
  }

  ExprRef pass_under(const ExprRef& cond, const ExprRef& expr) {
    if (operands(*expr).empty() && !std::holds_alternative<VarRef>(expr->node)) return expr;
    solver_.push(cond);
    auto outside = std::exchange(done_, {});
    ExprRef result = pass(expr);
    done_ = std::move(outside);
    solver_.pop();
    return result;
  }

  Solver solver_;
  Rules rules_;
  std::unordered_map<const Expr*, std::pair<ExprRef, ExprRef>> done_;
};

}  // namespace

std::int64_t expr_cost(const ExprRef& expr) { return bounded_cost(expr, max_cost); }

ExprRef simplify(const ExprRef& expr, const Domain& domain) {
  if (operands(*expr).empty() && !std::holds_alternative<VarRef>(expr->node)) return expr;
  if (expr_cost(expr) > max_cost) return expr;
  return Simplifier(domain).run(expr);
}

}  // namespace plait::analysis
