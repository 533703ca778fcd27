#include "ir/print_expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "ir/evaluate.h"
#include "ir/numeric.h"
#include "ir/visit.h"
#include "support/precedence.h"

namespace plait::ir {
namespace {

struct Text {
  std::string text;
  Precedence level = kAtom;
};

/// `{}` of a literal: bare where another operand gives it its type.
enum class Literal { bare, own };

/// Functions such as min bind like atoms.
Precedence level_of(BinaryOp op) {
  Precedence level = infix_precedence(binary_op_token(op));
  return level == kNone ? kAtom : level;
}

bool is_function(BinaryOp op) { return level_of(op) == kAtom; }

std::string_view rounding_name(Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest_even:
      return "nearest_even";
    case Rounding::toward_zero:
      return "toward_zero";
    case Rounding::down:
      return "down";
    case Rounding::up:
      return "up";
  }
  return "";
}

bool literal(const ExprRef& e) {
  return std::holds_alternative<IntLit>(e->node) || std::holds_alternative<FloatLit>(e->node);
}

/// The fewest digits that read back as `value` in `type`, as `d.ddde±x`.
std::string shortest_scientific(DType type, double value) {
  constexpr int max_digits = 17;
  for (int digits = 1; digits < max_digits; ++digits) {
    std::string text = fmt::format("{:.{}e}", value, digits - 1);
    if (round_to(type, std::strtod(text.c_str(), nullptr)) == value) return text;
  }
  return fmt::format("{:.{}e}", value, max_digits - 1);
}

/// A finite magnitude as the language writes it: digits on both sides of the point, or an exponent.
std::string magnitude_text(DType type, double value) {
  std::string text = shortest_scientific(type, value);
  std::size_t e = text.find('e');
  auto exponent = static_cast<int>(std::strtol(text.c_str() + e + 1, nullptr, 10));
  std::string digits = text.substr(0, e);
  constexpr int least_fixed = -4, most_fixed = 9;
  if (exponent < least_fixed || exponent > most_fixed) return fmt::format("{}e{}", digits, exponent);
  digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
  if (exponent < 0) return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  std::size_t whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return digits + std::string(whole - digits.size(), '0') + ".0";
  return digits.insert(whole, ".");
}

std::string float_text(DType type, double value) {
  if (std::isnan(value)) return "nan";
  std::string magnitude = std::isinf(value) ? "inf" : magnitude_text(type, std::fabs(value));
  return (std::signbit(value) ? "-" : "") + magnitude;
}

Text wrapped(DType type, std::string_view text) { return {fmt::format("{}({})", dtype_name(type), text), kAtom}; }

Text int_literal_text(const Expr& e, std::int64_t value, Literal form) {
  if (is_bool(e.type)) return {value != 0 ? "true" : "false", kAtom};
  // A bare number has to fit i64.
  if (e.type == DType::u64 && value < 0) return wrapped(e.type, std::to_string(static_cast<std::uint64_t>(value)));
  std::string text = std::to_string(value);
  if (form == Literal::own && e.type != DType::i64) return wrapped(e.type, text);
  return {text, value < 0 ? kUnary : kAtom};
}

Text float_literal_text(const Expr& e, double value, Literal form) {
  std::string text = float_text(e.weak ? DType::f64 : e.type, value);
  if (form == Literal::own && !e.weak && e.type != DType::f32) return wrapped(e.type, text);
  return {text, text.front() == '-' ? kUnary : kAtom};
}

Text node_text(const Expr& e, Literal form);

/// `e`, in parentheses where it binds weaker than `least`.
std::string at_least(const ExprRef& e, int least, Literal form) {
  Text inner = node_text(*e, form);
  return inner.level < least ? "(" + inner.text + ")" : inner.text;
}

/// How the literals among `operands`, which have one type, are written.
Literal form_among(std::initializer_list<const ExprRef*> operands) {
  bool all = std::all_of(operands.begin(), operands.end(), [](const ExprRef* e) { return literal(*e); });
  return all ? Literal::own : Literal::bare;
}

Text binary_text(const Binary& b) {
  Literal form = form_among({&b.a, &b.b});
  Precedence level = level_of(b.op);
  std::string_view token = binary_op_token(b.op);
  if (is_function(b.op)) {
    return {fmt::format("{}({}, {})", token, at_least(b.a, 0, form), at_least(b.b, 0, form)), kAtom};
  }
  // Operators group to the left; comparisons do not group at all.
  int left = level == kCompare ? level + 1 : level;
  return {fmt::format("{} {} {}", at_least(b.a, left, form), token, at_least(b.b, level + 1, form)), level};
}

Text unary_text(const Unary& u) {
  Precedence level = u.op == UnaryOp::logical_not ? kNot : kUnary;
  std::string_view space = u.op == UnaryOp::logical_not ? " " : "";
  return {fmt::format("{}{}{}", unary_op_token(u.op), space, at_least(u.a, level, Literal::own)), level};
}

Text select_text(const Select& s) {
  Literal form = form_among({&s.if_true, &s.if_false});
  return {fmt::format("select({}, {}, {})", expr_text(s.cond), at_least(s.if_true, 0, form),
                      at_least(s.if_false, 0, form))};
}

Text cast_text(DType type, const Cast& c) {
  std::string options;
  Rounding usual = is_integer(type) ? Rounding::toward_zero : Rounding::nearest_even;
  if (c.rounding != usual) options += fmt::format(", round={}", rounding_name(c.rounding));
  if (c.saturate) options += ", saturate=true";
  return {fmt::format("{}({}{})", dtype_name(type), expr_text(c.a), options)};
}

Text call_text(const Call& c) {
  bool all = std::all_of(c.args.begin(), c.args.end(), literal);
  std::string args;
  for (const ExprRef& arg : c.args) {
    args += (args.empty() ? "" : ", ") + at_least(arg, 0, all ? Literal::own : Literal::bare);
  }
  return {fmt::format("{}({})", intrinsic_name(c.fn), args)};
}

Text node_text(const Expr& e, Literal form) {
  return std::visit(
      Overload{
          [&](const IntLit& n) { return int_literal_text(e, n.value, form); },
          [&](const FloatLit& n) { return float_literal_text(e, n.value, form); },
          [](const VarRef& n) { return Text{n.var->name, kAtom}; },
          [](const Load& n) { return Text{fmt::format("{}[{}]", n.buffer->name, exprs_text(n.index))}; },
          [](const Unary& n) { return unary_text(n); },
          [](const Binary& n) { return binary_text(n); },
          [](const Select& n) { return select_text(n); },
          [&](const Cast& n) { return cast_text(e.type, n); },
          [&](const Bitcast& n) { return Text{fmt::format("bitcast({}, {})", dtype_name(e.type), expr_text(n.a))}; },
          [](const Call& n) { return call_text(n); },
      },
      e.node);
}

/// `begin + extent`
std::string end_text(const Range& range) {
  const auto* begin = std::get_if<IntLit>(&range.begin->node);
  const auto* extent = std::get_if<IntLit>(&range.extent->node);
  if (begin != nullptr && extent != nullptr) {
    return std::to_string(*evaluate_int(BinaryOp::add, DType::i64, begin->value, extent->value));
  }
  if (begin != nullptr && begin->value == 0) return expr_text(range.extent);
  return print(Expr{DType::i64, {}, Binary{BinaryOp::add, range.begin, range.extent}});
}

bool is_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

std::string range_text(const Range& range) {
  std::string begin = expr_text(range.begin), end = end_text(range);
  std::string_view space = is_word(begin) && is_word(end) ? "" : " ";
  return fmt::format("{}{}:{}{}", begin, space, space, end);
}

bool is_whole(const Region& region, std::size_t dim) {
  const Range& range = region.ranges[dim];
  return is_int(range.begin, 0) && identical(range.extent, region.buffer->shape[dim]);
}

}  // namespace

bool is_int(const ExprRef& e, std::int64_t value) {
  const auto* lit = std::get_if<IntLit>(&e->node);
  return lit != nullptr && lit->value == value;
}

std::string expr_text(const ExprRef& e) { return print(*e); }
std::string typed_text(const ExprRef& e) { return node_text(*e, Literal::bare).text; }

std::string exprs_text(const std::vector<ExprRef>& list) {
  std::string out;
  for (const ExprRef& e : list) out += (out.empty() ? "" : ", ") + expr_text(e);
  return out;
}

std::string region_text(const Region& region) {
  std::vector<bool> whole, single;
  for (std::size_t d = 0; d < region.ranges.size(); ++d) {
    whole.push_back(is_whole(region, d));
    single.push_back(!whole[d] && is_int(region.ranges[d].extent, 1));
  }
  if (std::all_of(whole.begin(), whole.end(), [](bool b) { return b; })) return region.buffer->name;
  // Beside a range a bare index is one element; alone it would leave its extent open.
  bool any_range = !std::all_of(single.begin(), single.end(), [](bool b) { return b; });
  std::string out;
  for (std::size_t d = 0; d < region.ranges.size(); ++d) {
    if (d > 0) out += ", ";
    const Range& range = region.ranges[d];
    out += whole[d] ? ":" : single[d] && any_range ? expr_text(range.begin) : range_text(range);
  }
  return fmt::format("{}[{}]", region.buffer->name, out);
}

std::string string_text(std::string_view value) {
  std::string out = "\"";
  for (char c : value) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string print(const Expr& expr) { return node_text(expr, Literal::own).text; }

}  // namespace plait::ir
