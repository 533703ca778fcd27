#include <fmt/format.h>

#include "ir/build.h"
#include "ir/expr_util.h"
#include "pipeline/threads.h"

namespace plait::pipeline {

using namespace ir;

namespace {

Value both(const std::optional<Value>& a, const Value& b) { return a ? *a && b : b; }

/// begin + at, without adding zeros.
Value shifted(const Value& begin, const Value& at) {
  if (as_int(begin.expr()) == 0) return at;
  return as_int(at.expr()) == 0 ? begin : begin + at;
}

}  // namespace

// ---- Regions -------------------------------------------------------------------------------------------------------

Threads::Side Threads::side(const Region& region) {
  Side made{&region, {}, {}, {}};
  for (std::size_t d = 0; d < region.ranges.size(); ++d) {
    const Range& range = region.ranges[d];
    made.begin.push_back(scalars_.index(range.begin));
    made.extents.push_back(scalars_.index(range.extent));
    if (as_int(range.extent) != 1) made.dims.push_back(d);
  }
  return made;
}

namespace {

/// Iterations of loops over elements whose loads may be under way at one time.
constexpr int kCopiesAhead = 4;

}  // namespace

Values Threads::extents_of(const Side& side) const {
  Values extents;
  for (std::size_t d : side.dims) extents.push_back(side.extents[d]);
  return extents.empty() ? Values{Value(1)} : extents;
}

Values Threads::index_at(const Side& side, const Values& at) const {
  Values index = side.begin;
  for (std::size_t k = 0; k < side.dims.size(); ++k) index[side.dims[k]] = shifted(index[side.dims[k]], at[k]);
  return index;
}

/// Adds that the element lies in the tensor.
void Threads::inside(const Side& side, const Values& index, std::optional<Value>& cond) {
  const Buffer& tensor = side.region->buffer;
  if (tensor->scope != Scope::global) return;
  for (std::size_t d = 0; d < index.size(); ++d) {
    const Range& range = side.region->ranges[d];
    auto begin = as_int(range.begin), extent = as_int(range.extent), all = as_int(tensor->shape[d]);
    if (begin && extent && all && *begin >= 0 && *begin + *extent <= *all) continue;
    if (!scalars_.is_below(range.begin, tensor->shape[d]) || as_int(range.extent) != 1)
      cond = both(cond, index[d] < scalars_.index(tensor->shape[d]));
    if (!scalars_.is_least(range.begin, 0)) cond = both(cond, index[d] >= 0);
  }
}

/// Dimensions of more than one element, which go with each other in order.
bool Threads::pairs(const Stmt& stmt, const Side& a, const Side& b) {
  if (a.dims.size() == b.dims.size()) return true;
  l_.diags_.error(Rule::place_operation, stmt.loc,
                  fmt::format("the extents of `{}` and `{}` do not go with each other one by one",
                              a.region->buffer->name, b.region->buffer->name),
                  "write literal extents");
  return false;
}

/// Threads read and write at one time: a tile that is moved within itself has no order.
bool Threads::apart(const Stmt& stmt, const TileOp& op) {
  if (op.operands[0].buffer != op.operands[1].buffer) return true;
  l_.diags_.error(
      Rule::place_operation, stmt.loc,
      fmt::format("{} from `{}` to itself has no placement yet", op_info(op.kind).name, op.operands[0].buffer->name),
      "go by way of another tile");
  return false;
}

// ---- Copies --------------------------------------------------------------------------------------------------------

/// Rows by a table: the first dimension that is walked along, or of one row that in front of the columns.
void Threads::map_rows(const CopyAttrs& attrs, const Side& mapped, const Values& at, Values& index,
                       std::optional<Value>& cond) {
  const Region& rows = *attrs.rows;
  Values place;
  std::size_t walked = rows.ranges.size();
  for (std::size_t d = 0; d < rows.ranges.size(); ++d) {
    place.push_back(scalars_.index(rows.ranges[d].begin));
    if (as_int(rows.ranges[d].extent) != 1) walked = d;
  }
  std::size_t rank = index.size(), dim = rank < 2 ? 0 : rank - 2;
  if (walked < rows.ranges.size()) {
    place[walked] = shifted(place[walked], at[0]);
    dim = mapped.dims[0];
  }
  Value row = converted(DType::i32, get(rows.buffer, place));
  if (!in_each_) row = b_.let(l_.fresh("row"), row);
  cond = both(cond, row >= 0);
  index[dim] = shifted(mapped.begin[dim], row);
}

Threads::Move Threads::move_at(const TileOp& op, const Side& src, const Side& dst, const Values& at) {
  const CopyAttrs& attrs = std::get<CopyAttrs>(op.attrs);
  Move move{index_at(src, at), index_at(dst, at), {}, {}};
  if (attrs.rows) {
    if (attrs.scatter) {
      map_rows(attrs, dst, at, move.dst, move.writable);
    } else {
      map_rows(attrs, src, at, move.src, move.readable);
    }
    const Side& mapped = attrs.scatter ? dst : src;
    const Values& index = attrs.scatter ? move.dst : move.src;
    std::optional<Value>& cond = attrs.scatter ? move.writable : move.readable;
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (mapped.region->buffer->scope != Scope::global) break;
      cond = both(cond, index[d] < scalars_.index(mapped.region->buffer->shape[d]));
      if (!scalars_.is_least(mapped.region->ranges[d].begin, 0)) cond = both(cond, index[d] >= 0);
    }
    if (attrs.scatter) inside(src, move.src, move.readable);
    if (!attrs.scatter) inside(dst, move.dst, move.writable);
  } else {
    inside(src, move.src, move.readable);
    inside(dst, move.dst, move.writable);
  }
  if (attrs.valid.empty()) return move;
  bool stores = dst.region->buffer->scope == Scope::global;
  const Side& tile = stores && src.region->buffer->scope != Scope::global ? src : dst;
  std::optional<Value>& cond = stores ? move.writable : move.readable;
  std::size_t rank = tile.extents.size();
  for (std::size_t n = 0; n < std::min(rank, attrs.valid.size()); ++n) {
    std::size_t d = rank - 1 - n;
    Value valid = scalars_.index(attrs.valid[attrs.valid.size() - 1 - n]);
    auto walked = std::find(tile.dims.begin(), tile.dims.end(), d);
    Value own = walked == tile.dims.end() ? Value(0) : at[static_cast<std::size_t>(walked - tile.dims.begin())];
    cond = both(cond, own < valid);
  }
  return move;
}

/// The element, converted; padding where there is none.
Value Threads::moved(const TileOp& op, const Move& move) {
  const Buffer &src = op.operands[0].buffer, &dst = op.operands[1].buffer;
  Value value = converted(dst->type, get(src, move.src));
  if (!move.readable) return value;
  const CopyAttrs& attrs = std::get<CopyAttrs>(op.attrs);
  Value pad = attrs.pad == nullptr ? zero_of(dst->type) : converted(dst->type, this->value(attrs.pad));
  return select(*move.readable, value, pad);
}

void Threads::copy(const Stmt& stmt, const TileOp& op) {
  Side src = side(op.operands[0]), dst = side(op.operands[1]);
  if (!apart(stmt, op) || !pairs(stmt, src, dst)) return;
  if (copy_wide(op, src, dst)) return;
  const Side& known = dst.region->buffer->scope == Scope::global ? src : dst;
  auto point = [&](const Values& at) {
    Move move = move_at(op, src, dst, at);
    auto write = [&] { put(dst.region->buffer, move.dst, moved(op, move)); };
    if (!move.writable) return write();
    b_.if_(*move.writable, write);
  };
  loop(extents_of(known), point, kCopiesAhead);
}

void Threads::load_elements(const Stmt& stmt) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  in_each_ = true;
  Side src = side(op.operands[0]), dst = side(op.operands[1]);
  if (!pairs(stmt, src, dst)) return;
  const Buffer& to = op.operands[1].buffer;
  l_.each(l_.fragment(to), [&](const Values& own) {
    Values index = own, at;
    index[0] = l_.row_of(to, own[0]);
    for (std::size_t d : dst.dims) at.push_back(index[d]);
    return moved(op, move_at(op, src, dst, at));
  });
}

void Threads::store_slice(const TileOp& op, const roles::Smem& stage, const Values& lead, const Values& origin,
                          std::int64_t rows, std::int64_t columns) {
  const Region& region = op.operands[1];
  TileDims dims = tile_dims(region, static_shape(*op.operands[0].buffer));
  std::int64_t threads = std::int64_t{l_.placed_.warps} * 32;
  loop(b_.builtins().thread, threads, {Value(rows), Value(columns)}, [&](const Values& at) {
    Values to = origin, from = lead;
    to[dims.row()] = shifted(to[dims.row()], at[0]);
    to[dims.column()] = shifted(to[dims.column()], at[1]);
    from.insert(from.end(), at.begin(), at.end());
    std::optional<Value> cond;
    inside(side(region), to, cond);
    auto write = [&] { b_.put(roles::build::at(region.buffer, to), roles::build::element(stage, from)); };
    if (!cond) return write();
    b_.if_(*cond, write);
  });
}

// ---- Fills, transposes, atomics ------------------------------------------------------------------------------------

void Threads::fill(const TileOp& op) {
  Side dst = side(op.operands[0]);
  Value value = this->value(std::get<FillAttrs>(op.attrs).value);
  if (fill_wide(dst, value)) return;
  loop(extents_of(dst), [&](const Values& at) { put(dst.region->buffer, index_at(dst, at), value); }, kCopiesAhead);
}

/// The last two dimensions are exchanged; those before go with each other.
void Threads::transpose(const Stmt& stmt, const TileOp& op) {
  Side src = side(op.operands[0]), dst = side(op.operands[1]);
  if (!apart(stmt, op)) return;
  auto split = [](Side& side) {
    std::size_t rank = side.extents.size();
    std::erase_if(side.dims, [&](std::size_t d) { return d + 2 >= rank; });
    side.dims.push_back(rank - 2);
    side.dims.push_back(rank - 1);
  };
  split(src);
  split(dst);
  if (!pairs(stmt, src, dst)) return;
  auto point = [&](const Values& at) {
    Values turned = at;
    std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
    put(dst.region->buffer, index_at(dst, at),
        converted(dst.region->buffer->type, get(src.region->buffer, index_at(src, turned))));
  };
  loop(extents_of(dst), point, kCopiesAhead);
}

namespace {

AtomicOp op_of_atomic(OpKind kind) {
  return kind == OpKind::atomic_add ? AtomicOp::add : kind == OpKind::atomic_max ? AtomicOp::max : AtomicOp::min;
}

}  // namespace

/// Elements of a tile are distinct: only tensors, where other blocks add, need the instruction.
void Threads::atomic_tile(const Stmt& stmt, const TileOp& op) {
  Side dst = side(op.operands[0]), src = side(op.operands[1]);
  if (!pairs(stmt, src, dst)) return;
  const Buffer &to = op.operands[0].buffer, &from = op.operands[1].buffer;
  loop(extents_of(src), [&](const Values& at) {
    Values index = index_at(dst, at);
    Value value = converted(to->type, get(from, index_at(src, at)));
    std::optional<Value> cond;
    inside(dst, index, cond);
    auto write = [&] {
      if (to->scope == Scope::global) {
        b_.atomic(op_of_atomic(op.kind), l_.fresh("old"), roles::build::at(to, index), value);
        return;
      }
      Value old = get(to, index);
      put(to, index,
          op.kind == OpKind::atomic_add   ? old + value
          : op.kind == OpKind::atomic_max ? max(old, value)
                                          : min(old, value));
    };
    if (!cond) return write();
    b_.if_(*cond, write);
  });
}

}  // namespace plait::pipeline
