#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/threads.h"

namespace plait::pipeline {

using namespace ir;

namespace {

bool reads_memory(const ExprRef& expr) {
  bool found = false;
  walk(expr, [&](const Expr& e) { found = found || std::holds_alternative<Load>(e.node); });
  return found;
}

bool may_break(const Body& body) {
  return std::any_of(body.begin(), body.end(), [](const StmtRef& stmt) {
    if (std::holds_alternative<Break>(stmt->node)) return true;
    if (const auto* node = std::get_if<If>(&stmt->node))
      return may_break(node->then_body) || may_break(node->else_body);
    if (const auto* node = std::get_if<Task>(&stmt->node)) return may_break(node->body);
    return false;
  });
}

}  // namespace

/// `break` and `continue` set flags; what stands behind asks for them.
void Lowering::jump(bool out) {
  b_.set(jumps_.back().skip, Value(true));
  if (out) b_.set(jumps_.back().stop, Value(true));
}

/// A bound is read once, where the loop begins.
Value Lowering::bound(const ExprRef& expr, const std::string& name) {
  Value value = scalars_.index(expr);
  return reads_memory(expr) ? b_.let(fresh(name), value) : value;
}

void Lowering::serial_loop(const For& loop, const std::function<void()>& body) {
  const LoopAxis& axis = loop.axes.front();
  Value begin = bound(axis.begin, axis.var->name + "_begin"), end = bound(axis.end, axis.var->name + "_end"),
        step = bound(axis.step, axis.var->name + "_step");
  auto iteration = [&](const Value& value) {
    BodyScope scope(*this);
    scalars_.bind(axis.var, value);
    scalars_.add_loop(loop);
    if (may_jump(loop.body)) b_.set(jumps_.back().skip, Value(false));
    body();
  };
  if (!may_jump(loop.body)) return b_.loop(fresh(axis.var->name), {begin, end, step}, iteration);
  jumps_.push_back(
      {b_.var(fresh("skip"), DType::bool_, Value(false)), b_.var(fresh("stop"), DType::bool_, Value(false))});
  if (!may_break(loop.body)) {
    b_.loop(fresh(axis.var->name), {begin, end, step}, iteration);
  } else {
    Var at = b_.var(fresh(axis.var->name), DType::i32, begin);
    b_.while_(!Value(jumps_.back().stop) && Value(at) < end, [&] {
      iteration(at);
      b_.set(at, Value(at) + step);
    });
  }
  jumps_.pop_back();
}

/// Iterations are shared out over the blocks of the grid in turn, the last axis fastest.
void Lowering::persistent_loop(const For& loop, const std::function<void()>& body) {
  Value block = 0, blocks = 1, total = 1;
  for (std::size_t d = kernel_.grid.size(); d-- > 0;) {
    Value at = scalars_.convert(var_ref(kernel_.grid[d].var));
    block = d + 1 == kernel_.grid.size() ? at : block * work_.counts()[d] + at;
    blocks = d + 1 == kernel_.grid.size() ? work_.counts()[d] : blocks * work_.counts()[d];
  }
  Values begin, step, extent;
  for (const LoopAxis& axis : loop.axes) {
    begin.push_back(bound(axis.begin, axis.var->name + "_begin"));
    step.push_back(bound(axis.step, axis.var->name + "_step"));
    Value end = bound(axis.end, axis.var->name + "_end");
    extent.push_back(b_.let(fresh(axis.var->name + "_extent"), max(ceildiv(end - begin.back(), step.back()), 0)));
    total = total * extent.back();
  }
  b_.loop(fresh("turn"), {block, total, blocks}, [&](const Value& turn) {
    BodyScope inner(*this);
    Value rest = turn;
    scalars_.add_loop(loop);
    for (std::size_t d = loop.axes.size(); d-- > 0;) {
      Value at = d == 0 ? rest : rest % extent[d];
      rest = rest / extent[d];
      scalars_.bind(loop.axes[d].var, b_.let(fresh(loop.axes[d].var->name), begin[d] + at * step[d]));
    }
    body();
  });
}

void Lowering::while_loop(const While& loop, const std::function<void()>& body) {
  auto iteration = [&] {
    BodyScope scope(*this);
    if (may_jump(loop.body)) b_.set(jumps_.back().skip, Value(false));
    body();
  };
  Value cond = scalars_.convert(loop.cond);
  if (!may_jump(loop.body)) return b_.while_(cond, iteration);
  jumps_.push_back(
      {b_.var(fresh("skip"), DType::bool_, Value(false)), b_.var(fresh("stop"), DType::bool_, Value(false))});
  b_.while_(!Value(jumps_.back().stop) && cond, iteration);
  jumps_.pop_back();
}

}  // namespace plait::pipeline
