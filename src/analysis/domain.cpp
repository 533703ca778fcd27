#include "analysis/expr_util.h"

namespace plait::analysis {

using namespace ir;

void Domain::add_loop(const For& loop) {
  for (const LoopAxis& axis : loop.axes) vars.push_back({axis.var, axis.begin, axis.end, axis.step});
}

namespace {

void add_extents(Domain& domain, const std::vector<ExprRef>& exprs) {
  for (const ExprRef& e : exprs) {
    bool plain = std::holds_alternative<VarRef>(e->node) || std::holds_alternative<IntLit>(e->node);
    if (!plain) domain.conditions.push_back(binary_expr(BinaryOp::ge, e, int_expr(e->type, 0)));
  }
}

}  // namespace

Domain kernel_domain(const Kernel& kernel) {
  Domain domain;
  for (const Var& dim : kernel.dims) domain.vars.push_back({dim, nullptr, nullptr, nullptr});
  for (const Param& param : kernel.params) {
    if (param.scalar) domain.vars.push_back({param.scalar, nullptr, nullptr, nullptr});
    if (!param.buffer) continue;
    if (param.kind == ParamKind::in) domain.read_only.push_back(param.buffer);
    add_extents(domain, param.buffer->shape);
    add_extents(domain, param.buffer->strides);
  }
  for (const GridAxis& axis : kernel.grid) {
    domain.vars.push_back({axis.var, int_expr(DType::i64, 0), axis.extent, nullptr});
  }
  for (const Require& require : kernel.requires_) domain.conditions.push_back(require.cond);
  return domain;
}

}  // namespace plait::analysis
