#include "ir/build.h"
#include "npu/lower/elements.h"
#include "pipeline/threads.h"

// Products, reductions, running sums: each lane does lines of its own, ascending.
namespace plait::npu {

using namespace ir;

namespace {

/// The type in which elements that are stored as `type` are summed.
DType sum_type(DType type) { return ir::is_float(type) && type != DType::f64 ? DType::f32 : type; }

}  // namespace

void Elements::product(const TileOp& op) {
  const GemmAttrs& attrs = std::get<GemmAttrs>(op.attrs);
  const Buffer& to = op.operands[2].buffer;
  Side a = side(op.operands[0]), b = side(op.operands[1]), c = side(op.operands[2]);
  std::size_t rank = c.extents.size(), depth = a.extents.size() - (attrs.trans_a ? 2 : 1);
  c.dims = {rank - 2, rank - 1};
  auto factor = [&](const Side& of, const Value& first, const Value& second) {
    Side last = of;
    last.dims = {of.extents.size() - 2, of.extents.size() - 1};
    return as_type(to->type, read(of.region->buffer, index_at(last, {first, second})));
  };
  loop(extents_of(c), [&](const Values& at) {
    Values index = index_at(c, at);
    Var sum = b_.var(fresh("sum"), to->type, attrs.clear_accum ? nothing_of(to->type) : read(to, index));
    b_.loop(fresh("k"), {0, a.extents[depth]}, [&](const Value& k) {
      Value x = attrs.trans_a ? factor(a, k, at[0]) : factor(a, at[0], k);
      Value y = attrs.trans_b ? factor(b, at[1], k) : factor(b, k, at[1]);
      b_.set(sum, ir::is_float(to->type) ? roles::build::call(Intrinsic::fma, {x, y, sum}) : Value(sum) + x * y);
    });
    write(to, index, sum);
  });
}

/// The element k of a line along `dim`; `src` walks along the others.
Values Elements::line_of(const Side& src, std::size_t dim, const Values& line, const Value& k) const {
  Values index = index_at(src, line);
  index[dim] = as_int(index[dim].expr()) == 0 ? k : index[dim] + k;
  return index;
}

/// A destination of other dimensions takes the lines in order.
void Elements::each_line(const Side& src, const Region& dst,
                         const std::function<void(const Values& line, const Values& to)>& fn) {
  Side to = side(dst);
  Values extents = extents_of(src);
  if (to.dims.size() == src.dims.size()) return loop(extents, [&](const Values& at) { fn(at, index_at(to, at)); });
  loop(extents, [&](const Values& at) {
    Value number = at[0];
    for (std::size_t d = 1; d < at.size(); ++d) number = number * extents[d] + at[d];
    number = b_.let(fresh("line"), number);
    Values own(to.dims.size(), Value(0));
    for (std::size_t d = own.size(); d-- > 0;) {
      Value extent = to.extents[to.dims[d]];
      own[d] = d == 0 ? number : number % extent;
      number = number / extent;
    }
    fn(at, index_at(to, own));
  });
}

void Elements::reduce(const TileOp& op) {
  const auto& attrs = std::get<ReduceAttrs>(op.attrs);
  pipeline::Combination how = pipeline::combination_of(op.kind);
  const Buffer &from = op.operands[0].buffer, &to = op.operands[1].buffer;
  DType type = sum_type(to->type);
  auto dim = static_cast<std::size_t>(attrs.dim);
  Side src = side(op.operands[0]);
  Value length = src.extents[dim];
  std::erase(src.dims, dim);
  each_line(src, op.operands[1], [&](const Values& line, const Values& index) {
    Value first = attrs.clear ? how.neutral(type) : as_type(type, read(to, index));
    Var sum = b_.var(fresh("sum"), type, first);
    b_.loop(fresh("k"), {0, length}, [&](const Value& k) {
      b_.set(sum, how.combine(sum, as_type(type, read(from, line_of(src, dim, line, k)))));
    });
    write(to, index, as_type(to->type, sum));
  });
}

/// The lowest index of the extreme element; a NaN wins over every number.
void Elements::arg_reduce(const TileOp& op) {
  const Buffer &from = op.operands[0].buffer, &to = op.operands[1].buffer;
  auto dim = static_cast<std::size_t>(std::get<ReduceAttrs>(op.attrs).dim);
  Side src = side(op.operands[0]);
  Value length = src.extents[dim];
  std::erase(src.dims, dim);
  each_line(src, op.operands[1], [&](const Values& line, const Values& index) {
    Var best = b_.var(fresh("best"), DType::i32, 0);
    Var top = b_.var(fresh("top"), from->type, read(from, line_of(src, dim, line, 0)));
    b_.loop(fresh("k"), {1, length}, [&](const Value& k) {
      pipeline::OpenBody scope(scalars_, names_);
      Value next = b_.let(fresh("next"), read(from, line_of(src, dim, line, k)));
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
    write(to, index, as_type(to->type, best));
  });
}

void Elements::cumsum(const Stmt& stmt, const TileOp& op) {
  const auto& attrs = std::get<CumsumAttrs>(op.attrs);
  const Buffer &from = op.operands[0].buffer, &to = op.operands[1].buffer;
  auto dim = static_cast<std::size_t>(attrs.dim);
  DType type = sum_type(to->type);
  Side src = side(op.operands[0]), dst = side(op.operands[1]);
  if (dst.extents.size() != src.extents.size())
    return refuse(stmt, "cumsum between tiles of different ranks has no placement yet");
  Value length = src.extents[dim];
  std::erase(src.dims, dim);
  std::erase(dst.dims, dim);
  if (!pairs(stmt, src, dst)) return;
  loop(extents_of(src), [&](const Values& line) {
    Var sum = b_.var(fresh("sum"), type, nothing_of(type));
    b_.loop(fresh("k"), {0, length}, [&](const Value& step) {
      Value k = attrs.reverse ? length - 1 - step : step;
      b_.set(sum, Value(sum) + as_type(type, read(from, line_of(src, dim, line, k))));
      write(to, line_of(dst, dim, line, k), as_type(to->type, sum));
    });
  });
}

}  // namespace plait::npu
