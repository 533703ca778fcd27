#include "emit/cpu/transfer.h"

#include <algorithm>

#include "emit/cpu/access.h"
#include "emit/cpu/packed_row.h"
#include "emit/cpu/prefetch.h"
#include "emit/cpu/turn_block.h"
#include "emit/cpu/types.h"
#include "emit/cpu/vector_convert.h"

namespace plait::cpu {
namespace {

/// Alignment that a store past the caches needs.
constexpr unsigned stream_bytes = 32;

bool same_memory(const BufferInfo& a, const BufferInfo& b) {
  return a.decl->type == b.decl->type && a.global() == b.global();
}

bool contiguous(const Transfer& t) {
  const TransferDim& last = t.dims.back();
  if (t.dst->packed() || !is_const(last.dst_stride, 1)) return false;
  return t.src == nullptr || (!t.src->packed() && is_const(last.src_stride, 1));
}

/// Elements a vector register holds in the widest form they take on the way.
int row_lanes(Emitter& e, const Transfer& t) {
  unsigned bits = element_type(e, *t.dst)->getScalarSizeInBits();
  if (t.src != nullptr) {
    bits = std::max(bits, element_type(e, *t.src)->getScalarSizeInBits());
    if (!same_memory(*t.src, *t.dst)) {
      bits = std::max(bits, carrier_type(e.context, t.src->decl->type)->getScalarSizeInBits());
      bits = std::max(bits, carrier_type(e.context, t.dst->decl->type)->getScalarSizeInBits());
    }
  }
  return e.target.lanes(static_cast<int>(std::max(8U, bits)));
}

/// `lanes` elements from element number `src` to element number `dst`.
void move(Emitter& e, const Transfer& t, llvm::Value* src, llvm::Value* dst, int lanes) {
  llvm::Value* value = nullptr;
  if (t.src == nullptr) {
    value = to_memory(e, *t.dst, t.constant);
    if (lanes > 1) value = e.b.CreateVectorSplat(static_cast<unsigned>(lanes), value);
  } else {
    llvm::Type* type = element_type(e, *t.src);
    const llvm::Align align(std::max(1U, type->getScalarSizeInBits() / 8));
    auto* load = e.b.CreateAlignedLoad(lanes_type(type, lanes), element_pointer(e, *t.src, src), align);
    value = tag(*t.src, load);
    if (!same_memory(*t.src, *t.dst)) {
      value = from_memory(e, *t.src, value);
      value = to_memory(e, *t.dst, convert_element(e, t.src->decl->type, t.dst->decl->type, value));
    }
  }
  llvm::Align align(std::max(1U, value->getType()->getScalarSizeInBits() / 8));
  const bool stream = t.stream && value->getType()->getPrimitiveSizeInBits() % (8 * stream_bytes) == 0;
  if (stream) align = llvm::Align(stream_bytes);
  auto* store = e.b.CreateAlignedStore(value, element_pointer(e, *t.dst, dst), align);
  if (stream)
    store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                       llvm::MDNode::get(e.context, {llvm::ConstantAsMetadata::get(e.b.getInt32(1))}));
  tag(*t.dst, store);
}

/// A row whose two sides are contiguous. Vectors are emitted by fours while a literal length lasts, then in halves.
void move_row(Emitter& e, const Transfer& t, llvm::Value* src, llvm::Value* dst, const Span& span) {
  const int lanes = row_lanes(e, t);
  const std::int64_t line = t.ahead == nullptr ? 0 : 64 * 8 / element_type(e, *t.src)->getScalarSizeInBits();
  const auto at = [&](llvm::Value* i, std::int64_t more, int width) {
    llvm::Value* index = e.b.CreateAdd(i, e.i64(more));
    llvm::Value* from = src == nullptr ? nullptr : e.b.CreateAdd(src, index);
    if (line != 0 && (const_int(i).value_or(0) + more) % line == 0)
      emit_prefetch(e, *t.src, e.b.CreateAdd(from, t.ahead));
    move(e, t, from, e.b.CreateAdd(dst, index), width);
  };
  const auto lo = const_int(span.lo);
  const auto hi = const_int(span.hi);
  if (!lo.has_value() || !hi.has_value()) {
    llvm::Value* count =
        e.b.CreateSelect(e.b.CreateICmpSLT(span.lo, span.hi), e.b.CreateSub(span.hi, span.lo), e.i64(0));
    llvm::Value* full = e.b.CreateAdd(span.lo, e.b.CreateAnd(count, e.i64(-lanes)));
    emit_loop(e, span.lo, full, e.i64(lanes), "vector", [&](llvm::Value* i) { at(i, 0, lanes); });
    emit_loop(e, full, span.hi, e.i64(1), "rest", [&](llvm::Value* i) { at(i, 0, 1); });
    return;
  }
  constexpr int unrolled = 4;
  const std::int64_t chunk = std::int64_t{unrolled} * lanes;
  const std::int64_t chunks = std::max<std::int64_t>(0, *hi - *lo) / chunk;
  emit_loop(e, span.lo, e.i64(*lo + chunks * chunk), e.i64(chunk), "vector", [&](llvm::Value* i) {
    for (int u = 0; u < unrolled; ++u) at(i, std::int64_t{u} * lanes, lanes);
  });
  std::int64_t done = *lo + chunks * chunk;
  for (int width = lanes; width >= 1; width /= 2) {
    for (; done + width <= *hi; done += width) at(e.i64(done), 0, width);
  }
}

void move_element(Emitter& e, const Transfer& t, llvm::Value* src, llvm::Value* dst) {
  llvm::Value* value = t.constant;
  if (t.src != nullptr) {
    value = load_element(e, *t.src, uniform(src)).v;
    value = convert_element(e, t.src->decl->type, t.dst->decl->type, value);
  }
  store_element(e, *t.dst, uniform(dst), uniform(value));
}

llvm::Value* step_to(Emitter& e, llvm::Value* first, llvm::Value* index, llvm::Value* stride) {
  return first == nullptr ? nullptr : e.b.CreateAdd(first, e.b.CreateMul(index, stride));
}

void move_box(Emitter& e, const Transfer& t, std::size_t d, llvm::Value* src, llvm::Value* dst,
              const std::vector<Span>& spans) {
  const bool last = d + 1 == t.dims.size();
  if (last && contiguous(t)) return move_row(e, t, src, dst, spans[d]);
  if (last && t.by_bytes) return move_packed_row(e, t, src, dst, spans[d]);
  if (d + 2 == t.dims.size() && is_turned(t)) return move_turned(e, t, src, dst, spans[d], spans[d + 1]);
  emit_loop(e, spans[d].lo, spans[d].hi, e.i64(1), "row", [&](llvm::Value* i) {
    llvm::Value* from = step_to(e, src, i, t.dims[d].src_stride);
    llvm::Value* to = step_to(e, dst, i, t.dims[d].dst_stride);
    if (last)
      move_element(e, t, from, to);
    else
      move_box(e, t, d + 1, from, to, spans);
  });
}

/// Whether dimension d of one side follows dimension d + 1 without a gap.
bool gapless(llvm::Value* outer_stride, llvm::Value* inner_stride, std::int64_t inner_extent) {
  const auto outer = const_int(outer_stride);
  const auto inner = const_int(inner_stride);
  return outer.has_value() && inner.has_value() && *outer == *inner * inner_extent;
}

/// Makes one dimension of neighbours that are moved whole and lie without gaps on both sides.
void collapse(Emitter& e, Transfer& t, std::vector<Span>& spans) {
  for (std::size_t d = t.dims.size() - 1; d-- > 0;) {
    TransferDim& outer = t.dims[d];
    const TransferDim& inner = t.dims[d + 1];
    const auto extent = const_int(inner.extent);
    const bool literal = const_int(spans[d].lo).has_value() && const_int(spans[d].hi).has_value();
    if (!literal || !extent.has_value() || !is_const(spans[d + 1].lo, 0) || !is_const(spans[d + 1].hi, *extent))
      continue;
    if (!gapless(outer.dst_stride, inner.dst_stride, *extent)) continue;
    if (t.src != nullptr && !gapless(outer.src_stride, inner.src_stride, *extent)) continue;
    llvm::Value* count = inner.extent;
    outer = {e.b.CreateMul(outer.extent, count), inner.src_stride, inner.dst_stride};
    spans[d] = {e.b.CreateMul(spans[d].lo, count), e.b.CreateMul(spans[d].hi, count)};
    t.dims.erase(t.dims.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    spans.erase(spans.begin() + static_cast<std::ptrdiff_t>(d) + 1);
  }
}

/// Whether every row of the destination begins where a store past the caches may write.
llvm::Value* stream_aligned(Emitter& e, const Transfer& t) {
  llvm::Type* i64 = e.b.getInt64Ty();
  llvm::Value* bits = e.b.CreatePtrToInt(element_pointer(e, *t.dst, t.dst_first), i64);
  const std::int64_t bytes = element_type(e, *t.dst)->getScalarSizeInBits() / 8;
  for (std::size_t d = 0; d + 1 < t.dims.size(); ++d)
    bits = e.b.CreateOr(bits, e.b.CreateMul(t.dims[d].dst_stride, e.i64(bytes)));
  return e.b.CreateICmpEQ(e.b.CreateAnd(bits, e.i64(stream_bytes - 1)), e.i64(0));
}

}  // namespace

Transfer Transfer::filled(llvm::Value* value) const {
  Transfer fill = *this;
  fill.src = nullptr;
  fill.src_first = nullptr;
  fill.ahead = nullptr;
  fill.stream = false;
  fill.constant = value;
  return fill;
}

std::vector<Span> whole(Emitter& e, const Transfer& transfer) {
  std::vector<Span> spans;
  for (const auto& dim : transfer.dims) spans.push_back({e.i64(0), dim.extent});
  return spans;
}

void emit_transfer(Emitter& e, const Transfer& transfer, const std::vector<Span>& spans) {
  Transfer t = transfer;
  std::vector<Span> boxes = spans;
  collapse(e, t, boxes);
  t.stream = false;
  const auto plain = [&] { move_box(e, t, 0, t.src_first, t.dst_first, boxes); };
  Transfer faster = t;
  const auto fast = [&] { move_box(e, faster, 0, t.src_first, t.dst_first, boxes); };
  if (is_packed_row(t)) {
    faster.by_bytes = true;
    return emit_if(e, rows_begin_at_bytes(e, t, boxes.back().lo), fast, plain);
  }
  if (!transfer.stream || !contiguous(t)) return plain();
  faster.stream = true;
  e.streams = true;
  emit_if(e, stream_aligned(e, t), fast, plain);
}

llvm::Value* convert_element(Emitter& e, ir::DType from, ir::DType to, llvm::Value* value) {
  if (from == to) return value;
  const auto rounding = ir::is_float(to) ? ir::Rounding::nearest_even : ir::Rounding::toward_zero;
  return emit_convert(e.b, e.target, from, to, value, rounding);
}

}  // namespace plait::cpu
