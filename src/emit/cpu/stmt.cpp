#include "emit/cpu/stmt.h"

#include <numeric>

#include "emit/cpu/access.h"
#include "emit/cpu/expr.h"
#include "emit/cpu/tile_ops.h"
#include "emit/cpu/types.h"
#include "emit/cpu/vector_convert.h"
#include "support/result.h"

namespace plait::cpu {
namespace {

void emit_alloc(Emitter& e, const ir::Stmt& stmt, const ir::Alloc& alloc) {
  BufferInfo& info = e.buffers.at(alloc.buffer.get());
  info.interleave = e.lanes.count;
  const auto room = e.plan.rooms.find(&stmt);
  if (room == e.plan.rooms.end()) {
    const auto bytes =
        static_cast<std::uint64_t>(std::max<std::int64_t>(1, buffer_bytes(*alloc.buffer, e.lanes.count)));
    info.base = e.stack(llvm::ArrayType::get(e.b.getInt8Ty(), bytes), alloc.buffer->name);
  } else {
    info.base = e.b.CreateConstInBoundsGEP1_64(e.b.getInt8Ty(), e.scratch,
                                               static_cast<std::uint64_t>(room->second.offset), alloc.buffer->name);
  }
}

/// `if` in lanes: each branch runs under its mask, and only where it has an active lane.
void emit_masked_if(Emitter& e, const ir::If& branch, llvm::Value* cond) {
  const Lanes saved = e.lanes;
  const auto arm = [&](const ir::Body& body, llvm::Value* taken) {
    if (body.empty()) return;
    llvm::Value* mask = narrow(e, taken);
    emit_if(e, any(e, mask), [&] {
      e.lanes.mask = mask;
      emit_body(e, body);
      e.lanes = saved;
    });
  };
  arm(branch.then_body, cond);
  arm(branch.else_body, e.b.CreateNot(cond));
}

void emit_if_stmt(Emitter& e, const ir::If& branch) {
  const Val cond = emit_expr(e, branch.cond);
  if (cond.form != Form::uniform) {
    emit_masked_if(e, branch, cond.v);
  } else if (branch.else_body.empty()) {
    emit_if(e, cond.v, [&] { emit_body(e, branch.then_body); });
  } else {
    emit_if(e, cond.v, [&] { emit_body(e, branch.then_body); }, [&] { emit_body(e, branch.else_body); });
  }
}

void emit_while(Emitter& e, const ir::While& loop) {
  auto* head = e.block("while");
  auto* body = e.block("while.body");
  auto* exit = e.block("while.exit");
  e.b.CreateBr(head);
  e.b.SetInsertPoint(head);
  const Val cond = emit_expr(e, loop.cond);
  PLAIT_ASSERT(cond.form == Form::uniform, "the condition of a while differs between lanes");
  e.b.CreateCondBr(cond.v, body, exit);
  e.b.SetInsertPoint(body);
  e.loops.push_back({head, exit});
  emit_body(e, loop.body, true);
  e.loops.pop_back();
  e.b.CreateBr(head);
  exit->moveAfter(e.b.GetInsertBlock());
  e.b.SetInsertPoint(exit);
}

/// Iterations of an axis: ceil((end - begin) / step), at least 0.
llvm::Value* trip_count(Emitter& e, const AxisRange& range) {
  llvm::Value* some = e.b.CreateICmpSLT(range.begin, range.end);
  llvm::Value* last = e.b.CreateSub(e.b.CreateSub(range.end, range.begin), e.i64(1));
  llvm::Value* count = e.b.CreateAdd(e.b.CreateUDiv(last, range.step), e.i64(1));
  return e.b.CreateSelect(some, count, e.i64(0));
}

/// Iteration t of the flattened axes (last one fastest) runs in block t mod blocks.
void emit_persistent(Emitter& e, const ir::For& loop, const Loc& loc) {
  std::vector<AxisRange> ranges;
  std::vector<llvm::Value*> counts;
  llvm::Value* total = e.i64(1);
  for (const auto& axis : loop.axes) {
    ranges.push_back(emit_axis(e, axis, loc));
    counts.push_back(trip_count(e, ranges.back()));
    total = e.b.CreateMul(total, counts.back());
  }
  emit_loop(e, e.linear_block, total, e.blocks, "tile", [&](llvm::Value* t) {
    llvm::Value* rest = t;
    for (std::size_t i = loop.axes.size(); i-- > 0;) {
      llvm::Value* at = i == 0 ? rest : e.b.CreateURem(rest, counts[i]);
      rest = i == 0 ? rest : e.b.CreateUDiv(rest, counts[i]);
      llvm::Value* value = e.b.CreateAdd(ranges[i].begin, e.b.CreateMul(at, ranges[i].step));
      e.vars[loop.axes[i].var.get()] = loop_value(e, *loop.axes[i].var, uniform(value));
    }
    emit_body(e, loop.body, true);
  });
}

/// Iterations in order; copies from global memory ask for the tile of the next one while they run.
void emit_pipelined(Emitter& e, const ir::For& loop, const Loc& loc) {
  const ir::LoopAxis& axis = loop.axes.front();
  emit_nest(e, {&axis}, loc, true, [&] {
    llvm::Value* now = e.vars.at(axis.var.get()).v;
    e.next = NextIteration{axis.var.get(), e.b.CreateAdd(now, emit_index(e, axis.step)), {}};
    emit_body(e, loop.body, true);
    e.next.reset();
  });
}

void emit_let(Emitter& e, const ir::Let& let) {
  e.vars[let.var.get()] = emit_expr(e, let.value);
  if (!e.next.has_value() || e.in_parallel) return;
  const ir::ExprRef value = ir::substitute(let.value, e.next->lets);
  constexpr int limit = 100;  // nodes: definitions that use each other grow when they are written out
  int nodes = 0;
  ir::walk(value, [&](const ir::Expr&) { ++nodes; });
  if (nodes <= limit && harmless(*value)) e.next->lets[let.var.get()] = value;
}

void emit_for(Emitter& e, const ir::For& loop, const Loc& loc) {
  switch (loop.kind) {
    case ir::LoopKind::serial:
    case ir::LoopKind::unrolled:
    case ir::LoopKind::vectorized: {
      std::vector<const ir::LoopAxis*> axes;
      for (const auto& axis : loop.axes) axes.push_back(&axis);
      return emit_nest(e, axes, loc, true, [&] { emit_body(e, loop.body, true); });
    }
    case ir::LoopKind::pipelined:
      return emit_pipelined(e, loop, loc);
    case ir::LoopKind::parallel:
      return emit_parallel(e, loop, loc);
    case ir::LoopKind::persistent:
      return emit_persistent(e, loop, loc);
  }
}

void emit_store(Emitter& e, const ir::Stmt& stmt, const ir::Store& store) {
  BufferInfo buffer = e.buffers.at(store.buffer.get());
  buffer.stream = e.streaming.contains(&stmt);
  const Val value = emit_expr(e, store.value);
  store_element(e, buffer, emit_offset(e, buffer, store.index, &stmt, stmt.loc), value);
}

void emit_assert(Emitter& e, const ir::Assert& check, const Loc& loc) {
  const Val cond = emit_expr(e, check.cond);
  llvm::Value* bad = e.b.CreateNot(cond.v);
  if (cond.form != Form::uniform) bad = any(e, narrow(e, bad));
  std::string message = "assertion failed: " + (check.message.empty() ? ir::print(*check.cond) : check.message);
  trap_if(e, bad, Rule::assert_failed, loc, std::move(message));
}

/// Statements behind a jump are not reached; they go to a block without predecessor.
void emit_jump(Emitter& e, llvm::BasicBlock* target) {
  e.b.CreateBr(target);
  e.b.SetInsertPoint(e.block("unreached"));
}

}  // namespace

void emit_stmt(Emitter& e, const ir::Stmt& stmt) {
  std::visit(Overload{
                 [&](const ir::For& x) { emit_for(e, x, stmt.loc); },
                 [&](const ir::While& x) { emit_while(e, x); },
                 [&](const ir::If& x) { emit_if_stmt(e, x); },
                 [&](const ir::Let& x) { emit_let(e, x); },
                 [&](const ir::Alloc& x) { emit_alloc(e, stmt, x); },
                 [&](const ir::Store& x) { emit_store(e, stmt, x); },
                 [&](const ir::AtomicElement& x) { emit_atomic_element(e, stmt, x); },
                 [&](const ir::TileOp& x) { emit_tile_op(e, stmt, x); },
                 [&](const ir::Assert& x) { emit_assert(e, x, stmt.loc); },
                 [&](const ir::Print& x) { emit_print(e, x); },
                 [&](const ir::Break&) { emit_jump(e, e.loops.back().exit); },
                 [&](const ir::Continue&) { emit_jump(e, e.loops.back().next); },
                 [&](const ir::Task& x) { emit_body(e, x.body); },
             },
             stmt.node);
}

namespace {

/// The fusion that begins at the statement, kept for as long as the emitter lives: its nodes are known by address.
const Fusion* find_fusion(Emitter& e, const Place& place) {
  if (e.in_parallel) return nullptr;
  auto fusion = plan_fusion(place, [&](const ir::Load& load, std::size_t dim) {
    return !e.options.checks || e.proved.contains({&load, dim});
  });
  if (!fusion.has_value()) return nullptr;
  e.fusions.push_back(std::make_unique<Fusion>(std::move(*fusion)));
  return e.fusions.back().get();
}

}  // namespace

void emit_body(Emitter& e, const ir::Body& body, bool loop) {
  const Place* outer = e.place;
  for (std::size_t i = 0; i < body.size();) {
    const Place place{&body, i, loop, outer};
    e.place = &place;
    if (const Fusion* fusion = find_fusion(e, place)) {
      const auto first = body.begin() + static_cast<std::ptrdiff_t>(i);
      emit_fusion(e, *fusion, ir::Body(first, first + static_cast<std::ptrdiff_t>(fusion->count)));
      i += fusion->count;
    } else {
      emit_stmt(e, *body[i++]);
    }
  }
  e.place = outer;
}

AxisRange emit_axis(Emitter& e, const ir::LoopAxis& axis, const Loc& loc) {
  const Val begin = emit_index_value(e, axis.begin);
  const Val end = emit_index_value(e, axis.end);
  const Val step = emit_index_value(e, axis.step);
  const int bits = begin.bits > 0 ? end.bits : 0;
  const AxisRange range{begin.v, end.v, step.v, bits, std::gcd(begin.multiple, step.multiple)};
  llvm::Value* bad = e.b.CreateICmpSLE(range.step, e.i64(0));
  trap_if(e, bad, Rule::loop_step, loc, "the step of the loop is {}",
          [&] { return std::vector<llvm::Value*>{range.step}; });
  return range;
}

Val loop_value(Emitter& e, const ir::VarDecl& var, const Val& value) {
  if (var.type == ir::DType::i64) return value;
  llvm::Value* all = spread(e, value);
  return {e.b.CreateTrunc(all, all->getType()->getWithNewType(carrier_type(e.context, var.type))),
          value.form == Form::uniform ? Form::uniform : Form::varying, 0};
}

void emit_nest(Emitter& e, llvm::ArrayRef<const ir::LoopAxis*> axes, const Loc& loc, bool breakable,
               llvm::function_ref<void()> body) {
  if (axes.empty()) return body();
  const ir::LoopAxis& axis = *axes.front();
  const AxisRange range = emit_axis(e, axis, loc);
  emit_loop(
      e, range.begin, range.end, range.step, axis.var->name,
      [&](llvm::Value* i) {
        Val value = uniform(i);
        value.bits = range.bits;
        value.multiple = range.multiple;
        e.vars[axis.var.get()] = loop_value(e, *axis.var, value);
        emit_nest(e, axes.drop_front(), loc, breakable, body);
      },
      breakable);
}

}  // namespace plait::cpu
