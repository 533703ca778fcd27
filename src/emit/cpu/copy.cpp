#include <algorithm>

#include "emit/cpu/access.h"
#include "emit/cpu/expr.h"
#include "emit/cpu/prefetch.h"
#include "emit/cpu/temporary.h"
#include "emit/cpu/tile_ops.h"
#include "emit/cpu/transfer.h"
#include "emit/cpu/vector_convert.h"

namespace plait::cpu {
namespace {

/// Which part of a tile exists: a span for each dimension of the transfer, and a condition on everything else.
struct Clip {
  std::vector<Span> spans;
  llvm::Value* ok;    ///< the whole tile may exist at all
  llvm::Value* full;  ///< every element exists
  bool clips = false;
};

Clip unclipped(Emitter& e, const Transfer& t) { return {whole(e, t), e.b.getTrue(), e.b.getTrue(), false}; }

void limit(Emitter& e, Clip& clip, std::size_t d, llvm::Value* lo, llvm::Value* hi, llvm::Value* full) {
  Span& span = clip.spans[d];
  span.lo = greatest(e, span.lo, lo);
  span.hi = least(e, span.hi, hi);
  clip.full = e.b.CreateAnd(clip.full, full);
  clip.clips = true;
}

void require(Emitter& e, Clip& clip, llvm::Value* cond) {
  clip.ok = e.b.CreateAnd(clip.ok, cond);
  clip.full = e.b.CreateAnd(clip.full, cond);
  clip.clips = true;
}

/// The part of both clips.
Clip both(Emitter& e, const Clip& a, const Clip& b) {
  Clip clip = a;
  for (std::size_t d = 0; d < a.spans.size(); ++d) {
    clip.spans[d].lo = greatest(e, a.spans[d].lo, b.spans[d].lo);
    clip.spans[d].hi = least(e, a.spans[d].hi, b.spans[d].hi);
  }
  clip.ok = e.b.CreateAnd(a.ok, b.ok);
  clip.full = e.b.CreateAnd(a.full, b.full);
  clip.clips = a.clips || b.clips;
  return clip;
}

/// The spans, the first one empty where the tile does not exist.
std::vector<Span> effective(Emitter& e, const Clip& clip) {
  std::vector<Span> spans = clip.spans;
  spans[0].hi = e.b.CreateSelect(clip.ok, spans[0].hi, spans[0].lo);
  return spans;
}

/// One copy on its way to code.
class Copy {
 public:
  Copy(Emitter& e, const ir::Stmt& stmt, Tile src, Tile dst)
      : e_(e), stmt_(stmt), src_(std::move(src)), dst_(std::move(dst)) {
    read_of_.assign(src_.dims.size(), none);
    write_of_.assign(dst_.dims.size(), none);
  }

  /// Source dimension s and destination dimension d are one dimension of the copy.
  void pair(std::size_t s, std::size_t d) {
    TileDim& a = src_.dims[s];
    TileDim& b = dst_.dims[d];
    require_equal(e_, a.extent, b.extent, stmt_.loc);
    llvm::Value* extent = const_int(a.extent).has_value() ? a.extent : b.extent;
    read_of_[s] = write_of_[d] = t_.dims.size();
    t_.dims.push_back({extent, a.stride, b.stride});
  }

  /// `ahead`: distance to what the next iteration of a pipelined loop reads, or null.
  void emit(const ir::CopyAttrs& attrs, llvm::Value* ahead = nullptr) {
    prepare();
    t_.ahead = ahead;
    pad_ = attrs.pad == nullptr ? zero() : emit_expr(e_, attrs.pad).v;
    t_.stream = attrs.cache == ir::CacheHint::evict_first && dst_.buffer->global();
    if (attrs.rows.has_value()) bind_rows(attrs);
    clip(src_, read_of_, read_);
    clip(dst_, write_of_, write_);
    emit_valid(attrs.valid);
    if (row_dim_.has_value())
      emit_rows();
    else
      emit_box(t_, read_, write_);
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  llvm::Value* zero() { return llvm::Constant::getNullValue(carrier_type(e_.context, dst_.buffer->decl->type)); }

  void prepare() {
    for (const auto& [tile, of] : {std::pair(&src_, &read_of_), std::pair(&dst_, &write_of_)}) {
      for (std::size_t d = 0; d < tile->dims.size(); ++d) {
        if ((*of)[d] == none) require_equal(e_, tile->dims[d].extent, e_.i64(1), stmt_.loc);
      }
    }
    if (t_.dims.empty()) t_.dims.push_back({e_.i64(1), e_.i64(0), e_.i64(0)});
    t_.src = src_.buffer;
    t_.dst = dst_.buffer;
    t_.src_first = first_element(e_, src_);
    t_.dst_first = first_element(e_, dst_);
    read_ = write_ = unclipped(e_, t_);
  }

  /// Clips at the edges of a global tensor; the dimension that a row map indexes is left to emit_rows.
  void clip(const Tile& tile, const std::vector<std::size_t>& of, Clip& clip) {
    if (!tile.buffer->global()) return;
    for (std::size_t d = 0; d < tile.dims.size(); ++d) {
      const TileDim& dim = tile.dims[d];
      if (&tile == row_tile_ && d == *row_dim_) continue;
      if (of[d] == none) {
        require(e_, clip, e_.b.CreateICmpULT(dim.begin, dim.size));
        continue;
      }
      llvm::Value* room = e_.b.CreateSub(dim.size, dim.begin);
      llvm::Value* full =
          e_.b.CreateAnd(e_.b.CreateICmpSGE(dim.begin, e_.i64(0)), e_.b.CreateICmpSLE(dim.extent, room));
      limit(e_, clip, of[d], e_.b.CreateNeg(dim.begin), room, full);
    }
  }

  /// `valid` is aligned right with the on-chip side: elements beyond are not written to a global destination, and read
  /// as pad elsewhere.
  void emit_valid(const std::vector<ir::ExprRef>& valid) {
    const bool store = dst_.buffer->global();
    const bool by_source = store && !src_.buffer->global();
    const auto& of = by_source ? read_of_ : write_of_;
    Clip& clip = store ? write_ : read_;
    for (std::size_t i = 0; i < valid.size(); ++i) {
      if (valid.size() - i > of.size()) continue;
      const std::size_t at = of[of.size() - valid.size() + i];
      llvm::Value* count = emit_index(e_, valid[i]);
      if (at == none)
        require(e_, clip, e_.b.CreateICmpSGE(count, e_.i64(1)));
      else
        limit(e_, clip, at, e_.i64(0), count, e_.b.CreateICmpSGE(count, t_.dims[at].extent));
    }
  }

  void emit_box(const Transfer& t, const Clip& read, const Clip& write) {
    const Clip part = both(e_, read, write);
    if (!part.clips) return emit_transfer(e_, t, part.spans);
    emit_if(
        e_, part.full, [&] { emit_transfer(e_, t, whole(e_, t)); },
        [&] {
          if (read.clips) emit_transfer(e_, t.filled(pad_), effective(e_, write));
          emit_transfer(e_, t, effective(e_, part));
        });
  }

  /// Finds the dimension that the map indexes: the first one of the mapped side with extent > 1. A map of one row moves
  /// a tile of one row.
  void bind_rows(const ir::CopyAttrs& attrs) {
    const Tile rows = emit_region(e_, *attrs.rows, stmt_.loc);
    rows_ = rows.buffer;
    rows_first_ = first_element(e_, rows);
    llvm::Value* count = e_.i64(1);
    rows_stride_ = e_.i64(1);
    for (const TileDim& d : rows.dims) {
      if (is_const(d.extent, 1)) continue;
      count = d.extent;
      rows_stride_ = d.stride;
    }
    Tile& mapped = attrs.scatter ? dst_ : src_;
    const auto& of = attrs.scatter ? write_of_ : read_of_;
    const std::size_t second = of.size() < 2 ? 0 : of.size() - 2;
    const auto dim = static_cast<std::size_t>(
        std::find_if(of.begin(), of.end(), [](std::size_t d) { return d != none; }) - of.begin());
    if (dim == of.size() || (is_const(count, 1) && of[second] == none))
      return move_to_row(mapped, second, attrs.scatter ? write_ : read_);
    require_equal(e_, count, t_.dims[of[dim]].extent, stmt_.loc);
    row_tile_ = &mapped;
    row_dim_ = dim;
  }

  void move_to_row(Tile& tile, std::size_t dim, Clip& clip) {
    TileDim& d = tile.dims[dim];
    llvm::Value* row = load_row(e_.i64(0));
    require(e_, clip, e_.b.CreateICmpSGE(row, e_.i64(0)));
    d.begin = e_.b.CreateAdd(d.begin, row);
    llvm::Value*& first = &tile == &src_ ? t_.src_first : t_.dst_first;
    first = e_.b.CreateAdd(first, e_.b.CreateMul(row, d.stride));
  }

  llvm::Value* load_row(llvm::Value* i) {
    llvm::Value* at = e_.b.CreateAdd(rows_first_, e_.b.CreateMul(i, rows_stride_));
    llvm::Value* row = load_element(e_, *rows_, uniform(at)).v;
    const bool is_signed = ir::is_signed_integer(rows_->decl->type);
    return is_signed ? e_.b.CreateSExt(row, e_.b.getInt64Ty()) : e_.b.CreateZExt(row, e_.b.getInt64Ty());
  }

  /// Row i of the mapped side is row rows[i] of its tensor; the mapped dimension is the outermost one of the copy.
  void emit_rows() {
    const bool scatter = row_tile_ == &dst_;
    const TileDim& mapped = row_tile_->dims[*row_dim_];
    const Span reads = read_.spans[0];
    const Span writes = write_.spans[0];
    emit_loop(e_, writes.lo, writes.hi, e_.i64(1), "mapped", [&](llvm::Value* i) {
      llvm::Value* row = load_row(i);
      llvm::Value* index = e_.b.CreateAdd(row, mapped.begin);
      llvm::Value* found = e_.b.CreateAnd(e_.b.CreateICmpSGE(row, e_.i64(0)), e_.b.CreateICmpULT(index, mapped.size));
      llvm::Value* readable = e_.b.CreateAnd(e_.b.CreateICmpSGE(i, reads.lo), e_.b.CreateICmpSLT(i, reads.hi));
      Clip read = rest(read_);
      Clip write = rest(write_);
      require(e_, read, readable);
      require(e_, scatter ? write : read, found);
      emit_box(row_transfer(i, row, scatter), read, write);
    });
  }

  /// The dimensions behind the mapped one.
  Clip rest(const Clip& clip) {
    Clip inner = clip;
    inner.spans.erase(inner.spans.begin());
    if (inner.spans.empty()) inner.spans.push_back({e_.i64(0), e_.i64(1)});
    return inner;
  }

  Transfer row_transfer(llvm::Value* i, llvm::Value* row, bool scatter) {
    Transfer t = t_;
    t.dims.erase(t.dims.begin());
    if (t.dims.empty()) t.dims.push_back({e_.i64(1), e_.i64(0), e_.i64(0)});
    t.src_first = e_.b.CreateAdd(t.src_first, e_.b.CreateMul(scatter ? i : row, t_.dims[0].src_stride));
    t.dst_first = e_.b.CreateAdd(t.dst_first, e_.b.CreateMul(scatter ? row : i, t_.dims[0].dst_stride));
    return t;
  }

  Emitter& e_;
  const ir::Stmt& stmt_;
  Tile src_, dst_;
  std::vector<std::size_t> read_of_, write_of_;  ///< dimension of the transfer, for each of a tile
  Transfer t_;
  Clip read_, write_;
  llvm::Value* pad_ = nullptr;
  const Tile* row_tile_ = nullptr;
  std::optional<std::size_t> row_dim_;  ///< dimension of row_tile_ that the map indexes
  const BufferInfo* rows_ = nullptr;
  llvm::Value *rows_first_ = nullptr, *rows_stride_ = nullptr;
};

/// Pairs the dimensions of both tiles, extents of 1 left out; further ones are aligned right.
void pair_dims(Copy& copy, const Tile& src, const Tile& dst) {
  const auto s = proper_dims(src);
  const auto d = proper_dims(dst);
  const std::size_t n = std::min(s.size(), d.size());
  for (std::size_t i = 0; i < n; ++i) copy.pair(s[s.size() - n + i], d[d.size() - n + i]);
}

}  // namespace

void copy_tiles(Emitter& e, const ir::Stmt& stmt, const Tile& src, const Tile& dst, const ir::CopyAttrs& attrs,
                llvm::Value* ahead) {
  Copy copy(e, stmt, src, dst);
  pair_dims(copy, src, dst);
  copy.emit(attrs, ahead);
}

void emit_copy(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op) {
  const auto& attrs = std::get<ir::CopyAttrs>(op.attrs);
  const Tile src = emit_region(e, op.operands[0], stmt.loc, true);
  const Tile dst = emit_region(e, op.operands[1], stmt.loc, true);
  if (op_scratch(e, stmt) == nullptr) return copy_tiles(e, stmt, src, dst, attrs, distance_ahead(e, op.operands[0]));
  // What is read lies in the buffer that is written: read everything first.
  const auto temporary = make_temporary(e, stmt, dst);
  ir::CopyAttrs load = attrs;
  ir::CopyAttrs store;
  if (attrs.scatter) {
    std::swap(load.rows, store.rows);
    std::swap(load.scatter, store.scatter);
  }
  if (dst.buffer->global()) std::swap(load.valid, store.valid);
  copy_tiles(e, stmt, src, temporary->tile, load);
  copy_tiles(e, stmt, temporary->tile, dst, store);
}

void emit_fill(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op) {
  const Tile dst = emit_region(e, op.operands[0], stmt.loc);
  Transfer t;
  t.constant = emit_expr(e, std::get<ir::FillAttrs>(op.attrs).value).v;
  t.dst = dst.buffer;
  t.dst_first = first_element(e, dst);
  std::vector<Span> spans;
  for (const TileDim& dim : dst.dims) {
    t.dims.push_back({dim.extent, dim.stride, dim.stride});
    Span span{e.i64(0), dim.extent};
    if (dst.buffer->global()) {
      span.lo = greatest(e, span.lo, e.b.CreateNeg(dim.begin));
      span.hi = least(e, span.hi, e.b.CreateSub(dim.size, dim.begin));
    }
    spans.push_back(span);
  }
  emit_transfer(e, t, spans);
}

void emit_transpose(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op) {
  const Tile src = emit_region(e, op.operands[0], stmt.loc);
  const Tile dst = emit_region(e, op.operands[1], stmt.loc);
  Copy copy(e, stmt, src, dst);
  const std::size_t s = src.dims.size();
  const std::size_t d = dst.dims.size();
  copy.pair(s - 1, d - 2);
  copy.pair(s - 2, d - 1);
  copy.emit({});
}

}  // namespace plait::cpu
