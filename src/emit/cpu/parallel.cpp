#include <numeric>

#include "emit/cpu/access.h"
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
  llvm::Value* bound = e.b.CreateTrunc(active, e.b.getInt32Ty());
  return e.b.CreateICmpULT(iota32(e), e.b.CreateVectorSplat(static_cast<unsigned>(e.lanes.count), bound));
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
    Val value = linear(e.b.CreateAdd(range.begin, e.b.CreateMul(first, range.step)), step);
    value.bits = range.bits;
    value.multiple = std::gcd(emit_index_value(e, axis.begin).multiple, lanes * step);
    e.vars[axis.var.get()] = loop_value(e, *axis.var, value);
    emit_body(e, loop.body);
    e.lanes = saved;
  };
  emit_loop(e, e.i64(0), full, e.i64(lanes), axis.var->name, [&](llvm::Value* i) { group(i, nullptr); });
  llvm::Value* rest = e.b.CreateSub(count, full);
  emit_if(e, e.b.CreateICmpNE(rest, e.i64(0)), [&] { group(full, rest); });
}

/// Whether the whole region lies inside its tensor.
llvm::Value* lies_inside(Emitter& e, const ir::Region& region) {
  const BufferInfo& tensor = e.buffers.at(region.buffer.get());
  llvm::Value* inside = e.b.getTrue();
  for (std::size_t d = 0; d < region.ranges.size(); ++d) {
    llvm::Value* begin = emit_index(e, region.ranges[d].begin);
    llvm::Value* room = e.b.CreateSub(tensor.extents[d], emit_index(e, region.ranges[d].extent));
    inside = e.b.CreateAnd(inside, e.b.CreateICmpSGE(begin, e.i64(0)));
    inside = e.b.CreateAnd(inside, e.b.CreateICmpSLE(begin, room));
  }
  return inside;
}

/// Whether every row of the region begins at a multiple of a vector's bytes.
llvm::Value* vectors_aligned(Emitter& e, const ir::Region& region) {
  const BufferInfo& tensor = e.buffers.at(region.buffer.get());
  const std::int64_t bytes = ir::dtype_bits(tensor.decl->type) / 8;
  llvm::Value* first = e.i64(0);
  llvm::Value* bits = e.i64(0);
  for (std::size_t d = 0; d < region.ranges.size(); ++d) {
    first = e.b.CreateAdd(first, e.b.CreateMul(emit_index(e, region.ranges[d].begin), tensor.strides[d]));
    if (d + 1 < region.ranges.size()) bits = e.b.CreateOr(bits, e.b.CreateMul(tensor.strides[d], e.i64(bytes)));
  }
  bits = e.b.CreateOr(bits, e.b.CreatePtrToInt(element_pointer(e, tensor, first), e.b.getInt64Ty()));
  return e.b.CreateICmpEQ(e.b.CreateAnd(bits, e.i64(bytes * e.target.lanes(32) - 1)), e.i64(0));
}

void vouch(Emitter& e, const Fusion& fusion) {
  constexpr std::size_t max_rank = 16;
  for (const auto& [made, old] : fusion.vouched) {
    for (std::size_t d = 0; d < max_rank; ++d) {
      if (old == nullptr || e.proved.contains({old, d})) e.proved.insert({made, d});
    }
  }
}

void emit_fused_loop(Emitter& e, const Fusion& fusion) {
  emit_body(e, fusion.rest);
  llvm::Value* aligned = e.b.getTrue();
  for (const auto& [store, region] : fusion.streams) aligned = e.b.CreateAnd(aligned, vectors_aligned(e, *region));
  const auto plain = [&] { emit_parallel(e, std::get<ir::For>(fusion.loop->node), fusion.loop->loc); };
  const auto stream = [&] {
    for (const auto& [store, region] : fusion.streams) e.streaming.insert(store);
    e.streams = true;
    plain();
    for (const auto& [store, region] : fusion.streams) e.streaming.erase(store);
  };
  if (fusion.streams.empty())
    plain();
  else
    emit_if(e, aligned, stream, plain);
  emit_body(e, fusion.late);
}

}  // namespace

void emit_fusion(Emitter& e, const Fusion& fusion, const ir::Body& original) {
  for (const auto& local : fusion.locals) e.declare(local);
  for (const auto& [load, region] : fusion.sources) e.fetched[load] = region;
  vouch(e, fusion);
  llvm::Value* inside = e.b.getTrue();
  for (const auto* region : fusion.inside) inside = e.b.CreateAnd(inside, lies_inside(e, *region));
  emit_if(
      e, inside, [&] { emit_fused_loop(e, fusion); },
      [&] {
        for (const auto& stmt : original) emit_stmt(e, *stmt);
      });
}

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
