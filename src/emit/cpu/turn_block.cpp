#include "emit/cpu/turn_block.h"

#include <algorithm>

#include "emit/cpu/access.h"
#include "emit/cpu/types.h"
#include "emit/cpu/vector_convert.h"

namespace plait::cpu {
namespace {

/// Exchanges row and column numbers of a square of vectors: halves of row pairs change places, then quarters, and so
/// on.
void turn(Emitter& e, std::vector<llvm::Value*>& rows) {
  const int n = static_cast<int>(rows.size());
  for (int half = n / 2; half > 0; half /= 2) {
    std::vector<int> low, high;
    for (int l = 0; l < n; ++l) {
      low.push_back((l & half) == 0 ? l : n + l - half);
      high.push_back((l & half) == 0 ? l + half : n + l);
    }
    for (int r = 0; r < n; ++r) {
      if ((r & half) != 0) continue;
      auto& a = rows[static_cast<std::size_t>(r)];
      auto& b = rows[static_cast<std::size_t>(r + half)];
      llvm::Value* upper = e.b.CreateShuffleVector(a, b, low);
      b = e.b.CreateShuffleVector(a, b, high);
      a = upper;
    }
  }
}

class Turned {
 public:
  Turned(Emitter& e, const Transfer& t, llvm::Value* src, llvm::Value* dst)
      : e_(e), t_(t), src_(src), dst_(dst), row_(t.dims[t.dims.size() - 2]), column_(t.dims.back()) {
    const unsigned bits =
        std::max(element_type(e, *t.src)->getScalarSizeInBits(), element_type(e, *t.dst)->getScalarSizeInBits());
    side_ = std::clamp(e.target.lanes(static_cast<int>(bits)), 2, 8);
  }

  void emit(const Span& rows, const Span& columns) {
    llvm::Value* full_rows = full(rows);
    llvm::Value* full_columns = full(columns);
    emit_loop(e_, rows.lo, full_rows, e_.i64(side_), "turn", [&](llvm::Value* r) {
      emit_loop(e_, columns.lo, full_columns, e_.i64(side_), "block", [&](llvm::Value* c) { block(r, c); });
      const Span rest{full_columns, columns.hi};
      elements({r, e_.b.CreateAdd(r, e_.i64(side_))}, rest);
    });
    elements({full_rows, rows.hi}, columns);
  }

 private:
  llvm::Value* full(const Span& span) {
    llvm::Value* count =
        e_.b.CreateSelect(e_.b.CreateICmpSLT(span.lo, span.hi), e_.b.CreateSub(span.hi, span.lo), e_.i64(0));
    return e_.b.CreateAdd(span.lo, e_.b.CreateAnd(count, e_.i64(-side_)));
  }

  llvm::Value* src_at(llvm::Value* r, llvm::Value* c) {
    return e_.b.CreateAdd(src_,
                          e_.b.CreateAdd(e_.b.CreateMul(r, row_.src_stride), e_.b.CreateMul(c, column_.src_stride)));
  }
  llvm::Value* dst_at(llvm::Value* r, llvm::Value* c) {
    return e_.b.CreateAdd(dst_,
                          e_.b.CreateAdd(e_.b.CreateMul(r, row_.dst_stride), e_.b.CreateMul(c, column_.dst_stride)));
  }

  void block(llvm::Value* r, llvm::Value* c) {
    llvm::Type* type = element_type(e_, *t_.src);
    const llvm::Align from_align(type->getScalarSizeInBits() / 8);
    std::vector<llvm::Value*> vectors;
    for (int i = 0; i < side_; ++i) {
      llvm::Value* pointer = element_pointer(e_, *t_.src, src_at(r, e_.b.CreateAdd(c, e_.i64(i))));
      vectors.push_back(tag(*t_.src, e_.b.CreateAlignedLoad(lanes_type(type, side_), pointer, from_align)));
    }
    turn(e_, vectors);
    for (int i = 0; i < side_; ++i) {
      llvm::Value* value = converted(vectors[static_cast<std::size_t>(i)]);
      const llvm::Align align(value->getType()->getScalarSizeInBits() / 8);
      llvm::Value* pointer = element_pointer(e_, *t_.dst, dst_at(e_.b.CreateAdd(r, e_.i64(i)), c));
      tag(*t_.dst, e_.b.CreateAlignedStore(value, pointer, align));
    }
  }

  llvm::Value* converted(llvm::Value* bits) {
    const ir::DType from = t_.src->decl->type;
    const ir::DType to = t_.dst->decl->type;
    if (from == to && t_.src->global() == t_.dst->global()) return bits;
    return to_memory(e_, *t_.dst, convert_element(e_, from, to, from_memory(e_, *t_.src, bits)));
  }

  void elements(const Span& rows, const Span& columns) {
    emit_loop(e_, rows.lo, rows.hi, e_.i64(1), "row", [&](llvm::Value* r) {
      emit_loop(e_, columns.lo, columns.hi, e_.i64(1), "column", [&](llvm::Value* c) {
        const Val value = load_element(e_, *t_.src, uniform(src_at(r, c)));
        llvm::Value* stored = convert_element(e_, t_.src->decl->type, t_.dst->decl->type, value.v);
        store_element(e_, *t_.dst, uniform(dst_at(r, c)), uniform(stored));
      });
    });
  }

  Emitter& e_;
  const Transfer& t_;
  llvm::Value* src_;
  llvm::Value* dst_;
  TransferDim row_, column_;
  int side_ = 8;
};

}  // namespace

bool is_turned(const Transfer& t) {
  if (t.dims.size() < 2 || t.src == nullptr || t.src->packed() || t.dst->packed()) return false;
  return is_const(t.dims[t.dims.size() - 2].src_stride, 1) && is_const(t.dims.back().dst_stride, 1) &&
         !is_const(t.dims.back().src_stride, 1);
}

void move_turned(Emitter& e, const Transfer& t, llvm::Value* src, llvm::Value* dst, const Span& rows,
                 const Span& columns) {
  Turned(e, t, src, dst).emit(rows, columns);
}

}  // namespace plait::cpu
