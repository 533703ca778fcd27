#include "ir/build.h"
#include "pipeline/threads.h"

// Products that threads compute by themselves.
namespace plait::pipeline {

using namespace ir;

namespace {

/// The dimension of A along which it is multiplied.
const Range& depth_of(const TileOp& op) {
  const std::vector<Range>& ranges = op.operands[0].ranges;
  return ranges[ranges.size() - (std::get<GemmAttrs>(op.attrs).trans_a ? 2 : 1)];
}

}  // namespace

/// sum + A[row, k]·B[k, column], one rounding.
Value Threads::multiplied(const TileOp& op, const Value& row, const Value& column, const Value& k, const Value& sum) {
  const GemmAttrs& attrs = std::get<GemmAttrs>(op.attrs);
  DType type = op.operands[2].buffer->type;
  auto factor = [&](const Region& region, const Value& first, const Value& second) {
    Values index = side(region).begin;
    std::size_t rank = index.size();
    index[rank - 2] = as_int(index[rank - 2].expr()) == 0 ? first : index[rank - 2] + first;
    index[rank - 1] = as_int(index[rank - 1].expr()) == 0 ? second : index[rank - 1] + second;
    return converted(type, get(region.buffer, index));
  };
  Value a = attrs.trans_a ? factor(op.operands[0], k, row) : factor(op.operands[0], row, k);
  Value b = attrs.trans_b ? factor(op.operands[1], column, k) : factor(op.operands[1], k, column);
  return ir::is_float(type) ? roles::build::call(Intrinsic::fma, {a, b, sum}) : sum + a * b;
}

void Threads::product(const TileOp& op) {
  const Buffer& to = op.operands[2].buffer;
  Side c = side(op.operands[2]);
  std::size_t rank = c.extents.size();
  c.dims = {rank - 2, rank - 1};
  Value depth = scalars_.index(depth_of(op).extent);
  loop(extents_of(c), [&](const Values& at) {
    Values index = index_at(c, at);
    bool clear = std::get<GemmAttrs>(op.attrs).clear_accum;
    Var sum = b_.var(l_.fresh("sum"), to->type, clear ? zero_of(to->type) : get(to, index));
    b_.loop(l_.fresh("k"), {0, depth}, [&](const Value& k) { b_.set(sum, multiplied(op, at[0], at[1], k, sum)); });
    put(to, index, sum);
  });
}

void Threads::each_product(const Stmt& stmt) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  const Buffer& to = op.operands[2].buffer;
  Lowering::Fragment acc = l_.fragment(to);
  std::int64_t rows = l_.own_rows(to);
  Lowering::BodyScope scope(l_);
  if (std::get<GemmAttrs>(op.attrs).clear_accum) l_.each(acc, [&](const Values&) { return zero_of(to->type); });
  b_.loop(l_.fresh("k"), {0, scalars_.index(depth_of(op).extent)}, [&](const Value& k) {
    l_.each(acc, [&](const Values& own) {
      return multiplied(op, l_.row_of(own[0], rows), own[1], k, roles::build::element(acc, own));
    });
  });
}

}  // namespace plait::pipeline
