#include <algorithm>

#include "emit/cpu/access.h"
#include "emit/cpu/tile_ops.h"
#include "emit/cpu/types.h"
#include "emit/cpu/vector_convert.h"

namespace plait::cpu {
namespace {

/// An element and where it stands: scalars, or vectors of as many lanes.
struct Candidate {
  llvm::Value* value;
  llvm::Value* index;  ///< i32 lanes
};

/// Finds the lowest index of the greatest or least element of a row; a NaN counts as beyond every number.
class Search {
 public:
  Search(Emitter& e, const Tile& src, std::size_t dim, bool greatest_wins)
      : e_(e), src_(*src.buffer), row_(src.dims[dim]), greatest_(greatest_wins) {
    lanes_ = e.target.lanes(static_cast<int>(std::max(32U, element_type(e, src_)->getScalarSizeInBits())));
  }

  /// Index within the row, as i32.
  llvm::Value* row(llvm::Value* first) {
    const auto extent = const_int(row_.extent);
    const bool vectors = is_const(row_.stride, 1) && extent.has_value() && *extent >= 2 * lanes_;
    if (!vectors) return scalars(first, scalar_at(first, e_.i64(0)), e_.i64(1)).index;
    const std::int64_t done = *extent / lanes_ * lanes_;
    return scalars(first, halved(lanes(first, done)), e_.i64(done)).index;
  }

 private:
  llvm::Value* load(llvm::Value* at, int width) {
    llvm::Type* type = element_type(e_, src_);
    const llvm::Align align(type->getScalarSizeInBits() / 8);
    auto* bits = e_.b.CreateAlignedLoad(lanes_type(type, width), element_pointer(e_, src_, at), align);
    return from_memory(e_, src_, tag(src_, bits));
  }

  Candidate scalar_at(llvm::Value* first, llvm::Value* k) {
    llvm::Value* at = e_.b.CreateAdd(first, e_.b.CreateMul(k, row_.stride));
    return {load(at, 1), e_.b.CreateTrunc(k, e_.b.getInt32Ty())};
  }

  Candidate vector_at(llvm::Value* first, llvm::Value* k) {
    std::vector<std::uint32_t> numbers(static_cast<std::size_t>(lanes_));
    for (std::size_t l = 0; l < numbers.size(); ++l) numbers[l] = static_cast<std::uint32_t>(l);
    llvm::Value* base = e_.b.CreateVectorSplat(static_cast<unsigned>(lanes_), e_.b.CreateTrunc(k, e_.b.getInt32Ty()));
    return {load(e_.b.CreateAdd(first, k), lanes_),
            e_.b.CreateAdd(base, llvm::ConstantDataVector::get(e_.context, numbers))};
  }

  /// The rest of the row, from element k on, against the best one so far; an equal element further on does not win.
  Candidate scalars(llvm::Value* first, const Candidate& start, llvm::Value* k) {
    return folded(start, k, row_.extent, 1, [&](llvm::Value* i) { return scalar_at(first, i); });
  }

  Candidate lanes(llvm::Value* first, std::int64_t end) {
    return folded(vector_at(first, e_.i64(0)), e_.i64(lanes_), e_.i64(end), lanes_,
                  [&](llvm::Value* i) { return vector_at(first, i); });
  }

  Candidate folded(const Candidate& start, llvm::Value* begin, llvm::Value* end, std::int64_t step,
                   llvm::function_ref<Candidate(llvm::Value*)> at) {
    auto* value = e_.stack(start.value->getType(), "best");
    auto* index = e_.stack(start.index->getType(), "index");
    e_.b.CreateStore(start.value, value);
    e_.b.CreateStore(start.index, index);
    const auto current = [&] {
      return Candidate{e_.b.CreateLoad(start.value->getType(), value), e_.b.CreateLoad(start.index->getType(), index)};
    };
    emit_loop(e_, begin, end, e_.i64(step), "search", [&](llvm::Value* k) {
      const Candidate best = current();
      const Candidate next = at(k);
      llvm::Value* wins = better(next.value, best.value);
      e_.b.CreateStore(e_.b.CreateSelect(wins, next.value, best.value), value);
      e_.b.CreateStore(e_.b.CreateSelect(wins, next.index, best.index), index);
    });
    return current();
  }

  /// The best of all lanes: of equal elements the one with the lower index.
  Candidate halved(Candidate all) {
    for (int width = lanes_; width > 1; width /= 2) {
      std::vector<int> low, high;
      for (int l = 0; l < width / 2; ++l) {
        low.push_back(l);
        high.push_back(l + width / 2);
      }
      const Candidate a{e_.b.CreateShuffleVector(all.value, low), e_.b.CreateShuffleVector(all.index, low)};
      const Candidate b{e_.b.CreateShuffleVector(all.value, high), e_.b.CreateShuffleVector(all.index, high)};
      llvm::Value* earlier =
          e_.b.CreateAnd(e_.b.CreateNot(better(a.value, b.value)), e_.b.CreateICmpULT(b.index, a.index));
      llvm::Value* wins = e_.b.CreateOr(better(b.value, a.value), earlier);
      all = {e_.b.CreateSelect(wins, b.value, a.value), e_.b.CreateSelect(wins, b.index, a.index)};
    }
    return {e_.b.CreateExtractElement(all.value, std::uint64_t{0}),
            e_.b.CreateExtractElement(all.index, std::uint64_t{0})};
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
  int lanes_ = 1;
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
    llvm::Value* index = e.b.CreateZExtOrTrunc(search.row(from), carrier_type(e.context, dst.buffer->decl->type));
    store_element(e, *dst.buffer, uniform(to), uniform(index));
  });
}

}  // namespace plait::cpu
