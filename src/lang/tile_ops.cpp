#include <fmt/format.h>

#include <algorithm>

#include "lang/elaborator.h"
#include "lang/extent.h"
#include "lang/suggest.h"

namespace plait::lang {
namespace {

using ir::ExprRef;
using ir::RegionSpec;
using ir::StmtRef;

bool is_reduction(ir::OpKind kind) { return ir::op_info(kind).name.starts_with("reduce_"); }

bool is_arg_reduction(ir::OpKind kind) {
  return kind == ir::OpKind::reduce_argmax || kind == ir::OpKind::reduce_argmin;
}

}  // namespace

// ---- Operands
// --------------------------------------------------------------------------------------------------------------

std::optional<RegionSpec> Elaborator::operand(const syntax::ExprRef& e, std::string_view op) {
  auto refuse = [&](std::string message) {
    diags_->error(Rule::not_a_buffer, e->loc, std::move(message), "name a buffer, or a tile of one such as A[i, j]");
    return std::nullopt;
  };
  if (!spend(1, e->loc)) return std::nullopt;
  if (const auto* index = std::get_if<syntax::Index>(&e->node)) return indexed(*index, placed(e->loc));
  const auto* name = std::get_if<syntax::Name>(&e->node);
  if (name == nullptr) return refuse(fmt::format("{} works on buffers and tiles", op));
  const Symbol* symbol = scopes_.find(name->id);
  if (symbol == nullptr) {
    unknown_name(name->id, e->loc);
    return std::nullopt;
  }
  if (std::holds_alternative<Poison>(symbol->entity)) return std::nullopt;
  if (const auto* buffer = std::get_if<ir::Buffer>(&symbol->entity)) return RegionSpec{*buffer, {}, placed(e->loc)};
  const auto* tile = std::get_if<Tile>(&symbol->entity);
  if (tile == nullptr)
    return refuse(fmt::format("{} works on buffers, but `{}` is {}", op, name->id, entity_kind(symbol->entity)));
  if (!spend(tile->cost, e->loc)) return std::nullopt;
  RegionSpec spec = tile->spec;
  spec.loc = placed(e->loc);
  return spec;
}

std::optional<RegionSpec> Elaborator::indexed(const syntax::Index& index, const Loc& loc) {
  const auto* name = std::get_if<syntax::Name>(&index.base->node);
  const Symbol* symbol = name == nullptr ? nullptr : scopes_.find(name->id);
  if (name != nullptr && symbol == nullptr) unknown_name(name->id, index.base->loc);
  const auto* buffer = symbol == nullptr ? nullptr : std::get_if<ir::Buffer>(&symbol->entity);
  const auto* tile = symbol == nullptr ? nullptr : std::get_if<Tile>(&symbol->entity);
  if (symbol != nullptr && buffer == nullptr && tile == nullptr && !std::holds_alternative<Poison>(symbol->entity)) {
    diags_->error(Rule::not_a_buffer, index.base->loc,
                  fmt::format("`{}` is {} and cannot be indexed", name->id, entity_kind(symbol->entity)));
  }
  if (name == nullptr) diags_->error(Rule::not_a_buffer, index.base->loc, "only a buffer can be indexed");
  bool known = buffer != nullptr || tile != nullptr;
  if (tile != nullptr && !spend(tile->cost, loc)) return std::nullopt;
  RegionSpec spec{buffer != nullptr ? *buffer : tile != nullptr ? tile->spec.buffer : nullptr, {}, loc};
  bool ok = known;
  for (std::size_t d = 0; d < index.slices.size(); ++d) {
    const RegionSpec::Dim* outer = tile != nullptr && d < tile->spec.dims.size() ? &tile->spec.dims[d] : nullptr;
    ExprRef whole = known && d < spec.buffer->shape.size() ? spec.buffer->shape[d] : nullptr;
    if (outer != nullptr && outer->begin != nullptr) whole = outer->extent;
    auto dim = region_dim(index.slices[d], whole, loc);
    ok = ok && dim.has_value();
    if (!dim) continue;
    if (outer != nullptr && outer->begin != nullptr) {
      dim->begin = dim->begin == nullptr ? outer->begin
                                         : ir::make_binary(ir::BinaryOp::add, outer->begin, dim->begin, loc, *diags_);
      if (index.slices[d].is_range && dim->extent == nullptr) dim->extent = outer->extent;
    }
    spec.dims.push_back(std::move(*dim));
  }
  if (!ok) return std::nullopt;
  return spec;
}

std::optional<RegionSpec::Dim> Elaborator::region_dim(const syntax::Slice& slice, const ExprRef& whole,
                                                      const Loc& loc) {
  RegionSpec::Dim dim;
  if (slice.begin != nullptr) {
    dim.begin = to_index(slice.begin);
    if (dim.begin == nullptr) return std::nullopt;
  }
  if (!slice.is_range || (slice.begin == nullptr && slice.end == nullptr)) return dim;
  ExprRef end = whole;
  if (slice.end != nullptr) {
    end = to_index(slice.end);
    if (end == nullptr) return std::nullopt;
  }
  if (dim.begin == nullptr) dim.begin = ir::typed_int(ir::DType::i64, 0, loc);
  dim.extent = range_extent(dim.begin, end, loc, *diags_);
  return dim;
}

bool Elaborator::names_tile(const syntax::ExprRef& e) const {
  if (const auto* index = std::get_if<syntax::Index>(&e->node)) {
    return std::any_of(index->slices.begin(), index->slices.end(), [](const syntax::Slice& s) { return s.is_range; });
  }
  const auto* name = std::get_if<syntax::Name>(&e->node);
  const Symbol* symbol = name == nullptr ? nullptr : scopes_.find(name->id);
  if (symbol == nullptr) return false;
  const auto* tile = std::get_if<Tile>(&symbol->entity);
  return std::holds_alternative<ir::Buffer>(symbol->entity) || (tile != nullptr && !tile->element);
}

bool Elaborator::names_element(const syntax::ExprRef& e) const {
  if (std::holds_alternative<syntax::Index>(e->node)) return !names_tile(e);
  const auto* name = std::get_if<syntax::Name>(&e->node);
  const Symbol* symbol = name == nullptr ? nullptr : scopes_.find(name->id);
  const auto* tile = symbol == nullptr ? nullptr : std::get_if<Tile>(&symbol->entity);
  return tile != nullptr && tile->element;
}

std::optional<std::pair<ir::Buffer, std::vector<ExprRef>>> Elaborator::element(const syntax::ExprRef& e) {
  auto spec = operand(e, "a store");
  if (!spec) return std::nullopt;
  std::vector<ExprRef> index;
  for (const RegionSpec::Dim& dim : spec->dims) index.push_back(dim.begin);
  return std::pair(spec->buffer, std::move(index));
}

// ---- Operations
// ------------------------------------------------------------------------------------------------------------

void Elaborator::tile_op(const std::string& name, const syntax::Call& call, const Loc& loc) {
  if (name == "clear") return emit(fill_op(call, loc, true));
  ir::OpKind kind = *ir::op_from_name(name);
  if (kind == ir::OpKind::copy) return emit(copy_op(call, loc));
  if (kind == ir::OpKind::fill) return emit(fill_op(call, loc, false));
  if (kind == ir::OpKind::gemm) return emit(gemm_op(call, loc));
  if (kind == ir::OpKind::cumsum) return emit(cumsum_op(call, loc));
  if (kind == ir::OpKind::transpose) return emit(transpose_op(call, loc));
  if (is_reduction(kind)) return emit(reduce_op(kind, call, loc));
  emit(atomic_op(kind, call, loc));
}

StmtRef Elaborator::copy_op(const syntax::Call& call, const Loc& loc) {
  auto args =
      bind_args({"copy", {"src", "dst"}, 2, {"rows", "row_side", "valid", "pad", "cache"}}, call.args, loc, *diags_);
  if (!args) return nullptr;
  auto given = [&](std::size_t i) { return (*args)[i] == nullptr ? nullptr : (*args)[i]->value; };
  auto src = operand(given(0), "copy"), dst = operand(given(1), "copy");
  CopyInput in;
  bool ok = src && dst;
  ok = copy_rows((*args)[2], (*args)[3], in) && ok;
  if (given(4) != nullptr) {
    auto extents = expr_list(given(4));
    ok = ok && extents.has_value();
    if (extents) in.valid = std::move(*extents);
  }
  if (given(5) != nullptr) {
    in.pad = eval(given(5));
    ok = ok && in.pad != nullptr;
  }
  if (given(6) != nullptr) {
    auto hint = word(given(6), "cache", {"evict_first", "evict_last"});
    ok = ok && hint.has_value();
    if (hint) in.cache = *hint == 0 ? ir::CacheHint::evict_first : ir::CacheHint::evict_last;
  }
  return ok ? make_copy(*src, *dst, in, loc, *diags_) : nullptr;
}

bool Elaborator::copy_rows(const syntax::Arg* rows, const syntax::Arg* side, CopyInput& in) {
  bool ok = true;
  if (rows != nullptr) {
    in.rows = operand(rows->value, "rows=");
    ok = in.rows.has_value();
  }
  if (side == nullptr) return ok;
  if (rows == nullptr) {
    diags_->error(Rule::call_form, side->loc, "row_side is given without rows", "give rows=R, or leave row_side out");
    return false;
  }
  auto which = word(side->value, "row_side", {"src", "dst"});
  if (which) in.row_side = *which == 0 ? RowSide::source : RowSide::destination;
  return ok && which;
}

StmtRef Elaborator::fill_op(const syntax::Call& call, const Loc& loc, bool clear) {
  Signature signature = clear ? Signature{"clear", {"dst"}, 1, {}} : Signature{"fill", {"dst", "value"}, 2, {}};
  auto args = bind_args(signature, call.args, loc, *diags_);
  if (!args) return nullptr;
  auto dst = operand((*args)[0]->value, signature.name);
  ExprRef value = clear ? nullptr : eval((*args)[1]->value);
  if (!dst) return nullptr;
  return clear ? make_clear(*dst, loc, *diags_) : make_fill(*dst, value, loc, *diags_);
}

StmtRef Elaborator::gemm_op(const syntax::Call& call, const Loc& loc) {
  auto args =
      bind_args({"gemm", {"A", "B", "C"}, 3, {"trans_A", "trans_B", "clear_accum", "policy"}}, call.args, loc, *diags_);
  if (!args) return nullptr;
  std::vector<std::optional<RegionSpec>> operands;
  for (std::size_t i = 0; i < 3; ++i) operands.push_back(operand((*args)[i]->value, "gemm"));
  bool ok = operands[0] && operands[1] && operands[2];
  ir::GemmAttrs attrs;
  auto flag = [&](std::size_t slot, std::string_view what, bool& out) {
    if ((*args)[slot] == nullptr) return;
    auto value = constant_bool((*args)[slot]->value, what);
    ok = ok && value.has_value();
    out = value.value_or(false);
  };
  flag(3, "trans_A", attrs.trans_a);
  flag(4, "trans_B", attrs.trans_b);
  flag(5, "clear_accum", attrs.clear_accum);
  if ((*args)[6] != nullptr) {
    auto policy = word((*args)[6]->value, "policy", {"automatic", "rows", "columns", "square"});
    ok = ok && policy.has_value();
    if (policy) attrs.policy = static_cast<ir::WarpPolicy>(*policy);
  }
  return ok ? make_gemm(*operands[0], *operands[1], *operands[2], attrs, loc, *diags_) : nullptr;
}

StmtRef Elaborator::reduce_op(ir::OpKind kind, const syntax::Call& call, const Loc& loc) {
  Signature signature{ir::op_info(kind).name, {"src", "dst"}, 2, {"dim"}};
  if (!is_arg_reduction(kind)) signature.named.emplace_back("clear");
  auto args = bind_args(signature, call.args, loc, *diags_);
  if (!args) return nullptr;
  auto src = operand((*args)[0]->value, signature.name), dst = operand((*args)[1]->value, signature.name);
  auto dim = (*args)[2] == nullptr ? -1 : constant_int((*args)[2]->value, "dim");
  std::optional<bool> clear = true;
  if (args->size() > 3 && (*args)[3] != nullptr) clear = constant_bool((*args)[3]->value, "clear");
  if (!src || !dst || !dim || !clear) return nullptr;
  return make_reduce(kind, *src, *dst, *dim, *clear, loc, *diags_);
}

StmtRef Elaborator::cumsum_op(const syntax::Call& call, const Loc& loc) {
  auto args = bind_args({"cumsum", {"src", "dst"}, 2, {"dim", "reverse"}}, call.args, loc, *diags_);
  if (!args) return nullptr;
  auto src = operand((*args)[0]->value, "cumsum"), dst = operand((*args)[1]->value, "cumsum");
  auto dim = (*args)[2] == nullptr ? -1 : constant_int((*args)[2]->value, "dim");
  auto reverse = (*args)[3] == nullptr ? false : constant_bool((*args)[3]->value, "reverse");
  if (!src || !dst || !dim || !reverse) return nullptr;
  return make_cumsum(*src, *dst, *dim, *reverse, loc, *diags_);
}

StmtRef Elaborator::transpose_op(const syntax::Call& call, const Loc& loc) {
  auto args = bind_args({"transpose", {"src", "dst"}, 2, {}}, call.args, loc, *diags_);
  if (!args) return nullptr;
  auto src = operand((*args)[0]->value, "transpose"), dst = operand((*args)[1]->value, "transpose");
  return src && dst ? make_transpose(*src, *dst, loc, *diags_) : nullptr;
}

StmtRef Elaborator::atomic_op(ir::OpKind kind, const syntax::Call& call, const Loc& loc) {
  std::string_view name = ir::op_info(kind).name;
  auto args = bind_args({name, {"dst", "src"}, 2, {}}, call.args, loc, *diags_);
  if (!args) return nullptr;
  const syntax::ExprRef &to = (*args)[0]->value, &from = (*args)[1]->value;
  if (names_element(to) && !names_tile(from)) {
    auto place = element(to);
    ExprRef value = eval(from);
    if (!place || value == nullptr) return nullptr;
    return make_atomic_element(kind, place->first, place->second, value, loc, *diags_);
  }
  auto dst = operand(to, name), src = operand(from, name);
  return dst && src ? make_atomic(kind, *dst, *src, loc, *diags_) : nullptr;
}

}  // namespace plait::lang
