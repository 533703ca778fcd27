#include "ir/build.h"
#include "pipeline/threads.h"

namespace plait::pipeline {

using namespace ir;

namespace {

/// The type in which elements that are stored as `type` are summed.
DType sum_type(DType type) { return ir::is_float(type) && type != DType::f64 ? DType::f32 : type; }

}  // namespace

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
  bool in_place = op.operands[0].buffer == to && is_whole(op.operands[0]) && is_whole(op.operands[1]);
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

}  // namespace plait::pipeline
