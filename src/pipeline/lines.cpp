#include <fmt/format.h>

#include <cmath>

#include "ir/build.h"
#include "ir/numeric.h"
#include "pipeline/threads.h"

namespace plait::pipeline {

using namespace ir;

namespace {

/// The type in which elements that are stored as `type` are summed.
DType sum_type(DType type) { return ir::is_float(type) && type != DType::f64 ? DType::f32 : type; }

Value made_binary(BinaryOp op, const Value& a, const Value& b) {
  Diagnostics diags;
  ExprRef made = make_binary(op, a.expr(), b.expr(), {}, diags);
  PLAIT_ASSERT(made != nullptr, "a reduction is built wrongly:\n" + diags.render());
  return made;
}

Value least(DType type) {
  if (ir::is_float(type)) return typed_literal(type, -INFINITY);
  if (!ir::is_signed_integer(type)) return typed_int(type, 0);
  return typed_int(type, INT64_MIN >> (64 - dtype_bits(type)));
}

Value greatest(DType type) {
  if (ir::is_float(type)) return typed_literal(type, INFINITY);
  if (ir::is_bool(type)) return typed_int(type, 1);
  if (ir::is_signed_integer(type)) return typed_int(type, ~(INT64_MIN >> (64 - dtype_bits(type))));
  return typed_int(type, int_to_int(type, -1));
}

}  // namespace

Combination combination_of(OpKind kind) {
  switch (kind) {
    case OpKind::reduce_max:
      return {BinaryOp::max, false};
    case OpKind::reduce_min:
      return {BinaryOp::min, false};
    case OpKind::reduce_abssum:
      return {BinaryOp::add, true};
    case OpKind::reduce_absmax:
      return {BinaryOp::max, true};
    case OpKind::reduce_bitand:
      return {BinaryOp::bit_and, false};
    case OpKind::reduce_bitor:
      return {BinaryOp::bit_or, false};
    case OpKind::reduce_bitxor:
      return {BinaryOp::bit_xor, false};
    default:
      return {BinaryOp::add, false};
  }
}

Value Combination::combine(const Value& a, const Value& b) const {
  return made_binary(op, a, absolute ? roles::build::call(Intrinsic::abs, {b}) : b);
}

Value Combination::neutral(DType type) const {
  if (op == BinaryOp::min) return greatest(type);
  if (op == BinaryOp::max && !absolute) return least(type);
  if (op == BinaryOp::bit_and) return ir::is_bool(type) ? typed_int(type, 1) : typed_int(type, int_to_int(type, -1));
  return zero_of(type);
}

// ---- Lines along a dimension ---------------------------------------------------------------------------------------

Threads::Lines Threads::lines(const Region& src, std::size_t dim) {
  Lines made{side(src), dim, 1};
  made.length = made.src.extents[dim];
  std::erase(made.src.dims, dim);
  return made;
}

/// Lines are shared out over the threads. A destination of other dimensions takes them in order.
void Threads::each_line(const Lines& lines, const Region& dst,
                        const std::function<void(const Values& line, const Values& to)>& fn) {
  Side to = side(dst);
  Values extents = extents_of(lines.src);
  if (to.dims.size() == lines.src.dims.size())
    return loop(extents, [&](const Values& at) { fn(at, index_at(to, at)); });
  loop(extents, [&](const Values& at) {
    Value number = at[0];
    for (std::size_t d = 1; d < at.size(); ++d) number = number * extents[d] + at[d];
    number = b_.let(l_.fresh("line"), number);
    Values own(to.dims.size(), Value(0));
    for (std::size_t d = own.size(); d-- > 0;) {
      Value extent = to.extents[to.dims[d]];
      own[d] = d == 0 ? number : number % extent;
      number = number / extent;
    }
    fn(at, index_at(to, own));
  });
}

Value Threads::line_element(const Lines& lines, const Values& line, const Value& k) {
  Values index = index_at(lines.src, line);
  index[lines.dim] = as_int(index[lines.dim].expr()) == 0 ? k : index[lines.dim] + k;
  return get(lines.src.region->buffer, index);
}

void Threads::reduce(const TileOp& op) {
  const auto& attrs = std::get<ReduceAttrs>(op.attrs);
  Combination how = combination_of(op.kind);
  const Buffer& to = op.operands[1].buffer;
  DType type = sum_type(to->type);
  Lines all = lines(op.operands[0], static_cast<std::size_t>(attrs.dim));
  each_line(all, op.operands[1], [&](const Values& line, const Values& index) {
    Value first = attrs.clear ? how.neutral(type) : converted(type, get(to, index));
    Var sum = b_.var(l_.fresh("sum"), type, first);
    b_.loop(l_.fresh("k"), {0, all.length},
            [&](const Value& k) { b_.set(sum, how.combine(sum, converted(type, line_element(all, line, k)))); });
    put(to, index, converted(to->type, sum));
  });
}

/// The lowest index of the extreme element; a NaN wins over every number.
void Threads::arg_reduce(const TileOp& op) {
  const Buffer &from = op.operands[0].buffer, &to = op.operands[1].buffer;
  Lines all = lines(op.operands[0], static_cast<std::size_t>(std::get<ReduceAttrs>(op.attrs).dim));
  each_line(all, op.operands[1], [&](const Values& line, const Values& index) {
    Var best = b_.var(l_.fresh("best"), DType::i32, 0);
    Var top = b_.var(l_.fresh("top"), from->type, line_element(all, line, 0));
    b_.loop(l_.fresh("k"), {1, all.length}, [&](const Value& k) {
      Lowering::BodyScope scope(l_);
      Value next = b_.let(l_.fresh("next"), line_element(all, line, k));
      Value beats = op.kind == OpKind::reduce_argmax ? next > Value(top) : next < Value(top);
      if (ir::is_float(from->type)) {
        auto is_nan = [](const Value& v) { return roles::build::call(Intrinsic::isnan, {v}); };
        beats = !is_nan(top) && (is_nan(next) || beats);
      }
      b_.if_(beats, [&] {
        b_.set(best, k);
        b_.set(top, next);
      });
    });
    put(to, index, converted(to->type, best));
  });
}

void Threads::cumsum(const Stmt& stmt, const TileOp& op) {
  const auto& attrs = std::get<CumsumAttrs>(op.attrs);
  const Buffer& to = op.operands[1].buffer;
  auto dim = static_cast<std::size_t>(attrs.dim);
  DType type = sum_type(to->type);
  bool in_place = op.operands[0].buffer == to && place::is_whole(op.operands[0]) && place::is_whole(op.operands[1]);
  if (!in_place && !apart(stmt, op)) return;
  Lines all = lines(op.operands[0], dim);
  Side dst = side(op.operands[1]);
  if (dst.extents.size() != all.src.extents.size()) {
    l_.diags_.error(Rule::place_operation, stmt.loc, "cumsum between tiles of different ranks has no placement yet");
    return;
  }
  std::erase(dst.dims, dim);
  if (!pairs(stmt, all.src, dst)) return;
  loop(extents_of(all.src), [&](const Values& line) {
    Var sum = b_.var(l_.fresh("sum"), type, zero_of(type));
    b_.loop(l_.fresh("k"), {0, all.length}, [&](const Value& step) {
      Value k = attrs.reverse ? all.length - 1 - step : step;
      b_.set(sum, Value(sum) + converted(type, line_element(all, line, k)));
      Values index = index_at(dst, line);
      index[dim] = as_int(index[dim].expr()) == 0 ? k : index[dim] + k;
      put(to, index, converted(to->type, sum));
    });
  });
}

// ---- Products ------------------------------------------------------------------------------------------------------

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

namespace {

/// The dimension of A along which it is multiplied.
const Range& depth_of(const TileOp& op) {
  const std::vector<Range>& ranges = op.operands[0].ranges;
  return ranges[ranges.size() - (std::get<GemmAttrs>(op.attrs).trans_a ? 2 : 1)];
}

}  // namespace

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
