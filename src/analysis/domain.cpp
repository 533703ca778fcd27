#include "analysis/accesses.h"
#include "analysis/expr_util.h"

namespace plait::analysis {

using namespace ir;

void Domain::add_loop(const For& loop) {
  for (const LoopAxis& axis : loop.axes) vars.push_back({axis.var, axis.begin, axis.end, axis.step});
}

void Domain::assume(const ExprRef& cond, bool holds) { conditions.push_back(holds ? cond : not_expr(cond)); }

namespace {

void add_shape(Domain& domain, const BufferDecl& buffer) {
  std::vector<Var> dims;
  for (const ExprRef& e : buffer.shape) {
    const auto* ref = std::get_if<VarRef>(&e->node);
    if (ref != nullptr && ref->var->kind == VarKind::dim) dims.push_back(ref->var);
  }
  if (dims.size() > 1) domain.shapes.push_back(std::move(dims));
}

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
    add_shape(domain, *param.buffer);
    add_extents(domain, param.buffer->shape);
    add_extents(domain, param.buffer->strides);
  }
  for (const GridAxis& axis : kernel.grid) {
    domain.vars.push_back({axis.var, int_expr(DType::i64, 0), axis.extent, nullptr});
  }
  for (const Require& require : kernel.requires_) domain.conditions.push_back(require.cond);
  return domain;
}

void for_each_loop(const Kernel& kernel, const LoopVisit& visit) {
  AccessWalker walker(kernel_domain(kernel), [](const Access&) {});
  walker.on_loop(visit);
  walker.walk(kernel.body);
}

}  // namespace plait::analysis
