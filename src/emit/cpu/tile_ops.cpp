#include "emit/cpu/tile_ops.h"

#include "emit/cpu/types.h"
#include "ir/build.h"

namespace plait::cpu {
namespace {

/// Whether literals say that two regions of one buffer share no element.
bool plainly_apart(const ir::Region& a, const ir::Region& b) {
  for (std::size_t d = 0; d < a.ranges.size(); ++d) {
    const auto begin_a = ir::as_int(a.ranges[d].begin);
    const auto begin_b = ir::as_int(b.ranges[d].begin);
    const auto extent_a = ir::as_int(a.ranges[d].extent);
    const auto extent_b = ir::as_int(b.ranges[d].extent);
    if (!begin_a.has_value() || !begin_b.has_value() || !extent_a.has_value() || !extent_b.has_value()) continue;
    if (*begin_a + *extent_a <= *begin_b || *begin_b + *extent_b <= *begin_a) return true;
  }
  return false;
}

/// Whether a copy may write what it still has to read.
bool copy_needs_room(const ir::TileOp& op) {
  const ir::Buffer& written = op.operands[1].buffer;
  const auto& rows = std::get<ir::CopyAttrs>(op.attrs).rows;
  if (rows.has_value() && rows->buffer == written) return true;
  return op.operands[0].buffer == written && (rows.has_value() || !plainly_apart(op.operands[0], op.operands[1]));
}

bool same_place(const ir::Region& a, const ir::Region& b) {
  for (std::size_t d = 0; d < a.ranges.size(); ++d) {
    if (!ir::identical(a.ranges[d].begin, b.ranges[d].begin)) return false;
  }
  return true;
}

/// A running sum may be written over its source, element by element, but not over a part that lies elsewhere.
bool sum_needs_room(const ir::TileOp& op) {
  const ir::Region& src = op.operands[0];
  const ir::Region& dst = op.operands[1];
  return src.buffer == dst.buffer && !same_place(src, dst) && !plainly_apart(src, dst);
}

std::int64_t tile_bytes(const ir::Region& region) {
  std::int64_t bytes = onchip_bytes(region.buffer->type);
  for (std::size_t d = 0; d < region.ranges.size(); ++d) {
    auto extent = ir::as_int(region.ranges[d].extent);
    if (!extent.has_value()) extent = ir::as_int(region.buffer->shape[d]);
    if (!extent.has_value()) return unknown_scratch;
    bytes = saturating_product(bytes, *extent);
  }
  return bytes;
}

}  // namespace

std::int64_t tile_op_scratch(const ir::TileOp& op, const VectorTarget& target) {
  if (op.kind == ir::OpKind::gemm) return gemm_scratch(op, target);
  if (op.kind == ir::OpKind::copy && copy_needs_room(op)) return tile_bytes(op.operands[1]);
  if (op.kind == ir::OpKind::cumsum && sum_needs_room(op)) return tile_bytes(op.operands[0]);
  return 0;
}

llvm::Value* op_scratch(Emitter& e, const ir::Stmt& stmt) {
  const auto room = e.plan.rooms.find(&stmt);
  if (room == e.plan.rooms.end()) return nullptr;
  return e.b.CreateConstInBoundsGEP1_64(e.b.getInt8Ty(), e.scratch, static_cast<std::uint64_t>(room->second.offset));
}

void emit_tile_op(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op) {
  using K = ir::OpKind;
  switch (op.kind) {
    case K::copy:
      return emit_copy(e, stmt, op);
    case K::fill:
      return emit_fill(e, stmt, op);
    case K::gemm:
      return emit_gemm_op(e, stmt, op);
    case K::reduce_sum:
    case K::reduce_max:
    case K::reduce_min:
    case K::reduce_abssum:
    case K::reduce_absmax:
    case K::reduce_bitand:
    case K::reduce_bitor:
    case K::reduce_bitxor:
      return emit_reduce(e, stmt, op);
    case K::reduce_argmax:
    case K::reduce_argmin:
      return emit_arg_reduce(e, stmt, op);
    case K::cumsum:
      return emit_cumsum(e, stmt, op);
    case K::transpose:
      return emit_transpose(e, stmt, op);
    case K::atomic_add:
    case K::atomic_max:
    case K::atomic_min:
      return emit_atomic_tile(e, stmt, op);
  }
}

}  // namespace plait::cpu
