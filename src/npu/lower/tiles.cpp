#include "ir/build.h"
#include "npu/lower/elements.h"

// Copies, fills, transposes, atomics of tiles.
namespace plait::npu {

using namespace ir;

namespace {

Value both(const std::optional<Value>& a, const Value& b) { return a ? *a && b : b; }

}  // namespace

/// Adds that the element lies in the tensor.
void Elements::inside(const Side& side, const Values& index, std::optional<Value>& cond) {
  const Buffer& tensor = side.region->buffer;
  if (tensor->scope != Scope::global) return;
  for (std::size_t d = 0; d < index.size(); ++d) {
    const Range& range = side.region->ranges[d];
    auto begin = as_int(range.begin), extent = as_int(range.extent), all = as_int(tensor->shape[d]);
    if (begin && extent && all && *begin >= 0 && *begin + *extent <= *all) continue;
    cond = both(cond, index[d] < scalars_.index(tensor->shape[d]));
    if (!scalars_.is_least(range.begin, 0)) cond = both(cond, index[d] >= 0);
  }
}

/// Rows by a table: the first dimension that is walked along, or of one row that in front of the columns.
void Elements::map_rows(const CopyAttrs& attrs, const Side& mapped, const Values& at, Values& index,
                        std::optional<Value>& cond) {
  Side table = side(*attrs.rows);
  std::size_t rank = index.size();
  std::size_t dim = table.dims.empty() ? (rank < 2 ? 0 : rank - 2) : mapped.dims[0];
  Value row = b_.let(fresh("row"), as_type(DType::i32, read(attrs.rows->buffer, index_at(table, at))));
  Value begin = mapped.begin[dim];
  index[dim] = as_int(begin.expr()) == 0 ? row : begin + row;
  cond = both(cond, row >= 0);
  const Buffer& tensor = mapped.region->buffer;
  if (tensor->scope != Scope::global) return;
  cond = both(cond, index[dim] < scalars_.index(tensor->shape[dim]));
}

/// Adds that the element lies in the valid part of the tile.
void Elements::mask(const CopyAttrs& attrs, const Side& tile, const Values& at, std::optional<Value>& cond) {
  std::size_t rank = tile.extents.size();
  for (std::size_t n = 0; n < std::min(rank, attrs.valid.size()); ++n) {
    std::size_t d = rank - 1 - n;
    Value valid = scalars_.index(attrs.valid[attrs.valid.size() - 1 - n]);
    auto walked = std::find(tile.dims.begin(), tile.dims.end(), d);
    Value own = walked == tile.dims.end() ? Value(0) : at[static_cast<std::size_t>(walked - tile.dims.begin())];
    cond = both(cond, own < valid);
  }
}

void Elements::copy(const Stmt& stmt, const TileOp& op) {
  const CopyAttrs& attrs = std::get<CopyAttrs>(op.attrs);
  Side src = side(op.operands[0]), dst = side(op.operands[1]);
  if (!pairs(stmt, src, dst)) return;
  const Buffer &from = op.operands[0].buffer, &to = op.operands[1].buffer;
  bool stores = to->scope == Scope::global;
  loop(extents_of(stores ? src : dst), [&](const Values& at) {
    Values read_at = index_at(src, at), write_at = index_at(dst, at);
    std::optional<Value> readable, writable;
    if (attrs.rows && attrs.scatter) map_rows(attrs, dst, at, write_at, writable);
    if (attrs.rows && !attrs.scatter) map_rows(attrs, src, at, read_at, readable);
    inside(src, read_at, readable);
    inside(dst, write_at, writable);
    if (!attrs.valid.empty()) mask(attrs, stores ? src : dst, at, stores ? writable : readable);
    auto move = [&] {
      Value value = as_type(to->type, read(from, read_at));
      Value pad = attrs.pad == nullptr ? nothing_of(to->type) : as_type(to->type, this->value(attrs.pad));
      write(to, write_at, readable ? select(*readable, value, pad) : value);
    };
    if (!writable) return move();
    b_.if_(*writable, move);
  });
}

void Elements::fill(const TileOp& op) {
  Side dst = side(op.operands[0]);
  Value value = this->value(std::get<FillAttrs>(op.attrs).value);
  loop(extents_of(dst), [&](const Values& at) { write(dst.region->buffer, index_at(dst, at), value); });
}

/// The last two dimensions are exchanged; those before go with each other.
void Elements::transpose(const Stmt& stmt, const TileOp& op) {
  Side src = side(op.operands[0]), dst = side(op.operands[1]);
  auto split = [](Side& side) {
    std::size_t rank = side.extents.size();
    std::erase_if(side.dims, [&](std::size_t d) { return d + 2 >= rank; });
    side.dims.push_back(rank - 2);
    side.dims.push_back(rank - 1);
  };
  split(src);
  split(dst);
  if (op.operands[0].buffer == op.operands[1].buffer)
    return refuse(stmt, "a transpose of a tile to itself has no placement yet");
  if (!pairs(stmt, src, dst)) return;
  loop(extents_of(dst), [&](const Values& at) {
    Values turned = at;
    std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
    const Buffer& to = dst.region->buffer;
    write(to, index_at(dst, at), as_type(to->type, read(src.region->buffer, index_at(src, turned))));
  });
}

void Elements::atomic_tile(const Stmt& stmt, const TileOp& op) {
  Side dst = side(op.operands[0]), src = side(op.operands[1]);
  const Buffer &to = op.operands[0].buffer, &from = op.operands[1].buffer;
  if (to->scope == Scope::global && op.kind != OpKind::atomic_add)
    return refuse(stmt, "atomic_max and atomic_min on tensors have no placement");
  if (!pairs(stmt, src, dst)) return;
  loop(extents_of(src), [&](const Values& at) {
    Values index = index_at(dst, at);
    Value value = as_type(to->type, read(from, index_at(src, at)));
    std::optional<Value> cond;
    inside(dst, index, cond);
    auto add = [&] {
      if (to->scope == Scope::global) {
        b_.atomic_add(fresh("old"), roles::build::at(to, index), value);
        return;
      }
      Value old = read(to, index);
      write(to, index,
            op.kind == OpKind::atomic_add   ? old + value
            : op.kind == OpKind::atomic_max ? max(old, value)
                                            : min(old, value));
    };
    if (!cond) return add();
    b_.if_(*cond, add);
  });
}

}  // namespace plait::npu
