#include "emit/cpu/atomic.h"

#include "emit/cpu/access.h"
#include "emit/cpu/arith.h"
#include "emit/cpu/expr.h"
#include "emit/cpu/stmt.h"
#include "emit/cpu/tile_ops.h"
#include "emit/cpu/transfer.h"
#include "emit/cpu/vector_convert.h"

namespace plait::cpu {
namespace {

ir::BinaryOp binary_of(ir::AtomicOp op) {
  switch (op) {
    case ir::AtomicOp::add:
      return ir::BinaryOp::add;
    case ir::AtomicOp::max:
      return ir::BinaryOp::max;
    case ir::AtomicOp::min:
      return ir::BinaryOp::min;
  }
  return ir::BinaryOp::add;
}

llvm::AtomicRMWInst::BinOp machine_op(ir::AtomicOp op, bool is_signed) {
  switch (op) {
    case ir::AtomicOp::add:
      return llvm::AtomicRMWInst::Add;
    case ir::AtomicOp::max:
      return is_signed ? llvm::AtomicRMWInst::Max : llvm::AtomicRMWInst::UMax;
    case ir::AtomicOp::min:
      return is_signed ? llvm::AtomicRMWInst::Min : llvm::AtomicRMWInst::UMin;
  }
  return llvm::AtomicRMWInst::Add;
}

llvm::Value* updated(Emitter& e, const BufferInfo& buffer, ir::AtomicOp op, llvm::Value* old, llvm::Value* value) {
  const ir::DType type = buffer.decl->type;
  return round_result(e, type, emit_combine(e, binary_of(op), type, old, value));
}

/// Computes the new bits from the old ones until nobody has changed them meanwhile.
void compare_and_swap(Emitter& e, const BufferInfo& buffer, llvm::Value* pointer, ir::AtomicOp op, llvm::Value* value) {
  llvm::Type* type = element_type(e, buffer);
  const llvm::Align align(type->getScalarSizeInBits() / 8);
  const auto order = llvm::AtomicOrdering::Monotonic;
  auto* first = e.b.CreateAlignedLoad(type, pointer, align);
  first->setAtomic(order);
  tag(buffer, first);
  auto* before = e.b.GetInsertBlock();
  auto* loop = e.block("swap");
  auto* done = e.block("swapped");
  e.b.CreateBr(loop);
  e.b.SetInsertPoint(loop);
  llvm::PHINode* old = e.b.CreatePHI(type, 2);
  old->addIncoming(first, before);
  llvm::Value* next = to_memory(e, buffer, updated(e, buffer, op, from_memory(e, buffer, old), value));
  auto* swap = e.b.CreateAtomicCmpXchg(pointer, old, next, align, order, order);
  tag(buffer, swap);
  old->addIncoming(e.b.CreateExtractValue(swap, 0), e.b.GetInsertBlock());
  e.b.CreateCondBr(e.b.CreateExtractValue(swap, 1), done, loop);
  e.b.SetInsertPoint(done);
}

}  // namespace

void emit_atomic_update(Emitter& e, const BufferInfo& buffer, llvm::Value* offset, ir::AtomicOp op,
                        llvm::Value* value) {
  if (!buffer.global()) {
    const Val old = load_element(e, buffer, uniform(offset));
    store_element(e, buffer, uniform(offset), uniform(updated(e, buffer, op, old.v, value)));
    return;
  }
  llvm::Value* pointer = element_pointer(e, buffer, offset);
  const ir::DType type = buffer.decl->type;
  if (ir::is_float(type)) return compare_and_swap(e, buffer, pointer, op, value);
  const llvm::Align align(static_cast<std::uint64_t>(ir::dtype_bits(type)) / 8);
  tag(buffer, e.b.CreateAtomicRMW(machine_op(op, ir::is_signed_integer(type)), pointer, value, align,
                                  llvm::AtomicOrdering::Monotonic));
}

void emit_atomic_element(Emitter& e, const ir::Stmt& stmt, const ir::AtomicElement& atomic) {
  const BufferInfo& buffer = e.buffers.at(atomic.buffer.get());
  const Val value = emit_expr(e, atomic.value);
  const Val offset = emit_offset(e, buffer, atomic.index, &stmt, stmt.loc);
  for_each_lane(e, {offset, value},
                [&](llvm::ArrayRef<llvm::Value*> lane) { emit_atomic_update(e, buffer, lane[0], atomic.op, lane[1]); });
}

namespace {

ir::AtomicOp atomic_of(ir::OpKind kind) {
  if (kind == ir::OpKind::atomic_max) return ir::AtomicOp::max;
  return kind == ir::OpKind::atomic_min ? ir::AtomicOp::min : ir::AtomicOp::add;
}

/// Walks both sides of a tile update, leaving out what a global tensor does not have.
class AtomicTile {
 public:
  AtomicTile(Emitter& e, const Tile& dst, const Tile& src, ir::AtomicOp op) : e_(e), dst_(dst), src_(src), op_(op) {}

  void emit(const Loc& loc) {
    llvm::Value* ok = e_.b.CreateAnd(existing(dst_), existing(src_));
    const auto d = proper_dims(dst_);
    const auto s = proper_dims(src_);
    const std::size_t n = std::min(d.size(), s.size());
    for (std::size_t i = 0; i < n; ++i) {
      const TileDim& to = dst_.dims[d[d.size() - n + i]];
      const TileDim& from = src_.dims[s[s.size() - n + i]];
      require_equal(e_, to.extent, from.extent, loc);
      pairs_.push_back({to, from});
    }
    emit_if(e_, ok, [&] { walk(0, first_element(e_, dst_), first_element(e_, src_)); });
  }

 private:
  /// Whether the dimensions of extent 1 lie inside.
  llvm::Value* existing(const Tile& tile) {
    llvm::Value* ok = e_.b.getTrue();
    if (!tile.buffer->global()) return ok;
    for (const TileDim& dim : tile.dims) {
      if (is_const(dim.extent, 1)) ok = e_.b.CreateAnd(ok, e_.b.CreateICmpULT(dim.begin, dim.size));
    }
    return ok;
  }

  void walk(std::size_t d, llvm::Value* to, llvm::Value* from) {
    if (d == pairs_.size()) {
      const ir::DType type = dst_.buffer->decl->type;
      llvm::Value* value = load_element(e_, *src_.buffer, uniform(from)).v;
      emit_atomic_update(e_, *dst_.buffer, to, op_, convert_element(e_, src_.buffer->decl->type, type, value));
      return;
    }
    const auto& [dst, src] = pairs_[d];
    llvm::Value* lo = e_.i64(0);
    llvm::Value* hi = dst.extent;
    for (const auto& [tile, dim] : {std::pair(&dst_, &dst), std::pair(&src_, &src)}) {
      if (!tile->buffer->global()) continue;
      lo = greatest(e_, lo, e_.b.CreateNeg(dim->begin));
      hi = least(e_, hi, e_.b.CreateSub(dim->size, dim->begin));
    }
    const TileDim from_dim = src;
    const TileDim to_dim = dst;
    emit_loop(e_, lo, hi, e_.i64(1), "element", [&](llvm::Value* i) {
      walk(d + 1, e_.b.CreateAdd(to, e_.b.CreateMul(i, to_dim.stride)),
           e_.b.CreateAdd(from, e_.b.CreateMul(i, from_dim.stride)));
    });
  }

  Emitter& e_;
  const Tile& dst_;
  const Tile& src_;
  ir::AtomicOp op_;
  std::vector<std::pair<TileDim, TileDim>> pairs_;
};

}  // namespace

void emit_atomic_tile(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op) {
  const Tile dst = emit_region(e, op.operands[0], stmt.loc, true);
  const Tile src = emit_region(e, op.operands[1], stmt.loc);
  AtomicTile(e, dst, src, atomic_of(op.kind)).emit(stmt.loc);
}

}  // namespace plait::cpu
