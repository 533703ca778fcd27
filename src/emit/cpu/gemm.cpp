#include <algorithm>

#include "emit/cpu/access.h"
#include "emit/cpu/gemm_kernel.h"
#include "emit/cpu/tile_ops.h"
#include "emit/cpu/types.h"
#include "ir/build.h"

namespace plait::cpu {
namespace {

GemmElement element_of(ir::DType type) {
  if (type == ir::DType::f64) return GemmElement::f64;
  if (ir::is_float(type)) return GemmElement::f32;
  return ir::is_signed_integer(type) ? GemmElement::i8 : GemmElement::u8;
}

/// Extents of the last two dimensions of the three operands, with each buffer's row pitch, where all are known.
std::optional<GemmShape> static_shape(const ir::TileOp& op) {
  const auto& attrs = std::get<ir::GemmAttrs>(op.attrs);
  std::vector<std::pair<std::int64_t, std::int64_t>> extents;
  for (const auto& region : op.operands) {
    const std::size_t rank = region.ranges.size();
    const auto rows = ir::as_int(region.ranges[rank - 2].extent);
    const auto columns = ir::as_int(region.ranges[rank - 1].extent);
    if (!rows.has_value() || !columns.has_value()) return std::nullopt;
    extents.emplace_back(*rows, *columns);
  }
  const auto pitch = [&](std::size_t i) {
    const auto strides = buffer_strides(*op.operands[i].buffer);
    return strides[strides.size() - 2];
  };
  GemmShape shape;
  shape.m = extents[2].first;
  shape.n = extents[2].second;
  shape.k = attrs.trans_a ? extents[0].first : extents[0].second;
  shape.lda = pitch(0);
  shape.ldb = pitch(1);
  shape.ldc = pitch(2);
  shape.trans_a = attrs.trans_a;
  shape.trans_b = attrs.trans_b;
  shape.element = element_of(op.operands[0].buffer->type);
  shape.clear = attrs.clear_accum;
  return shape;
}

/// Product of tiles whose extents are known only when the program runs.
class LoopGemm {
 public:
  LoopGemm(Emitter& e, const std::vector<Tile>& tiles, const ir::GemmAttrs& attrs)
      : e_(e), tiles_(tiles), attrs_(attrs) {}

  void emit(const Loc& loc) {
    const auto [a_rows, a_columns] = matrix(0, attrs_.trans_a);
    const auto [b_rows, b_columns] = matrix(1, attrs_.trans_b);
    const auto [c_rows, c_columns] = matrix(2, false);
    require_equal(e_, a_rows.extent, c_rows.extent, loc);
    require_equal(e_, a_columns.extent, b_rows.extent, loc);
    require_equal(e_, b_columns.extent, c_columns.extent, loc);
    llvm::Value* extent_k = a_columns.extent;
    each(c_rows.extent, "m", [&, columns = c_columns.extent](llvm::Value* m) {
      each(columns, "n", [&](llvm::Value* n) { element(m, n, extent_k); });
    });
  }

 private:
  std::pair<TileDim, TileDim> matrix(std::size_t i, bool transposed) {
    const auto& dims = tiles_[i].dims;
    const TileDim& rows = dims[dims.size() - 2];
    const TileDim& columns = dims.back();
    return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
  }

  void each(llvm::Value* extent, const char* name, IndexBody body) {
    emit_loop(e_, e_.i64(0), extent, e_.i64(1), name, body);
  }

  Val at(std::size_t i, bool transposed, llvm::Value* row, llvm::Value* column) {
    const auto [rows, columns] = matrix(i, transposed);
    llvm::Value* sum = e_.b.CreateAdd(e_.b.CreateMul(row, rows.stride), e_.b.CreateMul(column, columns.stride));
    return uniform(e_.b.CreateAdd(first_element(e_, tiles_[i]), sum));
  }

  void element(llvm::Value* m, llvm::Value* n, llvm::Value* extent_k) {
    const BufferInfo& c = *tiles_[2].buffer;
    const Val place = at(2, false, m, n);
    llvm::Value* old = load_element(e_, c, place).v;
    auto* sum = e_.stack(old->getType(), "sum");
    e_.b.CreateStore(attrs_.clear_accum ? llvm::Constant::getNullValue(old->getType()) : old, sum);
    each(extent_k, "k", [&](llvm::Value* k) {
      llvm::Value* a = load_element(e_, *tiles_[0].buffer, at(0, attrs_.trans_a, m, k)).v;
      llvm::Value* b = load_element(e_, *tiles_[1].buffer, at(1, attrs_.trans_b, k, n)).v;
      e_.b.CreateStore(step(e_.b.CreateLoad(old->getType(), sum), a, b), sum);
    });
    store_element(e_, c, place, uniform(e_.b.CreateLoad(old->getType(), sum)));
  }

  llvm::Value* step(llvm::Value* c, llvm::Value* a, llvm::Value* b) {
    if (c->getType()->isFloatingPointTy()) return e_.b.CreateIntrinsic(llvm::Intrinsic::fma, {c->getType()}, {a, b, c});
    const bool is_signed = ir::is_signed_integer(tiles_[0].buffer->decl->type);
    const auto wide = [&](llvm::Value* v) {
      return is_signed ? e_.b.CreateSExt(v, c->getType()) : e_.b.CreateZExt(v, c->getType());
    };
    return e_.b.CreateAdd(c, e_.b.CreateMul(wide(a), wide(b)));
  }

  Emitter& e_;
  const std::vector<Tile>& tiles_;
  ir::GemmAttrs attrs_;
};

}  // namespace

std::int64_t gemm_scratch(const ir::TileOp& op, const VectorTarget& target) {
  const auto shape = static_shape(op);
  return shape.has_value() ? gemm_scratch_bytes(*shape, target) : 0;
}

void emit_gemm_op(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op) {
  std::vector<Tile> tiles;
  for (const auto& region : op.operands) tiles.push_back(emit_region(e, region, stmt.loc));
  const auto shape = static_shape(op);
  if (!shape.has_value()) {
    e.slow(stmt.loc, "this gemm runs one element at a time: an extent is not a literal");
    return LoopGemm(e, tiles, std::get<ir::GemmAttrs>(op.attrs)).emit(stmt.loc);
  }
  std::vector<llvm::Value*> pointers;
  for (const Tile& tile : tiles) pointers.push_back(element_pointer(e, *tile.buffer, first_element(e, tile)));
  llvm::Value* scratch = op_scratch(e, stmt);
  if (scratch == nullptr) scratch = llvm::ConstantPointerNull::get(e.b.getPtrTy());
  emit_gemm(e.b, e.target, *shape, pointers[0], pointers[1], pointers[2], scratch);
}

}  // namespace plait::cpu
