#include <algorithm>

#include "emit/cpu/access.h"
#include "emit/cpu/arith.h"
#include "emit/cpu/temporary.h"
#include "emit/cpu/tile_ops.h"
#include "emit/cpu/transfer.h"
#include "emit/cpu/vector_convert.h"

namespace plait::cpu {
namespace {

/// Calls `body` with the element numbers of both tiles for every index of the dimensions but `skip`.
void walk_other(Emitter& e, const Tile& a, const Tile& b, std::size_t d, std::size_t skip, llvm::Value* at_a,
                llvm::Value* at_b, llvm::function_ref<void(llvm::Value*, llvm::Value*)> body) {
  if (d == a.dims.size()) return body(at_a, at_b);
  if (d == skip) return walk_other(e, a, b, d + 1, skip, at_a, at_b, body);
  emit_loop(e, e.i64(0), a.dims[d].extent, e.i64(1), "other", [&](llvm::Value* i) {
    walk_other(e, a, b, d + 1, skip, e.b.CreateAdd(at_a, e.b.CreateMul(i, a.dims[d].stride)),
               e.b.CreateAdd(at_b, e.b.CreateMul(i, b.dims[d].stride)), body);
  });
}

}  // namespace

void emit_cumsum(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op) {
  const auto& attrs = std::get<ir::CumsumAttrs>(op.attrs);
  Tile src = emit_region(e, op.operands[0], stmt.loc);
  const Tile dst = emit_region(e, op.operands[1], stmt.loc);
  const auto dim = static_cast<std::size_t>(attrs.dim);
  for (std::size_t d = 0; d < src.dims.size(); ++d) require_equal(e, src.dims[d].extent, dst.dims[d].extent, stmt.loc);
  std::unique_ptr<Temporary> aside;
  if (op_scratch(e, stmt) != nullptr) {
    aside = make_temporary(e, stmt, src);
    copy_tiles(e, stmt, src, aside->tile, {});
    src = aside->tile;
  }
  const ir::DType to = dst.buffer->decl->type;
  const ir::DType type = ir::is_float(to) && to != ir::DType::f64 ? ir::DType::f32 : to;
  llvm::Type* carrier = carrier_type(e.context, type);
  auto* sum = e.stack(carrier, "running");
  walk_other(e, src, dst, 0, dim, first_element(e, src), first_element(e, dst),
             [&](llvm::Value* from, llvm::Value* into) {
               llvm::Value* extent = src.dims[dim].extent;
               e.b.CreateStore(llvm::Constant::getNullValue(carrier), sum);
               emit_loop(e, e.i64(0), extent, e.i64(1), "scan", [&](llvm::Value* k) {
                 if (attrs.reverse) k = e.b.CreateSub(e.b.CreateSub(extent, k), e.i64(1));
                 llvm::Value* at = e.b.CreateAdd(from, e.b.CreateMul(k, src.dims[dim].stride));
                 llvm::Value* value = load_element(e, *src.buffer, uniform(at)).v;
                 value = convert_element(e, src.buffer->decl->type, type, value);
                 value = emit_combine(e, ir::BinaryOp::add, type, e.b.CreateLoad(carrier, sum), value);
                 e.b.CreateStore(value, sum);
                 at = e.b.CreateAdd(into, e.b.CreateMul(k, dst.dims[dim].stride));
                 store_element(e, *dst.buffer, uniform(at), uniform(convert_element(e, type, to, value)));
               });
             });
}

}  // namespace plait::cpu
