#include "emit/cpu/expr.h"
#include "emit/cpu/stmt.h"
#include "emit/cpu/vector_plan.h"

namespace plait::cpu {
namespace {

void emit_scalar(Emitter& e, const ir::For& loop, const Loc& loc) {
  std::vector<const ir::LoopAxis*> axes;
  for (const auto& axis : loop.axes) axes.push_back(&axis);
  emit_nest(e, axes, loc, false, [&] { emit_body(e, loop.body); });
}

/// The first `active` of `count` lanes.
llvm::Value* first_lanes(Emitter& e, llvm::Value* active) {
  return e.b.CreateICmpULT(iota(e), e.b.CreateVectorSplat(static_cast<unsigned>(e.lanes.count), active));
}

/// Iterations in groups of `lanes`, the rest in one masked group.
void emit_groups(Emitter& e, const ir::For& loop, const ir::LoopAxis& axis, const Loc& loc, int lanes) {
  const AxisRange range = emit_axis(e, axis, loc);
  const std::int64_t step = *const_int(range.step);
  llvm::Value* some = e.b.CreateICmpSLT(range.begin, range.end);
  llvm::Value* last = e.b.CreateUDiv(e.b.CreateSub(e.b.CreateSub(range.end, range.begin), e.i64(1)), range.step);
  llvm::Value* count = e.b.CreateSelect(some, e.b.CreateAdd(last, e.i64(1)), e.i64(0));
  llvm::Value* full = e.b.CreateAnd(count, e.i64(-lanes));
  const auto group = [&](llvm::Value* first, llvm::Value* active) {
    const Lanes saved = e.lanes;
    e.lanes.count = lanes;
    e.lanes.mask = active == nullptr ? nullptr : first_lanes(e, active);
    llvm::Value* value = e.b.CreateAdd(range.begin, e.b.CreateMul(first, range.step));
    e.vars[axis.var.get()] = loop_value(e, *axis.var, linear(value, step));
    emit_body(e, loop.body);
    e.lanes = saved;
  };
  emit_loop(e, e.i64(0), full, e.i64(lanes), axis.var->name, [&](llvm::Value* i) { group(i, nullptr); });
  llvm::Value* rest = e.b.CreateSub(count, full);
  emit_if(e, e.b.CreateICmpNE(rest, e.i64(0)), [&] { group(full, rest); });
}

}  // namespace

void emit_parallel(Emitter& e, const ir::For& loop, const Loc& loc) {
  if (e.in_parallel) return emit_scalar(e, loop, loc);
  const VectorPlan plan = plan_vector(loop, loc);
  e.in_parallel = true;
  if (!plan.axis.has_value()) {
    e.slow(plan.loc, "this parallel loop runs one iteration at a time: " + plan.reason);
    emit_scalar(e, loop, loc);
  } else {
    std::vector<const ir::LoopAxis*> outer;
    for (std::size_t i = 0; i < loop.axes.size(); ++i) {
      if (i != *plan.axis) outer.push_back(&loop.axes[i]);
    }
    const ir::LoopAxis& axis = loop.axes[*plan.axis];
    emit_nest(e, outer, loc, false, [&] { emit_groups(e, loop, axis, loc, e.target.lanes(32)); });
  }
  e.in_parallel = false;
}

}  // namespace plait::cpu
