#include <algorithm>

#include "emit/cpu/access.h"
#include "emit/cpu/tile_ops.h"
#include "emit/cpu/types.h"
#include "emit/cpu/vector_convert.h"

namespace plait::cpu {
namespace {

/// Finds the lowest index of the greatest or least element of a row; a NaN counts as beyond every number.
class Search {
 public:
  Search(Emitter& e, const Tile& src, std::size_t dim, bool greatest_wins)
      : e_(e), src_(*src.buffer), row_(src.dims[dim]), greatest_(greatest_wins) {}

  /// Index within the row, as i64.
  llvm::Value* row(llvm::Value* first) {
    llvm::Type* type = carrier_type(e_.context, src_.decl->type);
    best_ = e_.stack(type, "best");
    index_ = e_.stack(e_.b.getInt64Ty(), "index");
    e_.b.CreateStore(load(first, e_.i64(0)), best_);
    e_.b.CreateStore(e_.i64(0), index_);
    emit_loop(e_, e_.i64(1), row_.extent, e_.i64(1), "search", [&](llvm::Value* k) {
      llvm::Value* best = e_.b.CreateLoad(type, best_);
      llvm::Value* value = load(first, k);
      llvm::Value* wins = better(value, best);
      e_.b.CreateStore(e_.b.CreateSelect(wins, value, best), best_);
      e_.b.CreateStore(e_.b.CreateSelect(wins, k, e_.b.CreateLoad(e_.b.getInt64Ty(), index_)), index_);
    });
    return e_.b.CreateLoad(e_.b.getInt64Ty(), index_);
  }

 private:
  llvm::Value* load(llvm::Value* first, llvm::Value* k) {
    return load_element(e_, src_, uniform(e_.b.CreateAdd(first, e_.b.CreateMul(k, row_.stride)))).v;
  }

  llvm::Value* better(llvm::Value* value, llvm::Value* best) {
    const ir::DType type = src_.decl->type;
    if (!ir::is_float(type)) {
      const bool is_signed = ir::is_signed_integer(type);
      if (greatest_) return is_signed ? e_.b.CreateICmpSGT(value, best) : e_.b.CreateICmpUGT(value, best);
      return is_signed ? e_.b.CreateICmpSLT(value, best) : e_.b.CreateICmpULT(value, best);
    }
    // Unordered comparison: true also where either is NaN; a best that is NaN already stays.
    llvm::Value* beyond = greatest_ ? e_.b.CreateFCmpUGT(value, best) : e_.b.CreateFCmpULT(value, best);
    return e_.b.CreateAnd(beyond, e_.b.CreateFCmpORD(best, best));
  }

  Emitter& e_;
  const BufferInfo& src_;
  TileDim row_;
  bool greatest_;
  llvm::AllocaInst* best_ = nullptr;
  llvm::AllocaInst* index_ = nullptr;
};

struct Walk {
  const Tile& src;
  const Tile& dst;
  std::size_t dim;
  bool same_rank;
};

void walk(Emitter& e, const Walk& w, std::size_t d, llvm::Value* from, llvm::Value* to,
          llvm::function_ref<void(llvm::Value*, llvm::Value*)> body) {
  if (d == w.src.dims.size()) return body(from, to);
  if (d == w.dim) return walk(e, w, d + 1, from, to, body);
  const std::size_t out = w.same_rank || d < w.dim ? d : d - 1;
  emit_loop(e, e.i64(0), w.src.dims[d].extent, e.i64(1), "kept", [&](llvm::Value* i) {
    walk(e, w, d + 1, e.b.CreateAdd(from, e.b.CreateMul(i, w.src.dims[d].stride)),
         e.b.CreateAdd(to, e.b.CreateMul(i, w.dst.dims[out].stride)), body);
  });
}

}  // namespace

void emit_arg_reduce(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op) {
  const auto& attrs = std::get<ir::ReduceAttrs>(op.attrs);
  const Tile src = emit_region(e, op.operands[0], stmt.loc);
  const Tile dst = emit_region(e, op.operands[1], stmt.loc);
  const auto dim = static_cast<std::size_t>(attrs.dim);
  const Walk kept{src, dst, dim, src.dims.size() == dst.dims.size()};
  for (std::size_t d = 0; d < src.dims.size(); ++d) {
    const std::size_t out = kept.same_rank || d < dim ? d : d - 1;
    if (d != dim) require_equal(e, src.dims[d].extent, dst.dims[out].extent, stmt.loc);
  }
  Search search(e, src, dim, op.kind == ir::OpKind::reduce_argmax);
  walk(e, kept, 0, first_element(e, src), first_element(e, dst), [&](llvm::Value* from, llvm::Value* to) {
    llvm::Value* index = e.b.CreateTrunc(search.row(from), carrier_type(e.context, dst.buffer->decl->type));
    store_element(e, *dst.buffer, uniform(to), uniform(index));
  });
}

}  // namespace plait::cpu
