#include "lang/literal.h"

#include <cmath>

#include "syntax/literal.h"

namespace plait::lang {
namespace {

std::optional<Entity> parse_number(std::string_view text, bool want_float, const Loc& loc) {
  bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text == "inf" || text == "nan") {
    if (!want_float) return std::nullopt;
    double value = text == "inf" ? HUGE_VAL : std::nan("");
    return Scalar{ir::float_literal(negative ? -value : value, loc), {}};
  }
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  syntax::Scanned scanned = syntax::scan_number(text);
  if (!scanned.message.empty() || scanned.length != text.size()) return std::nullopt;
  if (scanned.kind == syntax::Tok::floating) {
    if (!want_float) return std::nullopt;
    double value = syntax::float_value(text);
    return Scalar{ir::float_literal(negative ? -value : value, loc), {}};
  }
  std::uint64_t magnitude = syntax::integer_value(text);
  if (magnitude > static_cast<std::uint64_t>(INT64_MAX) + (negative ? 1 : 0)) return std::nullopt;
  auto value = static_cast<std::int64_t>(negative ? ~magnitude + 1 : magnitude);
  if (!want_float) return Scalar{ir::int_literal(value, loc), {}};
  return Scalar{ir::float_literal(static_cast<double>(value), loc), {}};
}

}  // namespace

std::optional<std::string_view> literal_kind(const Entity& entity) {
  if (std::holds_alternative<ir::DType>(entity)) return "type";
  const auto* scalar = std::get_if<Scalar>(&entity);
  if (scalar == nullptr || scalar->expr == nullptr) return std::nullopt;
  if (std::holds_alternative<ir::FloatLit>(scalar->expr->node)) return "float";
  if (!std::holds_alternative<ir::IntLit>(scalar->expr->node)) return std::nullopt;
  return ir::is_bool(scalar->expr->type) ? "bool" : "int";
}

std::optional<Entity> as_kind(const Entity& entity, std::string_view kind) {
  auto have = literal_kind(entity);
  if (have == kind) return entity;
  if (have != "int" || kind != "float") return std::nullopt;
  const ir::ExprRef& e = std::get<Scalar>(entity).expr;
  return Scalar{ir::float_literal(static_cast<double>(*ir::as_int(e)), e->loc), {}};
}

std::optional<Entity> parse_literal(std::string_view text, std::string_view kind, const Loc& loc) {
  if (kind == "type") {
    auto type = ir::dtype_from_name(text);
    return type ? std::optional<Entity>(*type) : std::nullopt;
  }
  if (kind != "bool") return parse_number(text, kind == "float", loc);
  if (text != "true" && text != "false") return std::nullopt;
  return Scalar{ir::bool_literal(text == "true", loc), {}};
}

std::string article(std::string_view kind) { return (kind == "int" ? "an " : "a ") + std::string(kind); }

std::string_view literal_example(std::string_view kind) {
  if (kind == "type") return "a type such as f16";
  if (kind == "bool") return "true or false";
  return kind == "float" ? "a number such as 0.5" : "an integer such as 128";
}

}  // namespace plait::lang
