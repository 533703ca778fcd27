#include "emit/cpu/prefetch.h"

#include "emit/cpu/access.h"
#include "emit/cpu/expr.h"

namespace plait::cpu {
namespace {

bool mentions(const ir::ExprRef& expr, const ir::VarDecl* var) {
  bool found = false;
  ir::walk(expr, [&](const ir::Expr& x) {
    const auto* ref = std::get_if<ir::VarRef>(&x.node);
    found = found || (ref != nullptr && ref->var.get() == var);
  });
  return found;
}

}  // namespace

llvm::Value* distance_ahead(Emitter& e, const ir::Region& region) {
  const BufferInfo& tensor = e.buffers.at(region.buffer.get());
  if (!e.next.has_value() || !tensor.global()) return nullptr;
  const Val now = e.vars[e.next->var];
  llvm::Value* distance = e.i64(0);
  bool moves = false;
  for (std::size_t d = 0; d < region.ranges.size(); ++d) {
    const ir::ExprRef begin = ir::substitute(region.ranges[d].begin, e.next->lets);
    if (!mentions(begin, e.next->var)) continue;
    if (!harmless(*begin)) return nullptr;
    moves = true;
    llvm::Value* here = emit_index(e, begin);
    e.vars[e.next->var] = uniform(e.next->value);
    llvm::Value* shift = e.b.CreateSub(emit_index(e, begin), here);
    e.vars[e.next->var] = now;
    distance = e.b.CreateAdd(distance, e.b.CreateMul(shift, tensor.strides[d]));
  }
  return moves ? distance : nullptr;
}

void emit_prefetch(Emitter& e, const BufferInfo& buffer, llvm::Value* offset) {
  llvm::Value* pointer = element_pointer(e, buffer, offset);
  const std::vector<llvm::Value*> args = {pointer, e.b.getInt32(0), e.b.getInt32(3), e.b.getInt32(1)};
  e.b.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()}, args);
}

}  // namespace plait::cpu
