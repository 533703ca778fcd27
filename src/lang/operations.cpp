#include "lang/operations.h"

#include <fmt/format.h>

#include "ir/kernel.h"
#include "lang/elaborator.h"

namespace plait::lang {
namespace {

using ir::ExprRef;
using ir::Region;
using ir::RegionSpec;
using ir::StmtRef;

/// Elements of one on-chip buffer: far above any machine, and products of extents stay exact.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
constexpr std::int64_t kMaxPad = 1 << 20;
constexpr std::int64_t kMaxCycles = std::int64_t{1} << 40;

StmtRef tile_op(ir::OpKind kind, std::vector<Region> operands, ir::OpAttrs attrs, Loc loc) {
  return ir::make_stmt(ir::TileOp{kind, std::move(operands), std::move(attrs)}, std::move(loc));
}

StmtRef pair_op(ir::OpKind kind, const RegionSpec& a, const RegionSpec& b, ir::OpAttrs attrs, Loc loc,
                Diagnostics& diags) {
  auto pair = ir::resolve_pair(a, b, kind == ir::OpKind::transpose, diags);
  if (!pair) return nullptr;
  return tile_op(kind, {std::move(pair->first), std::move(pair->second)}, std::move(attrs), std::move(loc));
}

ExprRef zero(ir::DType type, const Loc& loc) {
  if (ir::is_bool(type)) return ir::bool_literal(false, loc);
  return ir::is_float(type) ? ir::typed_literal(type, 0, loc) : ir::typed_int(type, 0, loc);
}

/// Extent of the mapped dimension: the first that is not one element.
ExprRef row_extent(const Region& side) {
  for (const ir::Range& range : side.ranges) {
    if (ir::as_int(range.extent) != 1) return range.extent;
  }
  return side.ranges.empty() ? nullptr : side.ranges.front().extent;
}

std::optional<Region> resolve_rows(RegionSpec rows, const Region& mapped, Diagnostics& diags) {
  for (RegionSpec::Dim& dim : rows.dims) {
    if (dim.begin != nullptr && dim.extent == nullptr) dim.extent = row_extent(mapped);
  }
  return ir::resolve_alone(rows, diags);
}

/// A dimension counted from either end as one counted from 0.
std::optional<int> checked_dim(std::int64_t dim, std::size_t rank, const Loc& loc, Diagnostics& diags) {
  auto n = static_cast<std::int64_t>(rank);
  if (dim < -n || dim >= n) {
    diags.error(Rule::attribute_value, loc, fmt::format("dim={} is not a dimension of a {}-D tile", dim, n),
                fmt::format("dim is between 0 and {}", n - 1));
    return std::nullopt;
  }
  return static_cast<int>(dim < 0 ? dim + n : dim);
}

ir::AtomicOp atomic_op(ir::OpKind kind) {
  if (kind == ir::OpKind::atomic_max) return ir::AtomicOp::max;
  return kind == ir::OpKind::atomic_min ? ir::AtomicOp::min : ir::AtomicOp::add;
}

std::size_t placeholders(const std::string& format) {
  std::size_t count = 0;
  for (std::size_t at = format.find("{}"); at != std::string::npos; at = format.find("{}", at + 2)) ++count;
  return count;
}

bool check_layout(const AllocInput& in, const Loc& loc, Diagnostics& diags) {
  const ir::LayoutHint& layout = in.layout;
  if (layout.kind == ir::LayoutKind::swizzle && layout.swizzle_bytes != 32 && layout.swizzle_bytes != 64 &&
      layout.swizzle_bytes != 128) {
    diags.error(Rule::alloc_clause, loc,
                fmt::format("swizzle({}) of `{}`: a swizzle spans 32, 64 or 128 bytes", layout.swizzle_bytes, in.name));
    return false;
  }
  if (layout.kind == ir::LayoutKind::strided && layout.strides.size() != in.shape.size()) {
    diags.error(Rule::alloc_clause, loc,
                fmt::format("strided layout of `{}` has {} strides for {} dimensions", in.name, layout.strides.size(),
                            in.shape.size()));
    return false;
  }
  for (std::int64_t stride : layout.strides) {
    if (stride >= 0 && stride <= kMaxElements) continue;
    diags.error(Rule::alloc_clause, loc, fmt::format("stride {} of `{}` is out of range", stride, in.name));
    return false;
  }
  if (in.pad >= 0 && in.pad <= kMaxPad) return true;
  diags.error(Rule::alloc_clause, loc, fmt::format("pad {} of `{}` is not between 0 and {}", in.pad, in.name, kMaxPad));
  return false;
}

}  // namespace

ExprRef to_i64(const ExprRef& e, Diagnostics& diags) {
  return e == nullptr ? nullptr : ir::convert_for_store(ir::DType::i64, e, e->loc, diags);
}

StmtRef make_copy(const RegionSpec& src, const RegionSpec& dst, const CopyInput& in, Loc loc, Diagnostics& diags) {
  auto pair = ir::resolve_pair(src, dst, false, diags);
  if (!pair) return nullptr;
  ir::CopyAttrs attrs;
  attrs.cache = in.cache;
  if (in.rows) {
    attrs.scatter = in.row_side == RowSide::destination ||
                    (in.row_side == RowSide::automatic && dst.buffer->scope == ir::Scope::global &&
                     src.buffer->scope != ir::Scope::global);
    attrs.rows = resolve_rows(*in.rows, attrs.scatter ? pair->second : pair->first, diags);
    if (!attrs.rows) return nullptr;
  }
  for (const ExprRef& extent : in.valid) {
    attrs.valid.push_back(to_i64(extent, diags));
    if (attrs.valid.back() == nullptr) return nullptr;
  }
  if (in.pad != nullptr) {
    attrs.pad = ir::convert_for_store(dst.buffer->type, in.pad, in.pad->loc, diags);
    if (attrs.pad == nullptr) return nullptr;
  }
  return tile_op(ir::OpKind::copy, {std::move(pair->first), std::move(pair->second)}, std::move(attrs), std::move(loc));
}

StmtRef make_fill(const RegionSpec& dst, const ExprRef& value, Loc loc, Diagnostics& diags) {
  auto region = ir::resolve_alone(dst, diags);
  ExprRef converted = value == nullptr ? nullptr : ir::convert_for_store(dst.buffer->type, value, value->loc, diags);
  if (!region || converted == nullptr) return nullptr;
  return tile_op(ir::OpKind::fill, {std::move(*region)}, ir::FillAttrs{std::move(converted)}, std::move(loc));
}

StmtRef make_clear(const RegionSpec& dst, Loc loc, Diagnostics& diags) {
  return make_fill(dst, zero(dst.buffer->type, loc), loc, diags);
}

StmtRef make_gemm(const RegionSpec& a, const RegionSpec& b, const RegionSpec& c, const ir::GemmAttrs& attrs, Loc loc,
                  Diagnostics& diags) {
  auto ra = ir::resolve_alone(a, diags), rb = ir::resolve_alone(b, diags), rc = ir::resolve_alone(c, diags);
  if (!ra || !rb || !rc) return nullptr;
  return tile_op(ir::OpKind::gemm, {std::move(*ra), std::move(*rb), std::move(*rc)}, attrs, std::move(loc));
}

StmtRef make_reduce(ir::OpKind kind, const RegionSpec& src, const RegionSpec& dst, std::int64_t dim, bool clear,
                    Loc loc, Diagnostics& diags) {
  auto from = ir::resolve_alone(src, diags), to = ir::resolve_alone(dst, diags);
  auto at = checked_dim(dim, src.buffer->shape.size(), loc, diags);
  if (!from || !to || !at) return nullptr;
  return tile_op(kind, {std::move(*from), std::move(*to)}, ir::ReduceAttrs{*at, clear}, std::move(loc));
}

StmtRef make_cumsum(const RegionSpec& src, const RegionSpec& dst, std::int64_t dim, bool reverse, Loc loc,
                    Diagnostics& diags) {
  auto at = checked_dim(dim, src.buffer->shape.size(), loc, diags);
  if (!at) return nullptr;
  return pair_op(ir::OpKind::cumsum, src, dst, ir::CumsumAttrs{*at, reverse}, std::move(loc), diags);
}

StmtRef make_transpose(const RegionSpec& src, const RegionSpec& dst, Loc loc, Diagnostics& diags) {
  return pair_op(ir::OpKind::transpose, src, dst, ir::NoAttrs{}, std::move(loc), diags);
}

StmtRef make_atomic(ir::OpKind kind, const RegionSpec& dst, const RegionSpec& src, Loc loc, Diagnostics& diags) {
  return pair_op(kind, dst, src, ir::NoAttrs{}, std::move(loc), diags);
}

StmtRef make_atomic_element(ir::OpKind kind, const ir::Buffer& buffer, const std::vector<ExprRef>& index,
                            const ExprRef& value, Loc loc, Diagnostics& diags) {
  ExprRef element = ir::make_load(buffer, index, loc, diags);
  ExprRef converted = value == nullptr ? nullptr : ir::convert_for_store(buffer->type, value, value->loc, diags);
  if (element == nullptr || converted == nullptr) return nullptr;
  ir::AtomicElement atomic{atomic_op(kind), buffer, std::get<ir::Load>(element->node).index, std::move(converted)};
  return ir::make_stmt(std::move(atomic), std::move(loc));
}

StmtRef make_store(const ir::Buffer& buffer, const std::vector<ExprRef>& index, std::optional<ir::BinaryOp> op,
                   const ExprRef& value, Loc loc, Diagnostics& diags) {
  ExprRef element = ir::make_load(buffer, index, loc, diags);
  if (element == nullptr || value == nullptr) return nullptr;
  ExprRef result = op ? ir::make_binary(*op, element, value, value->loc, diags) : value;
  if (result == nullptr) return nullptr;
  ExprRef converted = ir::convert_for_store(buffer->type, result, result->loc, diags);
  if (converted == nullptr) return nullptr;
  ir::Store store{buffer, std::get<ir::Load>(element->node).index, std::move(converted)};
  return ir::make_stmt(std::move(store), std::move(loc));
}

StmtRef make_print(const std::string& format, const std::vector<ExprRef>& args, Loc loc, Diagnostics& diags) {
  ir::Print print{format, {}};
  for (const ExprRef& arg : args) {
    print.args.push_back(ir::settle(arg, loc, diags));
    if (print.args.back() == nullptr) return nullptr;
  }
  if (std::size_t count = placeholders(format); count != args.size()) {
    diags.error(Rule::print_format, loc, fmt::format("the text has {} `{{}}` for {} arguments", count, args.size()));
    return nullptr;
  }
  return ir::make_stmt(std::move(print), std::move(loc));
}

ExprRef make_condition(const ExprRef& cond, std::string_view what, Loc loc, Diagnostics& diags) {
  if (cond == nullptr || ir::is_bool(cond->type)) return cond;
  diags.error(Rule::type_mismatch, cond->loc.known() ? cond->loc : loc,
              fmt::format("the condition of {} has type {}, not bool", what, ir::dtype_name(cond->type)),
              "compare the value, e.g. `x != 0`");
  return nullptr;
}

bool check_pipeline(const ir::PipelineAttrs& attrs, const Loc& loc, Diagnostics& diags) {
  auto in_range = [&](std::string_view what, int value) {
    if (value >= 0 && value <= kMaxStages) return true;
    diags.error(Rule::attribute_value, loc, fmt::format("{} is {}", what, value),
                fmt::format("it is between 0 and {}", kMaxStages));
    return false;
  };
  if (attrs.stages && !in_range("stages", *attrs.stages)) return false;
  for (int entry : attrs.order) {
    if (!in_range("an entry of order", entry)) return false;
  }
  for (int entry : attrs.stage) {
    if (!in_range("an entry of stage", entry)) return false;
  }
  if (attrs.order.empty() == attrs.stage.empty()) return true;
  diags.error(Rule::call_form, loc, "order and stage are given together", "give both lists, or neither");
  return false;
}

bool check_task(const ir::Task& task, const Loc& loc, Diagnostics& diags) {
  for (const auto& [what, cycles] : {std::pair("latency", task.latency), std::pair("ii", task.ii)}) {
    if (!cycles || (*cycles >= 0 && *cycles <= kMaxCycles)) continue;
    diags.error(Rule::attribute_value, loc, fmt::format("{} is {}", what, *cycles),
                "a task costs between 0 and 2^40 cycles");
    return false;
  }
  return true;
}

ir::Buffer make_buffer(const AllocInput& in, Loc loc, Diagnostics& diags) {
  ir::BufferDecl buffer;
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < in.shape.size(); ++d) {
    if (in.shape[d] == nullptr) return nullptr;
    auto extent = ir::is_bool(in.shape[d]->type) ? std::nullopt : ir::as_int(in.shape[d]);
    Loc at = in.shape[d]->loc.known() ? in.shape[d]->loc : loc;
    if (!extent) {
      diags.error(Rule::alloc_extent, at, fmt::format("extent {} of `{}` is not an integer literal", d, in.name),
                  "on-chip buffers have a fixed size: use literals and compile-time parameters");
      return nullptr;
    }
    if (*extent < 1 || *extent > kMaxElements / elements) {
      diags.error(Rule::alloc_extent, at,
                  *extent < 1 ? fmt::format("extent {} of `{}` is {}", d, in.name, *extent)
                              : fmt::format("`{}` has more than 2^40 elements", in.name),
                  *extent < 1 ? "" : "make the buffer smaller");
      return nullptr;
    }
    elements *= *extent;
    buffer.shape.push_back(ir::typed_int(ir::DType::i64, *extent, at));
  }
  if (!check_layout(in, loc, diags)) return nullptr;
  buffer.name = in.name;
  buffer.type = in.type;
  buffer.scope = in.scope;
  buffer.layout = in.layout;
  buffer.pad = static_cast<int>(in.pad);
  buffer.loc = std::move(loc);
  return std::make_shared<const ir::BufferDecl>(std::move(buffer));
}

}  // namespace plait::lang
