#include "ir/build.h"
#include "pipeline/lowering.h"

namespace plait::pipeline {

using namespace ir;
using roles::build::at;

roles::CacheHint hint_of(const TileOp& op) {
  switch (std::get<CopyAttrs>(op.attrs).cache) {
    case CacheHint::none:
      return roles::CacheHint::none;
    case CacheHint::evict_first:
      return roles::CacheHint::evict_first;
    case CacheHint::evict_last:
      return roles::CacheHint::evict_last;
  }
  return roles::CacheHint::none;
}

/// Where the replica's part of a tile starts in a tensor.
Values Lowering::origin_of(const Region& region, const TileDims& dims, const Buffer& fragment) {
  Values begin;
  for (const Range& range : region.ranges) begin.push_back(scalars_.index(range.begin));
  std::size_t row = dims.of.size() > 1 ? dims.row() : dims.of.front();
  if (sharing(fragment) > 1) begin[row] = begin[row] + Value(b_.builtins().replica) * own_rows(fragment);
  return begin;
}

/// Registers to a tensor, each thread what it owns.
void Lowering::store_elements(const Stmt& stmt) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  const Buffer &from = op.operands[0].buffer, &to = op.operands[1].buffer;
  Fragment src = fragment(from);
  if (from->type != to->type) {
    Fragment converted = like(src, from->name + "_" + std::string(dtype_name(to->type)), to->type);
    each(converted, src);
    src = converted;
  }
  if (to->scope != Scope::global) {
    std::int64_t rows = own_rows(from);
    Value first = placed_.replicas == 1 ? Value(0) : Value(b_.builtins().replica) * rows;
    Values place = from->shape.size() == 1 ? Values{first} : Values{first, 0};
    return b_.add(roles::StoreShared{place_of(to, place), src});
  }
  TileDims dims = tile_dims(op.operands[1], static_shape(*from));
  b_.add(roles::StoreTensor{at(to, origin_of(op.operands[1], dims, from)), src, hint_of(op)});
}

void Lowering::load_elements(const Stmt& stmt) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  const Region& src = op.operands[0];
  const Buffer& to = op.operands[1].buffer;
  Fragment dst = fragment(to), into = dst;
  if (src.buffer->type != to->type)
    into = like(dst, to->name + "_" + std::string(dtype_name(src.buffer->type)), src.buffer->type);
  TileDims dims = tile_dims(src, static_shape(*to));
  Values begin = origin_of(src, dims, to);
  if (src.buffer->scope == Scope::global) {
    const ExprRef& pad = std::get<CopyAttrs>(op.attrs).pad;
    b_.add(roles::LoadTensor{into, at(src.buffer, begin), hint_of(op),
                             place::is_zero(pad) ? nullptr : place::pad_as(src.buffer->type, pad)});
  } else {
    b_.add(roles::LoadShared{into, place_of(src.buffer, begin)});
  }
  if (into != dst) each(dst, into);
}

}  // namespace plait::pipeline
