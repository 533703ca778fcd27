#include <fmt/format.h>

#include <cmath>

#include "ir/evaluate.h"
#include "ir/expr_util.h"
#include "ir/numeric.h"

namespace plait::ir {
namespace {

/// Reports `round=` or `saturate=` where the conversion leaves nothing to choose.
bool check_options(DType to, DType from, std::optional<Rounding> rounding, bool saturate, const Loc& loc,
                   Diagnostics& diags) {
  std::string conversion = fmt::format("a conversion from {} to {}", dtype_name(from), dtype_name(to));
  if (rounding && (!is_float(from) || is_bool(to))) {
    diags.error(Rule::cast_option, loc, fmt::format("round= has no meaning in {}", conversion), "leave round= out");
    return false;
  }
  if (saturate && (is_bool(to) || is_bool(from))) {
    diags.error(Rule::cast_option, loc, fmt::format("saturate= has no meaning in {}", conversion),
                "leave saturate= out");
    return false;
  }
  return true;
}

/// Whether the conversion changes no value whatever the options say.
bool is_identity(DType to, DType from, bool saturate) { return to == from && !(saturate && is_float(to)); }

/// An integer literal written without a type, as the unsigned integer of as many bits as `type` has.
ExprRef settle_bits(DType type, const ExprRef& a, const Loc& loc, Diagnostics& diags) {
  if (!a->weak || !std::holds_alternative<IntLit>(a->node)) return settle(a, loc, diags);
  auto same_bits = dtype_from_name(fmt::format("u{}", dtype_bits(type)));
  bool fits = int_to_int(*same_bits, *as_int(a)) == *as_int(a) && *as_int(a) >= 0;
  return fits ? adopt(*same_bits, a, loc, diags) : settle(a, loc, diags);
}

/// Null where a literal cannot stand for the result: text has one NaN only.
ExprRef fold_bitcast(DType type, const Expr& a, const Loc& loc) {
  const auto* real = std::get_if<FloatLit>(&a.node);
  std::uint64_t bits =
      real != nullptr ? encode_float(a.type, real->value) : static_cast<std::uint64_t>(std::get<IntLit>(a.node).value);
  if (!is_float(type)) return typed_int(type, static_cast<std::int64_t>(bits), loc);
  double value = decode_float(type, bits);
  bool exact = !std::isnan(value) && encode_float(type, round_to(type, value)) == encode_float(type, value);
  return exact ? float_of(type, value, loc) : nullptr;
}

/// Whether a store converts from `from` to `to` without being asked.
bool stores_as(DType to, DType from) { return common_type(to, from) == to || (is_float(to) && is_float(from)); }

}  // namespace

Rounding default_rounding(DType type) { return is_integer(type) ? Rounding::toward_zero : Rounding::nearest_even; }

ExprRef fold_cast(DType type, const Expr& a, Rounding rounding, bool saturate, const Loc& loc) {
  ScalarValue value{a.type, 0, 0};
  if (const auto* real = std::get_if<FloatLit>(&a.node)) value.f = real->value;
  if (const auto* integer = std::get_if<IntLit>(&a.node)) value.i = integer->value;
  ScalarValue cast = evaluate_cast(type, value, rounding, saturate);
  return is_float(type) ? float_of(type, cast.f, loc) : typed_int(type, cast.i, loc);
}

ExprRef make_cast(DType type, ExprRef a, std::optional<Rounding> rounding, bool saturate, Loc loc, Diagnostics& diags) {
  if (a == nullptr || !check_options(type, a->type, rounding, saturate, loc, diags)) return nullptr;
  Rounding chosen = rounding.value_or(default_rounding(type));
  if (is_literal(a)) return fold_cast(type, *a, chosen, saturate, loc);
  a = settle(a, loc, diags);
  if (a == nullptr) return nullptr;
  if (is_identity(type, a->type, saturate)) return a;
  return make_expr(type, std::move(loc), Cast{std::move(a), chosen, saturate});
}

ExprRef make_bitcast(DType type, ExprRef a, Loc loc, Diagnostics& diags) {
  if (a == nullptr) return nullptr;
  if (!is_bool(type) && !is_bool(a->type)) a = settle_bits(type, a, loc, diags);
  if (a == nullptr) return nullptr;
  if (is_bool(type) || is_bool(a->type) || dtype_bits(type) != dtype_bits(a->type)) {
    diags.error(Rule::bitcast_size, loc,
                fmt::format("bitcast from {} ({} bits) to {} ({} bits)", dtype_name(a->type), dtype_bits(a->type),
                            dtype_name(type), dtype_bits(type)));
    return nullptr;
  }
  if (a->type == type) return a;
  ExprRef folded = is_literal(a) ? fold_bitcast(type, *a, loc) : nullptr;
  return folded != nullptr ? folded : make_expr(type, std::move(loc), Bitcast{std::move(a)});
}

ExprRef convert_for_store(DType type, ExprRef value, Loc loc, Diagnostics& diags) {
  if (value == nullptr) return nullptr;
  if (value->weak || stores_as(type, value->type)) return widen(type, value, loc, diags);
  diags.error(Rule::implicit_conversion, place_of(value, loc),
              fmt::format("a value of type {} is used where {} is wanted", dtype_name(value->type), dtype_name(type)),
              fmt::format("convert it: {}(x)", dtype_name(type)));
  return nullptr;
}

}  // namespace plait::ir
