#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/expr_util.h"
#include "ir/numeric.h"

namespace plait::ir {
namespace {

/// Whether float type `type` has a value for the literal `value`, near or equal.
bool has_value(DType type, double value) {
  double rounded = round_to(type, value);
  if (std::isnan(value)) return std::isnan(rounded);
  if (std::isinf(value)) return std::isinf(rounded);
  // A format that turns everything large into its largest number would hide that a literal is beyond it.
  double beyond = round_to(type, std::numeric_limits<double>::infinity());
  return std::isfinite(rounded) && (!std::isfinite(beyond) || std::fabs(value) <= beyond);
}

ExprRef no_value(DType type, const ExprRef& literal, const Loc& loc, Diagnostics& diags) {
  std::string text = print(*literal);
  diags.error(Rule::literal_range, place_of(literal, loc),
              fmt::format("the literal {} has no value in {}", text, dtype_name(type)),
              fmt::format("use a wider type, or write {}({}) to convert it", dtype_name(type), text));
  return nullptr;
}

ExprRef wrong_kind(DType type, const ExprRef& literal, const Loc& loc, Diagnostics& diags) {
  std::string_view kind = is_bool(type) ? "bool" : "an integer type";
  diags.error(Rule::type_mismatch, place_of(literal, loc),
              fmt::format("the literal {} meets an operand of type {}", print(*literal), dtype_name(type)),
              is_bool(type) ? "write true or false"
                            : fmt::format("write a literal that is no float, or {}({})", kind, print(*literal)));
  return nullptr;
}

/// Weak operands alone: as soon as one is a float, all are.
void unify_weak(std::span<ExprRef> operands) {
  bool any_float = std::any_of(operands.begin(), operands.end(), [](const ExprRef& e) { return is_float(e->type); });
  if (!any_float) return;
  for (ExprRef& e : operands) e = weak_float(e);
}

/// The common type of the operands that are not weak; nullopt after a report.
std::optional<DType> typed_operands(std::span<const ExprRef> operands, std::string_view what, const Loc& loc,
                                    Diagnostics& diags) {
  std::optional<DType> common;
  for (const ExprRef& e : operands) {
    if (e->weak) continue;
    std::optional<DType> both = common ? common_type(*common, e->type) : e->type;
    if (!both) {
      diags.error(Rule::type_mismatch, loc,
                  fmt::format("`{}` has operands of types {} and {}, of which neither holds all values of the other",
                              what, dtype_name(*common), dtype_name(e->type)),
                  fmt::format("convert one of them, e.g. {}(x)", dtype_name(*common)));
      return std::nullopt;
    }
    common = both;
  }
  return common;
}

}  // namespace

ExprRef make_expr(DType type, Loc loc, ExprNode node, bool weak) {
  return std::make_shared<const Expr>(Expr{type, std::move(loc), std::move(node), weak});
}

bool is_literal(const ExprRef& e) {
  return std::holds_alternative<IntLit>(e->node) || std::holds_alternative<FloatLit>(e->node);
}

const Loc& place_of(const ExprRef& e, const Loc& otherwise) { return e->loc.known() ? e->loc : otherwise; }

ExprRef float_of(DType type, double value, Loc loc, bool weak) {
  return make_expr(type, std::move(loc), FloatLit{value}, weak);
}

ExprRef int_literal(std::int64_t value, Loc loc) { return make_expr(DType::i64, std::move(loc), IntLit{value}, true); }
ExprRef float_literal(double value, Loc loc) { return float_of(DType::f32, value, std::move(loc), true); }
ExprRef bool_literal(bool value, Loc loc) { return make_expr(DType::bool_, std::move(loc), IntLit{value ? 1 : 0}); }

ExprRef typed_literal(DType type, double value, Loc loc) {
  PLAIT_ASSERT(is_float(type), "typed_literal makes floats");
  return float_of(type, round_to(type, value), std::move(loc));
}

ExprRef typed_int(DType type, std::int64_t value, Loc loc) {
  PLAIT_ASSERT(!is_float(type), "typed_int makes integers and bool");
  return make_expr(type, std::move(loc), IntLit{int_to_int(type, value)});
}

ExprRef var_ref(Var var, Loc loc) {
  DType type = var->type;
  return make_expr(type, std::move(loc), VarRef{std::move(var)});
}

std::optional<std::int64_t> as_int(const ExprRef& e) {
  const auto* literal = e == nullptr ? nullptr : std::get_if<IntLit>(&e->node);
  if (literal == nullptr) return std::nullopt;
  return literal->value;
}

ExprRef map_weak(const ExprRef& weak, const std::function<ExprRef(const ExprRef&)>& fn) {
  const auto* select = std::get_if<Select>(&weak->node);
  if (select == nullptr) return fn(weak);
  ExprRef yes = map_weak(select->if_true, fn), no = map_weak(select->if_false, fn);
  if (yes == nullptr || no == nullptr) return nullptr;
  DType type = yes->type;
  bool still_weak = yes->weak;
  return make_expr(type, weak->loc, Select{select->cond, std::move(yes), std::move(no)}, still_weak);
}

ExprRef weak_float(const ExprRef& weak) {
  return map_weak(weak, [](const ExprRef& literal) {
    const auto* integer = std::get_if<IntLit>(&literal->node);
    return integer == nullptr ? literal : float_literal(static_cast<double>(integer->value), literal->loc);
  });
}

ExprRef adopt(DType type, const ExprRef& weak, const Loc& loc, Diagnostics& diags) {
  return map_weak(weak, [&](const ExprRef& literal) { return adopt_literal(type, literal, loc, diags); });
}

ExprRef adopt_literal(DType type, const ExprRef& literal, const Loc& loc, Diagnostics& diags) {
  if (const auto* integer = std::get_if<IntLit>(&literal->node)) {
    std::int64_t value = integer->value;
    if (is_bool(type)) return wrong_kind(type, literal, loc, diags);
    if (is_float(type)) {
      if (!has_value(type, static_cast<double>(value))) return no_value(type, literal, loc, diags);
      return float_of(type, int_to_float(type, value), literal->loc);
    }
    bool fits = int_to_int(type, value) == value && (value >= 0 || is_signed_integer(type));
    return fits ? typed_int(type, value, literal->loc) : no_value(type, literal, loc, diags);
  }
  double value = std::get<FloatLit>(literal->node).value;
  if (!is_float(type)) return wrong_kind(type, literal, loc, diags);
  if (!has_value(type, value)) return no_value(type, literal, loc, diags);
  return float_of(type, round_to(type, value), literal->loc);
}

ExprRef widen(DType type, const ExprRef& e, const Loc& loc, Diagnostics& diags) {
  if (e->weak) return adopt(type, e, loc, diags);
  if (e->type == type) return e;
  if (is_literal(e)) return fold_cast(type, *e, default_rounding(type), false, e->loc);
  return make_expr(type, e->loc, Cast{e, default_rounding(type), false});
}

bool settle_all(std::span<ExprRef> operands, const Loc& loc, Diagnostics& diags) {
  for (ExprRef& e : operands) {
    e = settle(e, loc, diags);
    if (e == nullptr) return false;
  }
  return true;
}

ExprRef settle(const ExprRef& e, const Loc& loc, Diagnostics& diags) {
  return e != nullptr && e->weak ? adopt(e->type, e, loc, diags) : e;
}

bool unify(std::span<ExprRef> operands, std::string_view what, const Loc& loc, Diagnostics& diags) {
  if (std::all_of(operands.begin(), operands.end(), [](const ExprRef& e) { return e->weak; })) {
    unify_weak(operands);
    return true;
  }
  std::optional<DType> common = typed_operands(operands, what, loc, diags);
  if (!common) return false;
  for (ExprRef& e : operands) {
    e = widen(*common, e, loc, diags);
    if (e == nullptr) return false;
  }
  return true;
}

}  // namespace plait::ir
