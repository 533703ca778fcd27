#include "emit/c/expr.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "emit/c/num_helpers.h"
#include "support/result.h"

namespace plait::emit::c {
namespace {

using ir::BinaryOp;
using ir::DType;

/// How the functions of `struct num` name a type: its bits, negative where it has no sign.
int type_code(DType type) { return ir::is_signed_integer(type) ? ir::dtype_bits(type) : -ir::dtype_bits(type); }

bool has_double(DType type) { return type == DType::f32 || type == DType::f64; }

std::string_view c_token(BinaryOp op) {
  if (op == BinaryOp::logical_and) return "&&";
  if (op == BinaryOp::logical_or) return "||";
  return ir::binary_op_token(op);
}

/// The function of an operator on integers; null for those that C has with the same meaning.
const char* function_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return "num_add";
    case BinaryOp::sub:
      return "num_sub";
    case BinaryOp::mul:
      return "num_mul";
    case BinaryOp::div:
      return "num_div";
    case BinaryOp::mod:
      return "num_mod";
    case BinaryOp::ceil_div:
      return "num_ceil_div";
    case BinaryOp::min:
      return "num_min";
    case BinaryOp::max:
      return "num_max";
    case BinaryOp::shl:
      return "num_shift_left";
    case BinaryOp::shr:
      return "num_shift_right";
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
      return nullptr;
  }
  return nullptr;
}

std::string int_text(std::int64_t value) {
  if (value == INT64_MIN) return "(-INT64_C(9223372036854775807) - 1)";
  bool small = value > INT32_MIN && value <= INT32_MAX;
  std::string text = small ? fmt::format("{}", value) : fmt::format("INT64_C({})", value);
  return value < 0 ? "(" + text + ")" : text;
}

}  // namespace

std::string variable(const std::string& name) { return "v_" + name; }

std::string HostExprs::text(const ir::ExprRef& expr) {
  return std::visit([&](const auto& node) { return print(*expr, node); }, expr->node);
}

std::set<std::string> HostExprs::take_variables() { return std::exchange(variables_, {}); }

std::string HostExprs::helpers() const { return num_helpers(helpers_); }

void HostExprs::refuse(const Loc& loc, const std::string& what) { refused_.error(Rule::bundle_value, loc, what); }

std::string HostExprs::refused(const ir::Expr& expr, const std::string& what) {
  refuse(expr.loc, what);
  return "0";
}

std::string HostExprs::called(const std::string& helper, DType type, const std::string& arguments) {
  helpers_.insert(helper);
  return fmt::format("{}(n, {}, {})", helper, type_code(type), arguments);
}

std::string HostExprs::print(const ir::Expr&, const ir::IntLit& lit) { return int_text(lit.value); }

std::string HostExprs::print(const ir::Expr& expr, const ir::FloatLit& lit) {
  if (!has_double(expr.type)) return refused(expr, fmt::format("a value of {}", ir::dtype_name(expr.type)));
  needs_math_ = needs_math_ || !std::isfinite(lit.value);
  if (std::isnan(lit.value)) return "(double)NAN";
  if (std::isinf(lit.value)) return lit.value > 0 ? "(double)INFINITY" : "(-(double)INFINITY)";
  std::string text = fmt::format("{:.17g}", lit.value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return lit.value < 0 ? "(" + text + ")" : text;
}

std::string HostExprs::print(const ir::Expr& expr, const ir::VarRef& ref) {
  if (ir::is_float(expr.type) && !has_double(expr.type))
    return refused(expr, fmt::format("{} is a value of {}", ref.var->name, ir::dtype_name(expr.type)));
  variables_.insert(ref.var->name);
  return variable(ref.var->name);
}

std::string HostExprs::print(const ir::Expr& expr, const ir::Load& load) {
  return refused(expr, fmt::format("an element of {} is not known at a launch", load.buffer->name));
}

std::string HostExprs::print(const ir::Expr& expr, const ir::Unary& unary) {
  std::string a = text(unary.a);
  switch (unary.op) {
    case ir::UnaryOp::logical_not:
      return "!" + a;
    case ir::UnaryOp::neg:
      if (ir::is_float(expr.type)) return "(-" + a + ")";
      return called("num_sub", expr.type, "0, " + a);
    case ir::UnaryOp::bit_not:
      return ir::is_bool(expr.type) ? "!" + a : called("num_wrap", expr.type, "~" + a);
  }
  return {};
}

/// Of f32 C computes with floats, so that the result is rounded once.
std::string HostExprs::float_operation(const ir::Expr& expr, const ir::Binary& binary) {
  std::string a = text(binary.a), b = text(binary.b);
  if (binary.op == BinaryOp::min || binary.op == BinaryOp::max) {
    std::string helper = binary.op == BinaryOp::min ? "num_float_min" : "num_float_max";
    helpers_.insert(helper);
    return fmt::format("{}({}, {})", helper, a, b);
  }
  bool plain = binary.op == BinaryOp::add || binary.op == BinaryOp::sub || binary.op == BinaryOp::mul ||
               binary.op == BinaryOp::div;
  if (!plain) return refused(expr, fmt::format("'{}' of floats", ir::binary_op_token(binary.op)));
  if (expr.type == DType::f64) return fmt::format("({} {} {})", a, c_token(binary.op), b);
  return fmt::format("(double)((float){} {} (float){})", a, c_token(binary.op), b);
}

std::string HostExprs::compared(DType type, const ir::Binary& binary) {
  const char* as = type == DType::u64 ? "(uint64_t)" : "";
  return fmt::format("({}{} {} {}{})", as, text(binary.a), c_token(binary.op), as, text(binary.b));
}

std::string HostExprs::print(const ir::Expr& expr, const ir::Binary& binary) {
  DType type = binary.a->type;
  if (ir::is_comparison(binary.op)) return compared(type, binary);
  if (ir::is_float(type)) return float_operation(expr, binary);
  if (const char* function = function_of(binary.op))
    return called(function, type, text(binary.a) + ", " + text(binary.b));
  return fmt::format("({} {} {})", text(binary.a), c_token(binary.op), text(binary.b));
}

std::string HostExprs::print(const ir::Expr&, const ir::Select& select) {
  return fmt::format("({} ? {} : {})", text(select.cond), text(select.if_true), text(select.if_false));
}

std::string HostExprs::print(const ir::Expr& expr, const ir::Cast& cast) {
  DType from = cast.a->type, to = expr.type;
  bool plain =
      !cast.saturate && cast.rounding == (ir::is_float(to) ? ir::Rounding::nearest_even : ir::Rounding::toward_zero);
  bool known = (!ir::is_float(from) || has_double(from)) && (!ir::is_float(to) || has_double(to));
  bool truncates = ir::is_float(from) && ir::is_integer(to);
  if (!known || (!plain && !ir::is_bool(to)) || truncates)
    return refused(expr, fmt::format("a conversion from {} to {}{}", ir::dtype_name(from), ir::dtype_name(to),
                                     plain ? "" : ", with rounding or saturation"));
  std::string a = text(cast.a);
  if (ir::is_bool(to)) return "(" + a + " != 0)";
  if (!ir::is_float(to)) return from == to || ir::is_bool(from) ? a : called("num_cast", to, a);
  std::string number = from == DType::u64 ? "(uint64_t)" + a : a;
  return to == DType::f32 ? "(double)(float)" + number : "(double)" + number;
}

std::string HostExprs::print(const ir::Expr& expr, const ir::Bitcast&) { return refused(expr, "a bitcast"); }

std::string HostExprs::print(const ir::Expr& expr, const ir::Call& call) {
  if (call.fn == ir::Intrinsic::abs && !ir::is_float(expr.type))
    return called("num_abs", expr.type, text(call.args[0]));
  return refused(expr, fmt::format("the function {}", ir::intrinsic_name(call.fn)));
}

}  // namespace plait::emit::c
