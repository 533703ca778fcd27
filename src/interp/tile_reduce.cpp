#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "interp/tile.h"

namespace plait::interp {

using ir::BinaryOp;
using ir::DType;
using ir::OpKind;

namespace {

/// A tile seen as [outer, length, inner] around the reduced dimension, in row-major order.
struct Lines {
  std::int64_t outer = 1, length = 1, inner = 1;

  std::int64_t count() const { return outer * inner; }
  /// Position of element `k` of line `line`.
  std::size_t at(std::int64_t line, std::int64_t k) const {
    return static_cast<std::size_t>((line / inner * length + k) * inner + line % inner);
  }
};

Lines lines_along(const Box& box, int dim) {
  Lines lines;
  for (std::size_t d = 0; d < box.extents.size(); ++d) {
    const std::int64_t extent = box.extents[d];
    if (d < static_cast<std::size_t>(dim)) lines.outer *= extent;
    if (d == static_cast<std::size_t>(dim)) lines.length = extent;
    if (d > static_cast<std::size_t>(dim)) lines.inner *= extent;
  }
  return lines;
}

struct Operands {
  Box src, dst;
  Lines lines;
  std::vector<Value> in, out;
};

/// Reads the source; `out` gets room for the destination, which holds one element a line.
bool open(Machine& m, const TileCode& tile, int dim, Operands& operands) {
  if (!make_box(m, tile.operands[0], Outside::error, operands.src)) return false;
  if (!make_box(m, tile.operands[1], Outside::error, operands.dst)) return false;
  if (!gather(m, operands.src, operands.in) || !reserve(m, operands.dst, operands.out)) return false;
  operands.lines = lines_along(operands.src, dim);
  return true;
}

bool fits(Machine& m, const Operands& operands, std::int64_t wanted) {
  if (operands.dst.count() == wanted) return true;
  const Reach& reach = operands.dst.code->reach;
  return m.fail(reach.site, Rule::region_extent,
                fmt::format("{} results do not fit the {} elements of this part of {}", wanted, operands.dst.count(),
                            m.describe(reach.buffer)),
                reach.buffer);
}

/// How a reduction combines, and whether it takes absolute values.
struct Reduction {
  BinaryOp op = BinaryOp::add;
  bool absolute = false;
};

Reduction reduction_of(OpKind kind) {
  if (kind == OpKind::reduce_max) return {BinaryOp::max, false};
  if (kind == OpKind::reduce_min) return {BinaryOp::min, false};
  if (kind == OpKind::reduce_abssum) return {BinaryOp::add, true};
  if (kind == OpKind::reduce_absmax) return {BinaryOp::max, true};
  if (kind == OpKind::reduce_bitand) return {BinaryOp::bit_and, false};
  if (kind == OpKind::reduce_bitor) return {BinaryOp::bit_or, false};
  if (kind == OpKind::reduce_bitxor) return {BinaryOp::bit_xor, false};
  return {BinaryOp::add, false};
}

Value lowest(DType type) {
  if (ir::is_float(type)) return float_value(-std::numeric_limits<double>::infinity());
  if (!ir::is_signed_integer(type)) return int_value(0);
  return int_value(std::numeric_limits<std::int64_t>::min() >> (64 - ir::dtype_bits(type)));
}

Value highest(DType type) {
  if (ir::is_float(type)) return float_value(std::numeric_limits<double>::infinity());
  if (ir::is_bool(type)) return int_value(1);
  if (ir::is_signed_integer(type)) return int_value(~lowest(type).i);
  return int_value(ir::int_to_int(type, -1));
}

/// What an empty line reduces to.
Value neutral(const Reduction& reduction, DType type) {
  if (reduction.op == BinaryOp::min) return highest(type);
  if (reduction.op == BinaryOp::max && !reduction.absolute) return lowest(type);
  if (reduction.op == BinaryOp::bit_and) return ir::is_bool(type) ? int_value(1) : int_value(ir::int_to_int(type, -1));
  return int_value(0);
}

}  // namespace

/// In ascending order, in the type in which sums of the destination's type are kept.
bool run_reduce(Machine& m, const TileCode& tile) {
  const auto& attrs = std::get<ir::ReduceAttrs>(tile.op->attrs);
  Operands operands;
  if (!open(m, tile, attrs.dim, operands) || !fits(m, operands, operands.lines.count())) return false;
  if (!attrs.clear && !gather(m, operands.dst, operands.out)) return false;
  const Reduction reduction = reduction_of(tile.op->kind);
  const DType stored = operands.dst.type, type = sum_type(stored);
  for (std::int64_t line = 0; line < operands.lines.count(); ++line) {
    Value& out = operands.out[static_cast<std::size_t>(line)];
    Value sum = attrs.clear ? neutral(reduction, type) : out;
    for (std::int64_t k = 0; k < operands.lines.length; ++k) {
      const Value element = convert(operands.src.type, type, operands.in[operands.lines.at(line, k)]);
      sum = combine(reduction.op, type, sum, reduction.absolute ? absolute(type, element) : element);
    }
    out = convert(type, stored, sum);
  }
  return scatter(m, operands.dst, operands.out);
}

bool run_arg_reduce(Machine& m, const TileCode& tile) {
  Operands operands;
  if (!open(m, tile, std::get<ir::ReduceAttrs>(tile.op->attrs).dim, operands)) return false;
  if (!fits(m, operands, operands.lines.count())) return false;
  const bool want_max = tile.op->kind == OpKind::reduce_argmax;
  const DType type = operands.src.type;
  const auto is_nan = [type](Value v) { return ir::is_float(type) && std::isnan(v.f); };
  const auto beats = [&](Value challenger, Value best) {
    if (is_nan(best)) return false;
    return is_nan(challenger) || (want_max ? less(type, best, challenger) : less(type, challenger, best));
  };
  for (std::int64_t line = 0; line < operands.lines.count(); ++line) {
    std::int64_t best = 0;
    for (std::int64_t k = 1; k < operands.lines.length; ++k) {
      if (beats(operands.in[operands.lines.at(line, k)], operands.in[operands.lines.at(line, best)])) best = k;
    }
    operands.out[static_cast<std::size_t>(line)] = int_value(best);
  }
  return scatter(m, operands.dst, operands.out);
}

bool run_cumsum(Machine& m, const TileCode& tile) {
  const auto& attrs = std::get<ir::CumsumAttrs>(tile.op->attrs);
  Operands operands;
  if (!open(m, tile, attrs.dim, operands) || !same_shape(m, operands.src, operands.dst)) return false;
  const DType stored = operands.dst.type, type = sum_type(stored);
  const std::int64_t length = operands.lines.length;
  for (std::int64_t line = 0; line < operands.lines.count(); ++line) {
    Value sum = int_value(0);
    for (std::int64_t step = 0; step < length; ++step) {
      const std::size_t at = operands.lines.at(line, attrs.reverse ? length - 1 - step : step);
      sum = combine(BinaryOp::add, type, sum, convert(operands.src.type, type, operands.in[at]));
      operands.out[at] = convert(type, stored, sum);
    }
  }
  return scatter(m, operands.dst, operands.out);
}

}  // namespace plait::interp
