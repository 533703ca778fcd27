#include <algorithm>
#include <limits>

#include "emit/cpu/access.h"
#include "emit/cpu/arith.h"
#include "emit/cpu/expr.h"
#include "emit/cpu/tile_ops.h"
#include "emit/cpu/transfer.h"
#include "emit/cpu/types.h"
#include "emit/cpu/vector_convert.h"
#include "emit/cpu/vector_math.h"
#include "support/result.h"

namespace plait::cpu {
namespace {

/// What a reduction does with its elements.
struct Fold {
  ir::BinaryOp op;
  bool absolute;
};

Fold fold_of(ir::OpKind kind) {
  using K = ir::OpKind;
  if (kind == K::reduce_sum) return {ir::BinaryOp::add, false};
  if (kind == K::reduce_abssum) return {ir::BinaryOp::add, true};
  if (kind == K::reduce_max) return {ir::BinaryOp::max, false};
  if (kind == K::reduce_absmax) return {ir::BinaryOp::max, true};
  if (kind == K::reduce_min) return {ir::BinaryOp::min, false};
  if (kind == K::reduce_bitand) return {ir::BinaryOp::bit_and, false};
  if (kind == K::reduce_bitor) return {ir::BinaryOp::bit_or, false};
  PLAIT_ASSERT(kind == K::reduce_bitxor, "not a reduction");
  return {ir::BinaryOp::bit_xor, false};
}

/// The type in which the accumulation runs: the destination's, but f32 for narrower floats.
ir::DType sum_type(ir::DType type) { return ir::is_float(type) && type != ir::DType::f64 ? ir::DType::f32 : type; }

llvm::Constant* identity(Emitter& e, const Fold& fold, ir::DType type) {
  llvm::Type* carrier = carrier_type(e.context, type);
  const bool least_value = fold.op == ir::BinaryOp::max;
  if (fold.op == ir::BinaryOp::bit_and) return llvm::Constant::getAllOnesValue(carrier);
  if ((fold.op != ir::BinaryOp::max && fold.op != ir::BinaryOp::min) || fold.absolute)
    return llvm::Constant::getNullValue(carrier);
  if (ir::is_float(type)) return llvm::ConstantFP::getInfinity(carrier, least_value);
  const unsigned bits = carrier->getIntegerBitWidth();
  const bool is_signed = ir::is_signed_integer(type);
  const llvm::APInt lowest = is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits);
  const llvm::APInt highest = is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  return llvm::ConstantInt::get(e.context, least_value ? lowest : highest);
}

/// Reduces `extent` elements, `src_stride` apart, of each row of a tile into one.
class Reduction {
 public:
  Reduction(Emitter& e, const Fold& fold, const Tile& src, const Tile& dst, std::size_t dim, bool clear)
      : e_(e), fold_(fold), src_(*src.buffer), dst_(*dst.buffer), reduced_(src.dims[dim]), clear_(clear) {
    type_ = sum_type(dst_.decl->type);
    lanes_ = e.target.lanes(static_cast<int>(std::max(8U, onchip_type(e.context, type_)->getScalarSizeInBits())));
  }

  /// One result: along the reduced dimension, whose elements may be contiguous.
  void row(llvm::Value* src, llvm::Value* dst) {
    llvm::Value* total = nullptr;
    const auto extent = const_int(reduced_.extent);
    const bool vectors =
        is_const(reduced_.stride, 1) && extent.has_value() && *extent >= lanes_ && src_.interleave == 1;
    total = vectors ? contiguous_row(src, *extent) : scalar_row(src);
    store(dst, total, 1);
  }

  /// `width` neighbouring results at once, each down its own column.
  void columns(llvm::Value* src, llvm::Value* dst, int vectors, int width) {
    std::vector<llvm::Value*> sums =
        loop(reduced_.extent, static_cast<std::size_t>(vectors), width, [&](llvm::Value* k, std::size_t v) {
          llvm::Value* at = e_.b.CreateAdd(src, e_.b.CreateMul(k, reduced_.stride));
          return load(e_.b.CreateAdd(at, e_.i64(static_cast<std::int64_t>(v) * width)), width);
        });
    for (std::size_t v = 0; v < sums.size(); ++v)
      store(e_.b.CreateAdd(dst, e_.i64(static_cast<std::int64_t>(v) * width)), sums[v], width);
  }

  int lanes() const { return lanes_; }

 private:
  llvm::Value* load(llvm::Value* at, int width) {
    llvm::Type* type = element_type(e_, src_);
    const llvm::Align align(std::max(1U, type->getScalarSizeInBits() / 8));
    llvm::Value* value =
        tag(src_, e_.b.CreateAlignedLoad(lanes_type(type, width), element_pointer(e_, src_, at), align));
    value = convert_element(e_, src_.decl->type, type_, from_memory(e_, src_, value));
    if (!fold_.absolute || (!ir::is_float(type_) && !ir::is_signed_integer(type_))) return value;
    return emit_math(e_.b, e_.target, ir::Intrinsic::abs, {value});
  }

  llvm::Value* combine(llvm::Value* a, llvm::Value* b) { return emit_combine(e_, fold_.op, type_, a, b); }

  /// Runs k over [0, extent) with `count` accumulators of `width` lanes.
  std::vector<llvm::Value*> loop(llvm::Value* extent, std::size_t count, int width,
                                 llvm::function_ref<llvm::Value*(llvm::Value*, std::size_t)> element) {
    llvm::Type* type = lanes_type(carrier_type(e_.context, type_), width);
    llvm::Constant* start = identity(e_, fold_, type_);
    if (width > 1)
      start = llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(width)), start);
    std::vector<llvm::AllocaInst*> slots;
    for (std::size_t v = 0; v < count; ++v) {
      slots.push_back(e_.stack(type, "sum"));
      e_.b.CreateStore(start, slots.back());
    }
    emit_loop(e_, e_.i64(0), extent, e_.i64(1), "reduce", [&](llvm::Value* k) {
      for (std::size_t v = 0; v < count; ++v)
        e_.b.CreateStore(combine(e_.b.CreateLoad(type, slots[v]), element(k, v)), slots[v]);
    });
    std::vector<llvm::Value*> sums;
    for (auto* slot : slots) sums.push_back(e_.b.CreateLoad(type, slot));
    return sums;
  }

  llvm::Value* scalar_row(llvm::Value* src) {
    return loop(reduced_.extent, 1, 1, [&](llvm::Value* k, std::size_t) {
      return load(e_.b.CreateAdd(src, e_.b.CreateMul(k, reduced_.stride)), 1);
    })[0];
  }

  /// Four vectors at a time hide the latency of the operation; then the four, then the lanes are combined in pairs.
  llvm::Value* contiguous_row(llvm::Value* src, std::int64_t extent) {
    const std::int64_t count = std::min<std::int64_t>(4, extent / lanes_);
    const std::int64_t chunk = count * lanes_;
    std::vector<llvm::Value*> sums =
        loop(e_.i64(extent / chunk), static_cast<std::size_t>(count), lanes_, [&](llvm::Value* k, std::size_t v) {
          llvm::Value* at = e_.b.CreateAdd(src, e_.b.CreateMul(k, e_.i64(chunk)));
          return load(e_.b.CreateAdd(at, e_.i64(static_cast<std::int64_t>(v) * lanes_)), lanes_);
        });
    std::int64_t done = extent / chunk * chunk;
    for (; done + lanes_ <= extent; done += lanes_)
      sums[0] = combine(sums[0], load(e_.b.CreateAdd(src, e_.i64(done)), lanes_));
    for (; sums.size() > 1; sums.pop_back()) sums[0] = combine(sums[0], sums.back());
    llvm::Value* total = halve(sums[0]);
    for (; done < extent; ++done) total = combine(total, load(e_.b.CreateAdd(src, e_.i64(done)), 1));
    return total;
  }

  llvm::Value* halve(llvm::Value* sum) {
    for (int width = lanes_; width > 1; width /= 2) {
      std::vector<int> low, high;
      for (int l = 0; l < width / 2; ++l) {
        low.push_back(l);
        high.push_back(l + width / 2);
      }
      sum = combine(e_.b.CreateShuffleVector(sum, low), e_.b.CreateShuffleVector(sum, high));
    }
    return e_.b.CreateExtractElement(sum, std::uint64_t{0});
  }

  void store(llvm::Value* at, llvm::Value* value, int width) {
    llvm::Type* type = lanes_type(element_type(e_, dst_), width);
    const llvm::Align align(std::max(1U, type->getScalarSizeInBits() / 8));
    llvm::Value* pointer = element_pointer(e_, dst_, at);
    if (!clear_) {
      llvm::Value* old = from_memory(e_, dst_, tag(dst_, e_.b.CreateAlignedLoad(type, pointer, align)));
      value = combine(convert_element(e_, dst_.decl->type, type_, old), value);
    }
    value = to_memory(e_, dst_, convert_element(e_, type_, dst_.decl->type, value));
    tag(dst_, e_.b.CreateAlignedStore(value, pointer, align));
  }

  Emitter& e_;
  Fold fold_;
  const BufferInfo& src_;
  const BufferInfo& dst_;
  TileDim reduced_;
  bool clear_;
  ir::DType type_ = ir::DType::f32;
  int lanes_ = 1;
};

/// A dimension that is kept: walked on both sides.
struct KeptDim {
  llvm::Value *extent, *src_stride, *dst_stride;
};

/// The kept dimensions of the source with their strides in the destination, extents of 1 left out.
std::vector<KeptDim> kept_dims(Emitter& e, const Tile& src, const Tile& dst, std::size_t dim, const Loc& loc) {
  std::vector<KeptDim> kept;
  const bool same_rank = src.dims.size() == dst.dims.size();
  for (std::size_t d = 0, out = 0; d < src.dims.size(); ++d) {
    if (d == dim) {
      if (same_rank) ++out;
      continue;
    }
    const TileDim& to = dst.dims[out++];
    require_equal(e, src.dims[d].extent, to.extent, loc);
    if (!is_const(src.dims[d].extent, 1)) kept.push_back({src.dims[d].extent, src.dims[d].stride, to.stride});
  }
  return kept;
}

/// Calls `body` with the element numbers of both sides for each index of the first `count` kept dimensions.
void walk_kept(Emitter& e, llvm::ArrayRef<KeptDim> dims, llvm::Value* src, llvm::Value* dst,
               llvm::function_ref<void(llvm::Value*, llvm::Value*)> body) {
  if (dims.empty()) return body(src, dst);
  const KeptDim& dim = dims.front();
  emit_loop(e, e.i64(0), dim.extent, e.i64(1), "kept", [&](llvm::Value* i) {
    walk_kept(e, dims.drop_front(), e.b.CreateAdd(src, e.b.CreateMul(i, dim.src_stride)),
              e.b.CreateAdd(dst, e.b.CreateMul(i, dim.dst_stride)), body);
  });
}

/// All columns of a row of neighbouring results: by four vectors, by one, by ever smaller parts of one.
void reduce_columns(Emitter& e, Reduction& reduction, std::int64_t extent, llvm::Value* src, llvm::Value* dst) {
  std::int64_t done = 0;
  const auto at = [&](llvm::Value* i, int vectors, int width) {
    reduction.columns(e.b.CreateAdd(src, i), e.b.CreateAdd(dst, i), vectors, width);
  };
  const int lanes = reduction.lanes();
  const std::int64_t chunk = std::int64_t{4} * lanes;
  emit_loop(e, e.i64(0), e.i64(extent / chunk * chunk), e.i64(chunk), "columns",
            [&](llvm::Value* i) { at(i, 4, lanes); });
  done = extent / chunk * chunk;
  for (int width = lanes; width >= 1; width /= 2) {
    for (; done + width <= extent; done += width) at(e.i64(done), 1, width);
  }
}

}  // namespace

void emit_reduce(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op) {
  const auto& attrs = std::get<ir::ReduceAttrs>(op.attrs);
  const Tile src = emit_region(e, op.operands[0], stmt.loc);
  const Tile dst = emit_region(e, op.operands[1], stmt.loc);
  const auto dim = static_cast<std::size_t>(attrs.dim);
  const std::vector<KeptDim> kept = kept_dims(e, src, dst, dim, stmt.loc);
  Reduction reduction(e, fold_of(op.kind), src, dst, dim, attrs.clear);
  llvm::Value* from = first_element(e, src);
  llvm::Value* to = first_element(e, dst);
  const auto inner = kept.empty() ? std::nullopt : const_int(kept.back().extent);
  const bool columns = inner.has_value() && is_const(kept.back().src_stride, 1) && is_const(kept.back().dst_stride, 1);
  if (columns) {
    walk_kept(e, llvm::ArrayRef(kept).drop_back(), from, to,
              [&](llvm::Value* s, llvm::Value* d) { reduce_columns(e, reduction, *inner, s, d); });
  } else {
    walk_kept(e, kept, from, to, [&](llvm::Value* s, llvm::Value* d) { reduction.row(s, d); });
  }
}

}  // namespace plait::cpu
