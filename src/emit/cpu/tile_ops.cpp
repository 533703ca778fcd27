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

}  // namespace

std::int64_t tile_op_scratch(const ir::TileOp& op, const VectorTarget& target) {
  if (op.kind == ir::OpKind::gemm) return gemm_scratch(op, target);
  if (op.kind != ir::OpKind::copy || op.operands[0].buffer != op.operands[1].buffer) return 0;
  const bool mapped = std::get<ir::CopyAttrs>(op.attrs).rows.has_value();
  if (!mapped && plainly_apart(op.operands[0], op.operands[1])) return 0;
  const ir::Region& dst = op.operands[1];
  std::int64_t bytes = onchip_bytes(dst.buffer->type);
  for (std::size_t d = 0; d < dst.ranges.size(); ++d) {
    auto extent = ir::as_int(dst.ranges[d].extent);
    if (!extent.has_value()) extent = ir::as_int(dst.buffer->shape[d]);
    bytes = extent.has_value() ? saturating_product(bytes, *extent) : unknown_scratch;
    if (bytes == unknown_scratch) break;
  }
  return bytes;
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
