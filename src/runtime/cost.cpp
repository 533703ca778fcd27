#include "runtime/cost.h"

#include <algorithm>
#include <cmath>

#include "ir/visit.h"
#include "runtime/eval.h"
#include "support/result.h"

namespace plait::runtime {
namespace {

Cost& operator+=(Cost& a, const Cost& b) {
  a.steps += b.steps;
  a.gemm_flops += b.gemm_flops;
  a.exact = a.exact && b.exact;
  return a;
}

Cost scaled(const Cost& cost, double factor) { return {cost.steps * factor, cost.gemm_flops * factor, cost.exact}; }

bool same_work(const Cost& a, const Cost& b) { return a.steps == b.steps && a.gemm_flops == b.gemm_flops; }

/// Sum of f(0) … f(n - 1): by product where first, middle and last agree, by Simpson's rule (exact for triangular loops
/// up to rounding) where there are many, else one by one.
template <typename F>
Cost sum_over(double n, const F& f) {
  constexpr double kOneByOne = 32;
  if (n <= 0) return {};
  Cost first = f(0.0);
  if (n == 1) return first;
  Cost middle = f(std::floor(n / 2)), last = f(n - 1);
  if (same_work(first, middle) && same_work(first, last)) return scaled(first, n);
  Cost total;
  if (n <= kOneByOne) {
    for (int i = 0; i < n; ++i) total += f(i);
    return total;
  }
  total += scaled(first, n / 6);
  total += scaled(middle, n * 4 / 6);
  total += scaled(last, n / 6);
  total.exact = false;
  return total;
}

class Counter {
 public:
  Counter(const ir::Kernel& kernel, const ir::BoundArgs& args) : kernel_(kernel), args_(args) {
    for (std::size_t i = 0; i < kernel.dims.size(); ++i) env_[kernel.dims[i].get()] = int_value(args.dims[i]);
    std::size_t next = 0;
    for (const ir::Param& param : kernel.params) {
      if (param.kind == ir::ParamKind::scalar) env_[param.scalar.get()] = args.scalars[next++];
    }
  }

  Cost grid(std::size_t axis) {
    if (axis == kernel_.grid.size()) return body(kernel_.body);
    return sum_over(static_cast<double>(args_.grid[axis]), [&](double i) {
      env_[kernel_.grid[axis].var.get()] = int_value(static_cast<std::int64_t>(i));
      return grid(axis + 1);
    });
  }

 private:
  std::optional<std::int64_t> value(const ir::ExprRef& expr) {
    Evaluated e = evaluate(*expr, env_);
    return e.value ? std::optional(e.value->i) : std::nullopt;
  }
  Cost body(const ir::Body& body) {
    Cost total;
    for (const ir::StmtRef& stmt : body) total += statement(*stmt);
    return total;
  }
  Cost statement(const ir::Stmt& stmt);
  Cost loop(const ir::For& loop, std::size_t axis);
  Cost branch(const ir::If& branch);
  Cost tile_op(const ir::TileOp& op);
  double elements(const ir::Region& region, bool& exact);

  const ir::Kernel& kernel_;
  const ir::BoundArgs& args_;
  Env env_;
};

Cost Counter::statement(const ir::Stmt& stmt) {
  Cost own;
  ir::for_each_expr(stmt, [&](const ir::ExprRef& e) { ir::walk(e, [&](const ir::Expr&) { own.steps += 1; }); });
  own.steps += 1;
  own += std::visit(Overload{
                        [&](const ir::For& n) { return loop(n, 0); },
                        [&](const ir::While& n) {
                          Cost once = body(n.body);
                          once.exact = false;
                          return once;
                        },
                        [&](const ir::If& n) { return branch(n); },
                        [&](const ir::Task& n) { return body(n.body); },
                        [&](const ir::TileOp& n) { return tile_op(n); },
                        [&](const ir::Let& n) {
                          Evaluated e = evaluate(*n.value, env_);
                          if (e.value) env_[n.var.get()] = *e.value;
                          if (!e.value) env_.erase(n.var.get());
                          return Cost{};
                        },
                        [](const ir::Alloc&) { return Cost{}; },
                        [](const ir::Store&) { return Cost{}; },
                        [](const ir::AtomicElement&) { return Cost{}; },
                        [](const ir::Assert&) { return Cost{}; },
                        [](const ir::Print&) { return Cost{}; },
                        [](const ir::Break&) { return Cost{0, 0, false}; },
                        [](const ir::Continue&) { return Cost{0, 0, false}; },
                    },
                    stmt.node);
  return own;
}

Cost Counter::loop(const ir::For& loop, std::size_t axis) {
  if (axis == loop.axes.size()) return body(loop.body);
  const ir::LoopAxis& a = loop.axes[axis];
  auto begin = value(a.begin), end = value(a.end), step = value(a.step);
  if (!begin || !end || !step || *step <= 0) {
    env_.erase(a.var.get());
    Cost once = this->loop(loop, axis + 1);
    once.exact = false;
    return once;
  }
  double trips = std::ceil((static_cast<double>(*end) - static_cast<double>(*begin)) / static_cast<double>(*step));
  Cost total = sum_over(trips, [&](double i) {
    env_[a.var.get()] = int_value(*begin + static_cast<std::int64_t>(i) * *step);
    return this->loop(loop, axis + 1);
  });
  // Spread over the blocks, all of which run this statement.
  if (axis == 0 && loop.kind == ir::LoopKind::persistent) {
    double blocks = 1;
    for (std::int64_t extent : args_.grid) blocks *= static_cast<double>(std::max<std::int64_t>(extent, 1));
    return scaled(total, 1 / blocks);
  }
  return total;
}

Cost Counter::branch(const ir::If& branch) {
  if (auto cond = value(branch.cond)) return body(*cond != 0 ? branch.then_body : branch.else_body);
  Cost a = body(branch.then_body), b = body(branch.else_body);
  Cost larger = a.steps >= b.steps ? a : b;
  larger.exact = false;
  return larger;
}

double Counter::elements(const ir::Region& region, bool& exact) {
  double count = 1;
  for (const ir::Range& range : region.ranges) {
    auto extent = value(range.extent);
    exact = exact && extent.has_value();
    count *= static_cast<double>(extent.value_or(1));
  }
  return count;
}

Cost Counter::tile_op(const ir::TileOp& op) {
  Cost cost;
  double most = 0;
  for (const ir::Region& region : op.operands) most = std::max(most, elements(region, cost.exact));
  cost.steps = most;
  if (op.kind != ir::OpKind::gemm) return cost;
  // |A|·|B|·|C| = (M·K)·(K·N)·(M·N), a square.
  double product = 1;
  for (const ir::Region& region : op.operands) product *= elements(region, cost.exact);
  cost.steps = std::round(std::sqrt(product));
  cost.gemm_flops = 2 * cost.steps;
  return cost;
}

}  // namespace

Cost estimate_cost(const ir::Kernel& kernel, const ir::BoundArgs& args) { return Counter(kernel, args).grid(0); }

double interpreter_seconds(const Cost& cost) {
  // Measured: products are a tight loop of their own, everything else is dispatched step by step.
  constexpr double kProduct = 3e-9, kStep = 3e-8;
  double products = cost.gemm_flops / 2;
  return products * kProduct + (cost.steps - products) * kStep;
}

bool blocks_are_separable(const ir::Kernel& kernel) {
  bool separable = std::none_of(kernel.params.begin(), kernel.params.end(),
                                [](const ir::Param& p) { return p.kind == ir::ParamKind::inout; });
  ir::walk(kernel.body, [&](const ir::Stmt& stmt) {
    if (std::holds_alternative<ir::AtomicElement>(stmt.node)) separable = false;
    if (const auto* loop = std::get_if<ir::For>(&stmt.node); loop != nullptr && loop->kind == ir::LoopKind::persistent)
      separable = false;
    const auto* op = std::get_if<ir::TileOp>(&stmt.node);
    if (op == nullptr) return;
    if (op->kind == ir::OpKind::atomic_add || op->kind == ir::OpKind::atomic_max || op->kind == ir::OpKind::atomic_min)
      separable = false;
  });
  return separable;
}

}  // namespace plait::runtime
