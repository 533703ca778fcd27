#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "verify/context.h"

namespace plait::verify {
namespace {

using namespace ir;

std::vector<ExprRef> extents(const Region& region) {
  std::vector<ExprRef> out;
  for (const Range& range : region.ranges) out.push_back(range.extent);
  return out;
}

/// Extents that are not the literal 1: what a tile's shape is once a plain index has chosen its place.
std::vector<ExprRef> proper_extents(const Region& region) {
  std::vector<ExprRef> out;
  for (const Range& range : region.ranges) {
    if (as_int(range.extent) != std::optional<std::int64_t>(1)) out.push_back(range.extent);
  }
  return out;
}

/// False only when both are literals and differ: other extents are compared when the program runs.
bool may_equal(const ExprRef& a, const ExprRef& b) {
  std::optional<std::int64_t> x = as_int(a), y = as_int(b);
  return !x || !y || *x == *y;
}

bool may_equal(const std::vector<ExprRef>& a, const std::vector<ExprRef>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) { return may_equal(x, y); });
}

bool on_chip_tile(const Region& region) {
  return region.buffer->scope == ir::Scope::shared || region.buffer->scope == ir::Scope::fragment;
}

const Loc& place(const Region& region, const Loc& loc) { return region.loc.known() ? region.loc : loc; }

bool require_on_chip(const Region& region, std::string_view role, const Loc& loc, Context& context) {
  if (on_chip_tile(region)) return true;
  context.diags.error(Rule::operand_scope, place(region, loc),
                      fmt::format("{} '{}' is {} memory, not shared or fragment", role, region.buffer->name,
                                  scope_name(region.buffer->scope)));
  return false;
}

bool refuse_local(const Region& region, const Loc& loc, Context& context) {
  if (region.buffer->scope != ir::Scope::local) return false;
  context.diags.error(Rule::operand_scope, place(region, loc),
                      fmt::format("'{}' is a local buffer; tile operations work on global, shared and fragment buffers",
                                  region.buffer->name),
                      "read and write local buffers element by element");
  return true;
}

/// Two operands in one buffer: allowed only where literal ranges keep them apart.
bool may_overlap(const Region& a, const Region& b) {
  if (a.buffer != b.buffer) return false;
  for (std::size_t d = 0; d < a.ranges.size() && d < b.ranges.size(); ++d) {
    auto a0 = as_int(a.ranges[d].begin), an = as_int(a.ranges[d].extent), b0 = as_int(b.ranges[d].begin),
         bn = as_int(b.ranges[d].extent);
    if (a0 && an && b0 && bn && (*a0 + *an <= *b0 || *b0 + *bn <= *a0)) return false;
  }
  return true;
}

void refuse_alias(const TileOp& op, std::size_t written, std::size_t read, const Loc& loc, Context& context) {
  const Region &w = op.operands[written], &r = op.operands[read];
  if (may_overlap(w, r)) {
    context.diags.error(Rule::operand_alias, place(w, loc),
                        fmt::format("{} reads and writes '{}'", op_info(op.kind).name, w.buffer->name));
  }
}

// ---- copy, transpose, fill, atomics --------------------------------------------------------------------------------

void check_pair_shape(const TileOp& op, const Loc& loc, Context& context) {
  const Region &a = op.operands[0], &b = op.operands[1];
  if (!may_equal(proper_extents(a), proper_extents(b))) {
    context.diags.error(Rule::tile_shape, loc,
                        fmt::format("{}: '{}' is {}, '{}' is {}", op_info(op.kind).name, a.buffer->name,
                                    extents_text(extents(a)), b.buffer->name, extents_text(extents(b))));
  }
}

void check_rows(const TileOp& op, const CopyAttrs& attrs, const Loc& loc, Context& context) {
  if (!attrs.rows) return;
  const Region& rows = *attrs.rows;
  const Region& global = op.operands[attrs.scatter ? 1 : 0];
  const Region& tile = op.operands[attrs.scatter ? 0 : 1];
  if (global.buffer->scope != ir::Scope::global) {
    context.diags.error(Rule::copy_rows, loc,
                        fmt::format("`rows` maps rows of a global tensor, and '{}' is {} memory", global.buffer->name,
                                    scope_name(global.buffer->scope)));
    return;
  }
  if (!is_integer(rows.buffer->type) || rows.buffer->scope == ir::Scope::global || proper_extents(rows).size() > 1) {
    context.diags.error(Rule::copy_rows, place(rows, loc),
                        fmt::format("'{}' is {} {} {}", rows.buffer->name, scope_name(rows.buffer->scope),
                                    dtype_name(rows.buffer->type), extents_text(extents(rows))));
    return;
  }
  std::vector<ExprRef> shape = proper_extents(tile);
  std::vector<ExprRef> entries = proper_extents(rows);
  if (!shape.empty() && !entries.empty() && !may_equal(shape[0], entries[0])) {
    context.diags.error(Rule::copy_rows, place(rows, loc),
                        fmt::format("'{}' has {} entries for a tile of {}", rows.buffer->name, extents_text(entries),
                                    extents_text(extents(tile))));
  }
}

void check_copy(const TileOp& op, const CopyAttrs& attrs, const Loc& loc, Context& context) {
  for (const Region& region : op.operands) {
    if (refuse_local(region, loc, context)) return;
  }
  check_pair_shape(op, loc, context);
  check_rows(op, attrs, loc, context);
  if (attrs.valid.size() > std::max(op.operands[0].ranges.size(), op.operands[1].ranges.size())) {
    context.diags.error(Rule::copy_valid, loc,
                        fmt::format("`valid` has {} extents for a tile of {}", attrs.valid.size(),
                                    extents_text(extents(op.operands[0]))));
  }
}

void check_transpose(const TileOp& op, const Loc& loc, Context& context) {
  const Region &a = op.operands[0], &b = op.operands[1];
  if (refuse_local(a, loc, context) || refuse_local(b, loc, context)) return;
  refuse_alias(op, 1, 0, loc, context);
  auto from = extents(a), to = extents(b);
  auto lead = [](std::vector<ExprRef>& list) {
    while (list.size() > 2 && as_int(list.front()) == std::optional<std::int64_t>(1)) list.erase(list.begin());
  };
  lead(from);
  lead(to);
  if (from.size() != 2 || to.size() != 2 || !may_equal(from[0], to[1]) || !may_equal(from[1], to[0])) {
    context.diags.error(Rule::tile_shape, loc,
                        fmt::format("transpose: '{}' is {}, '{}' is {}", a.buffer->name, extents_text(extents(a)),
                                    b.buffer->name, extents_text(extents(b))),
                        "transpose takes an m x n tile to an n x m tile");
  }
}

void check_atomic(const TileOp& op, const Loc& loc, Context& context) {
  const Region &dst = op.operands[0], &src = op.operands[1];
  if (refuse_local(dst, loc, context) || refuse_local(src, loc, context)) return;
  check_pair_shape(op, loc, context);
  refuse_alias(op, 0, 1, loc, context);
  DType from = src.buffer->type, to = dst.buffer->type;
  if (common_type(from, to) != std::optional<DType>(to) && !(is_float(from) && is_float(to))) {
    context.diags.error(Rule::tile_type, loc,
                        fmt::format("{} of {} into {}", op_info(op.kind).name, dtype_name(from), dtype_name(to)));
  }
}

// ---- gemm ----------------------------------------------------------------------------------------------------------

std::optional<DType> accumulator_type(DType a, DType b) {
  bool bytes = (a == DType::e4m3 || a == DType::e5m2) && (b == DType::e4m3 || b == DType::e5m2);
  if (a != b && !bytes) return std::nullopt;
  if (a == DType::f64) return DType::f64;
  if (is_float(a)) return DType::f32;
  if (is_integer(a) && dtype_bits(a) <= 8) return DType::i32;
  return std::nullopt;
}

void check_gemm_types(const TileOp& op, const Loc& loc, Context& context) {
  DType a = op.operands[0].buffer->type, b = op.operands[1].buffer->type, c = op.operands[2].buffer->type;
  std::optional<DType> wanted = accumulator_type(a, b);
  if (!wanted) {
    context.diags.error(
        Rule::gemm_type, loc, fmt::format("gemm of {} and {}", dtype_name(a), dtype_name(b)),
        "convert both operands to one of f64, f32, tf32, f16, bf16, 8-bit floats or integers of at most 8 bits");
  } else if (*wanted != c) {
    context.diags.error(
        Rule::gemm_type, loc,
        fmt::format("gemm of {} and {} into an accumulator of type {}", dtype_name(a), dtype_name(b), dtype_name(c)),
        fmt::format("make the accumulator '{}' {}", op.operands[2].buffer->name, dtype_name(*wanted)));
  }
}

/// The last two extents; leading ones may stand before them.
std::optional<std::pair<ExprRef, ExprRef>> matrix(const Region& region) {
  std::vector<ExprRef> shape = extents(region);
  if (shape.size() < 2) return std::nullopt;
  for (std::size_t d = 0; d + 2 < shape.size(); ++d) {
    if (as_int(shape[d]) != std::optional<std::int64_t>(1)) return std::nullopt;
  }
  return std::make_pair(shape[shape.size() - 2], shape.back());
}

void check_gemm(const TileOp& op, const GemmAttrs& attrs, const Loc& loc, Context& context) {
  const Region &a = op.operands[0], &b = op.operands[1], &c = op.operands[2];
  bool reachable = require_on_chip(a, "operand", loc, context);
  reachable = require_on_chip(b, "operand", loc, context) && reachable;
  reachable = require_on_chip(c, "accumulator", loc, context) && reachable;
  if (!reachable) return;
  check_gemm_types(op, loc, context);
  refuse_alias(op, 2, 0, loc, context);
  refuse_alias(op, 2, 1, loc, context);
  auto am = matrix(a), bm = matrix(b), cm = matrix(c);
  bool fits = am && bm && cm;
  if (fits) {
    if (attrs.trans_a) std::swap(am->first, am->second);
    if (attrs.trans_b) std::swap(bm->first, bm->second);
    fits = may_equal(am->first, cm->first) && may_equal(am->second, bm->first) && may_equal(bm->second, cm->second);
  }
  if (!fits) {
    context.diags.error(Rule::gemm_shape, loc,
                        fmt::format("gemm shapes do not fit: A '{}' is {}{}, B '{}' is {}{}, C '{}' is {}",
                                    a.buffer->name, extents_text(extents(a)), attrs.trans_a ? " transposed" : "",
                                    b.buffer->name, extents_text(extents(b)), attrs.trans_b ? " transposed" : "",
                                    c.buffer->name, extents_text(extents(c))));
  }
}

// ---- reductions and running sums -----------------------------------------------------------------------------------

bool check_dim(const TileOp& op, int dim, const Loc& loc, Context& context) {
  auto rank = static_cast<int>(op.operands[0].ranges.size());
  if (dim >= 0 && dim < rank) return true;
  context.diags.error(Rule::reduce_dim, loc,
                      fmt::format("{} along dim {} of '{}', which has rank {}", op_info(op.kind).name, dim,
                                  op.operands[0].buffer->name, rank));
  return false;
}

void check_reduce_types(const TileOp& op, const Loc& loc, Context& context) {
  DType from = op.operands[0].buffer->type, to = op.operands[1].buffer->type;
  bool index = op.kind == OpKind::reduce_argmax || op.kind == OpKind::reduce_argmin;
  bool bits = op.kind == OpKind::reduce_bitand || op.kind == OpKind::reduce_bitor || op.kind == OpKind::reduce_bitxor;
  bool fits = index ? (to == DType::i32 || to == DType::i64) && !is_bool(from)
                    : common_type(from, to) == std::optional<DType>(to);
  if (bits) fits = fits && is_integer(from);
  if (!index && is_bool(from)) fits = false;
  if (!fits) {
    context.diags.error(
        Rule::tile_type, loc, fmt::format("{} of {} into {}", op_info(op.kind).name, dtype_name(from), dtype_name(to)),
        index ? "argmax and argmin give i32 or i64" : "reduce into a type that holds every value of the source's type");
  }
}

void check_reduce(const TileOp& op, const ReduceAttrs& attrs, const Loc& loc, Context& context) {
  const Region &src = op.operands[0], &dst = op.operands[1];
  bool reachable = require_on_chip(src, "source", loc, context);
  reachable = require_on_chip(dst, "result", loc, context) && reachable;
  if (!reachable || !check_dim(op, attrs.dim, loc, context)) return;
  check_reduce_types(op, loc, context);
  refuse_alias(op, 1, 0, loc, context);
  std::vector<ExprRef> wanted = extents(src), got = extents(dst);
  std::vector<ExprRef> kept = wanted;
  wanted.erase(wanted.begin() + attrs.dim);
  kept[static_cast<std::size_t>(attrs.dim)] = typed_int(DType::i64, 1);
  bool one = wanted.empty() && got.size() == 1 && may_equal(got[0], typed_int(DType::i64, 1));
  if (!one && !may_equal(wanted, got) && !may_equal(kept, got)) {
    context.diags.error(Rule::reduce_shape, loc,
                        fmt::format("{} of '{}' ({}) along dim {} gives {}, and '{}' is {}", op_info(op.kind).name,
                                    src.buffer->name, extents_text(extents(src)), attrs.dim,
                                    extents_text(wanted.empty() ? kept : wanted), dst.buffer->name, extents_text(got)));
  }
}

void check_cumsum(const TileOp& op, const CumsumAttrs& attrs, const Loc& loc, Context& context) {
  const Region &src = op.operands[0], &dst = op.operands[1];
  bool reachable = require_on_chip(src, "source", loc, context);
  reachable = require_on_chip(dst, "result", loc, context) && reachable;
  if (!reachable || !check_dim(op, attrs.dim, loc, context)) return;
  if (!may_equal(extents(src), extents(dst))) {
    context.diags.error(Rule::tile_shape, loc,
                        fmt::format("cumsum: '{}' is {}, '{}' is {}", src.buffer->name, extents_text(extents(src)),
                                    dst.buffer->name, extents_text(extents(dst))));
  }
  DType from = src.buffer->type, to = dst.buffer->type;
  if (is_bool(from) || common_type(from, to) != std::optional<DType>(to)) {
    context.diags.error(Rule::tile_type, loc, fmt::format("cumsum of {} into {}", dtype_name(from), dtype_name(to)),
                        "sum into a type that holds every value of the source's type");
  }
}

}  // namespace

void check_tile_op(const TileOp& op, const Loc& loc, Context& context) {
  switch (op.kind) {
    case OpKind::copy:
      check_copy(op, std::get<CopyAttrs>(op.attrs), loc, context);
      break;
    case OpKind::fill:
      refuse_local(op.operands[0], loc, context);
      break;
    case OpKind::gemm:
      check_gemm(op, std::get<GemmAttrs>(op.attrs), loc, context);
      break;
    case OpKind::reduce_sum:
    case OpKind::reduce_max:
    case OpKind::reduce_min:
    case OpKind::reduce_abssum:
    case OpKind::reduce_absmax:
    case OpKind::reduce_bitand:
    case OpKind::reduce_bitor:
    case OpKind::reduce_bitxor:
    case OpKind::reduce_argmax:
    case OpKind::reduce_argmin:
      check_reduce(op, std::get<ReduceAttrs>(op.attrs), loc, context);
      break;
    case OpKind::cumsum:
      check_cumsum(op, std::get<CumsumAttrs>(op.attrs), loc, context);
      break;
    case OpKind::transpose:
      check_transpose(op, loc, context);
      break;
    case OpKind::atomic_add:
    case OpKind::atomic_max:
    case OpKind::atomic_min:
      check_atomic(op, loc, context);
      break;
  }
}

}  // namespace plait::verify
