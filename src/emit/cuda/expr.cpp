#include <fmt/format.h>

#include <cmath>

#include "emit/cuda/emitter.h"

namespace plait::emit::cuda {
namespace {

using ir::BinaryOp;
using ir::DType;

struct Text {
  std::string text;
  Level level = Level::atom;
};

Level level_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::logical_or:
      return Level::logical_or;
    case BinaryOp::logical_and:
      return Level::logical_and;
    case BinaryOp::eq:
    case BinaryOp::ne:
      return Level::equality;
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
      return Level::relation;
    case BinaryOp::bit_or:
      return Level::bit_or;
    case BinaryOp::bit_xor:
      return Level::bit_xor;
    case BinaryOp::bit_and:
      return Level::bit_and;
    case BinaryOp::shl:
    case BinaryOp::shr:
      return Level::shift;
    case BinaryOp::add:
    case BinaryOp::sub:
      return Level::sum;
    case BinaryOp::mul:
    case BinaryOp::div:
    case BinaryOp::mod:
      return Level::product;
    case BinaryOp::ceil_div:
    case BinaryOp::min:
    case BinaryOp::max:
      return Level::atom;
  }
  return Level::atom;
}

std::string_view cpp_token(BinaryOp op) {
  if (op == BinaryOp::logical_and) return "&&";
  if (op == BinaryOp::logical_or) return "||";
  return ir::binary_op_token(op);
}

bool narrow_float(DType type) { return ir::is_float(type) && type != DType::f32 && type != DType::f64; }

std::string float_text(DType type, double value) {
  std::string suffix = type == DType::f64 ? "" : "f";
  if (std::isnan(value))
    return type == DType::f64 ? "__longlong_as_double(0x7ff8000000000000ll)" : "__int_as_float(0x7fc00000)";
  if (std::isinf(value))
    return type == DType::f64
               ? fmt::format("__longlong_as_double(0x{}ll)", value > 0 ? "7ff0000000000000" : "fff0000000000000")
               : fmt::format("__int_as_float(0x{})", value > 0 ? "7f800000" : "ff800000");
  std::string text = type == DType::f64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + suffix;
}

std::string int_text(DType type, std::int64_t value) {
  if (ir::is_bool(type)) return value != 0 ? "true" : "false";
  if (type == DType::u64)
    return value < 0 ? fmt::format("{}ull", static_cast<std::uint64_t>(value)) : fmt::format("{}", value);
  constexpr std::int64_t int_limit = std::int64_t{1} << 31;
  if (value >= int_limit) return type == DType::u32 ? fmt::format("{}u", value) : fmt::format("{}ll", value);
  if (value == INT64_MIN) return "(-9223372036854775807ll - 1)";
  return value < -int_limit ? fmt::format("{}ll", value) : fmt::format("{}", value);
}

/// Prints one expression tree.
class Printer {
 public:
  Printer(Emitter& e, Elements* elements) : e_(e), elements_(elements) {}

  std::string text(const ir::ExprRef& expr, Level least) {
    Text t = std::visit([&](const auto& node) { return print(*expr, node); }, expr->node);
    return t.level < least ? "(" + t.text + ")" : t.text;
  }

 private:
  Text print(const ir::Expr& expr, const ir::IntLit& lit) {
    std::string t = int_text(expr.type, lit.value);
    return {t, t[0] == '-' ? Level::unary : Level::atom};
  }
  Text print(const ir::Expr& expr, const ir::FloatLit& lit) {
    std::string t = float_text(expr.type, lit.value);
    return {t, t[0] == '-' ? Level::unary : Level::atom};
  }
  Text print(const ir::Expr&, const ir::VarRef& ref) { return {elements_ ? coordinate(ref) : e_.use(ref.var)}; }
  Text print(const ir::Expr& expr, const ir::Load& load) { return {element(load, expr.loc)}; }
  Text print(const ir::Expr& expr, const ir::Unary& unary);
  Text print(const ir::Expr& expr, const ir::Binary& binary);
  Text print(const ir::Expr& expr, const ir::Select& select) {
    if (elements_ != nullptr && (elements_->eager(select.if_true) || elements_->eager(select.if_false)))
      return call(e_.helper("pick") + "<" + value_type(expr.type) + ">",
                  {select.cond, select.if_true, select.if_false});
    return {text(select.cond, Level::logical_or) + " ? " + text(select.if_true, Level::select) + " : " +
                text(select.if_false, Level::select),
            Level::select};
  }
  Text print(const ir::Expr& expr, const ir::Cast& cast);
  Text print(const ir::Expr& expr, const ir::Bitcast& bitcast);
  Text print(const ir::Expr& expr, const ir::Call& call);

  std::string coordinate(const ir::VarRef& ref) { return elements_->variable(ref.var).value_or(e_.use(ref.var)); }
  std::string element(const ir::Load& load, const Loc& loc);
  static const char* library_name(ir::Intrinsic fn);
  Text absolute(DType type, const ir::Call& c);
  std::optional<Text> approximated(const ir::Call& c);
  Text call(const std::string& function, const std::vector<ir::ExprRef>& args) {
    std::string list;
    for (const ir::ExprRef& arg : args) list += (list.empty() ? "" : ", ") + text(arg, Level::select);
    return {function + "(" + list + ")"};
  }
  /// The float result of an operation rounded to a narrow type.
  Text rounded(DType type, Text value);
  /// An int as one of a narrower integer type, which C++ widens in every operation.
  Text wrapped(DType type, const Text& value);

  Emitter& e_;
  Elements* elements_;
};

Text Printer::rounded(DType type, Text value) {
  return narrow_float(type) ? Text{rounded_text(e_, type, value.text)} : value;
}

Text Printer::wrapped(DType type, const Text& value) {
  constexpr int int_bits = 32, byte_bits = 8;
  if (!ir::is_integer(type) || ir::is_bool(type) || ir::dtype_bits(type) >= int_bits) return value;
  if (ir::dtype_bits(type) < byte_bits)
    return {e_.helper(fmt::format("wrap_{}", ir::dtype_name(type))) + "(" + value.text + ")"};
  return {fmt::format("({})({})", value_type(type), value.text), Level::unary};
}

Text Printer::print(const ir::Expr& expr, const ir::Unary& unary) {
  switch (unary.op) {
    case ir::UnaryOp::neg: {
      std::string a = text(unary.a, Level::unary);
      return wrapped(expr.type, {(a[0] == '-' ? "-(" + a + ")" : "-" + a), Level::unary});
    }
    case ir::UnaryOp::bit_not:
      return wrapped(expr.type, {(ir::is_bool(expr.type) ? "!" : "~") + text(unary.a, Level::unary), Level::unary});
    case ir::UnaryOp::logical_not:
      return {"!" + text(unary.a, Level::unary), Level::unary};
  }
  return {};
}

Text Printer::print(const ir::Expr& expr, const ir::Binary& binary) {
  DType type = binary.a->type;
  bool floating = ir::is_float(type);
  if (binary.op == BinaryOp::min || binary.op == BinaryOp::max) {
    bool is_max = binary.op == BinaryOp::max;
    std::string word = is_max ? "max_nan" : "min_nan";
    if (floating) return call(e_.helper(type == DType::f64 ? word + "_f64" : word), {binary.a, binary.b});
    bool is_int = value_type(type) == "int" || value_type(type) == "unsigned";
    if (is_int) return call(is_max ? "max" : "min", {binary.a, binary.b});
    return call(e_.helper(is_max ? "max_of" : "min_of") + "<" + value_type(type) + ">", {binary.a, binary.b});
  }
  if (binary.op == BinaryOp::ceil_div)
    return call(e_.helper("ceil_div") + "<" + value_type(type) + ">", {binary.a, binary.b});
  if (binary.op == BinaryOp::mod && floating) {
    e_.unsupported(expr.loc, "the remainder of floats is not printed to CUDA", "compute it from trunc(a / b)");
    return {"0"};
  }
  Level level = level_of(binary.op);
  auto next = static_cast<Level>(static_cast<int>(level) + 1);
  // C++ takes both as int, which the product may leave.
  const char* widened = binary.op == BinaryOp::mul && type == DType::u16 ? "1u * " : "";
  Text result{widened + text(binary.a, level) + fmt::format(" {} ", cpp_token(binary.op)) + text(binary.b, next),
              level};
  bool arithmetic = level == Level::sum || level == Level::product;
  if (arithmetic || binary.op == BinaryOp::shl) result = wrapped(expr.type, result);
  return arithmetic ? rounded(expr.type, result) : result;
}

Text Printer::print(const ir::Expr& expr, const ir::Cast& cast) {
  DType from = cast.a->type, to = expr.type;
  bool plain =
      !cast.saturate && cast.rounding == (ir::is_integer(to) ? ir::Rounding::toward_zero : ir::Rounding::nearest_even);
  bool counts = ir::is_integer(from) && !ir::is_bool(to) && (!ir::is_integer(to) || ir::dtype_bits(to) >= 8);
  bool wide = !narrow_float(to);
  // Every value of the one type is one of the other.
  bool same = value_type(from) == value_type(to) && ir::is_bool(from) == ir::is_bool(to) &&
              (from == to || (wide && ir::dtype_bits(to) >= 8));
  if (plain && same) return {text(cast.a, Level::atom)};
  if (plain && counts && wide) {
    return {value_type(to).find(' ') == std::string::npos ? value_type(to) + "(" + text(cast.a, Level::select) + ")"
                                                          : "(" + value_type(to) + ")" + text(cast.a, Level::unary),
            Level::unary};
  }
  return {cast_text(e_, from, to, cast.rounding, cast.saturate, text(cast.a, Level::select)), Level::unary};
}

Text Printer::print(const ir::Expr& expr, const ir::Bitcast& bitcast) {
  DType from = bitcast.a->type, to = expr.type;
  bool words = !ir::is_float(from) && !ir::is_float(to) && ir::dtype_bits(to) >= 8;
  if (words && value_type(from) == value_type(to)) return {text(bitcast.a, Level::atom)};
  return {from_code(e_, to, code_text(e_, from, text(bitcast.a, Level::select))), Level::unary};
}

/// The name of a function of C, which that of float has an `f` behind; null for those that are printed otherwise.
const char* Printer::library_name(ir::Intrinsic fn) {
  using ir::Intrinsic;
  switch (fn) {
    case Intrinsic::exp:
      return "exp";
    case Intrinsic::exp2:
      return "exp2";
    case Intrinsic::log:
      return "log";
    case Intrinsic::log2:
      return "log2";
    case Intrinsic::rsqrt:
      return "rsqrt";
    case Intrinsic::sqrt:
      return "sqrt";
    case Intrinsic::sin:
      return "sin";
    case Intrinsic::cos:
      return "cos";
    case Intrinsic::tanh:
      return "tanh";
    case Intrinsic::erf:
      return "erf";
    case Intrinsic::floor:
      return "floor";
    case Intrinsic::ceil:
      return "ceil";
    case Intrinsic::round:
      return "round";
    case Intrinsic::trunc:
      return "trunc";
    case Intrinsic::pow:
      return "pow";
    case Intrinsic::fma:
      return "fma";
    case Intrinsic::sigmoid:
    case Intrinsic::abs:
    case Intrinsic::isnan:
    case Intrinsic::isinf:
      return nullptr;
  }
  return nullptr;
}

/// `abs`; the least number of a signed type stays.
Text Printer::absolute(DType type, const ir::Call& c) {
  if (ir::is_float(type)) return call(type == DType::f64 ? "fabs" : "fabsf", c.args);
  if (!ir::is_signed_integer(type)) return {text(c.args[0], Level::atom)};
  return wrapped(type, call("abs", c.args));
}

/// Of f32 and narrower types those that an instruction approximates.
std::optional<Text> Printer::approximated(const ir::Call& c) {
  using ir::Intrinsic;
  switch (c.fn) {
    case Intrinsic::exp:
      return Text{e_.helper("exp2_approx") + "(" + text(c.args[0], Level::product) + " * 1.442695041f)"};
    case Intrinsic::log:
      return Text{e_.helper("log2_approx") + "(" + text(c.args[0], Level::select) + ") * 0.6931471806f",
                  Level::product};
    case Intrinsic::sigmoid:
      return Text{
          "1.0f / (1.0f + " + e_.helper("exp2_approx") + "(-1.442695041f * " + text(c.args[0], Level::unary) + "))",
          Level::product};
    case Intrinsic::exp2:
    case Intrinsic::log2:
    case Intrinsic::rsqrt:
    case Intrinsic::sin:
    case Intrinsic::cos:
    case Intrinsic::tanh:
      return call(e_.helper(std::string(library_name(c.fn)) + "_approx"), c.args);
    case Intrinsic::sqrt:
    case Intrinsic::erf:
    case Intrinsic::floor:
    case Intrinsic::ceil:
    case Intrinsic::round:
    case Intrinsic::trunc:
    case Intrinsic::abs:
    case Intrinsic::pow:
    case Intrinsic::fma:
    case Intrinsic::isnan:
    case Intrinsic::isinf:
      return {};
  }
  return {};
}

Text Printer::print(const ir::Expr& expr, const ir::Call& c) {
  using ir::Intrinsic;
  if (c.fn == Intrinsic::abs) return absolute(expr.type, c);
  if (c.fn == Intrinsic::isnan || c.fn == Intrinsic::isinf)
    return call(c.fn == Intrinsic::isnan ? "isnan" : "isinf", c.args);
  if (expr.type == DType::f64) {
    if (c.fn == Intrinsic::sigmoid)
      return {"1.0 / (1.0 + exp(-(" + text(c.args[0], Level::select) + ")))", Level::product};
    return call(library_name(c.fn), c.args);
  }
  if (auto fast = approximated(c)) return rounded(expr.type, *fast);
  return rounded(expr.type, call(std::string(library_name(c.fn)) + "f", c.args));
}

std::string Printer::element(const ir::Load& load, const Loc& loc) {
  switch (load.buffer->scope) {
    case ir::Scope::global: {
      DType type = load.buffer->type;
      std::string offset = tensor_offset(e_, load.buffer, index_texts(e_, load.index, elements_));
      constexpr int byte_bits = 8;
      if (ir::dtype_bits(type) < byte_bits)
        return fmt::format("{}({}, {})", e_.helper(fmt::format("{}_at", ir::dtype_name(type))), e_.use(load.buffer),
                           offset);
      return from_memory(e_, type, e_.use(load.buffer) + "[" + offset + "]");
    }
    case ir::Scope::shared: {
      for (const roles::Smem& smem : e_.program.smem) {
        if (smem->buffer != load.buffer) continue;
        roles::SmemRef ref{smem, load.index, loc};
        std::string type = memory_type(e_, load.buffer->type);
        return from_memory(
            e_, load.buffer->type,
            e_.helper("shared_at") + "<const " + type + ">(" + element_address(e_, ref, "0", "0", elements_) + ")");
      }
      break;
    }
    case ir::Scope::fragment:
    case ir::Scope::local:
      break;
  }
  if (elements_) return elements_->element(load, loc);
  e_.unsupported(loc, fmt::format("an element of fragment '{}' is read outside `each`", load.buffer->name),
                 "read it inside `each`");
  return "0";
}

}  // namespace

std::string expr_text(Emitter& e, const ir::ExprRef& expr, Level least, Elements* elements) {
  return Printer(e, elements).text(expr, least);
}

std::vector<std::string> index_texts(Emitter& e, const std::vector<ir::ExprRef>& index, Elements* elements) {
  std::vector<std::string> texts;
  for (const ir::ExprRef& i : index) texts.push_back(expr_text(e, i, Level::sum, elements));
  return texts;
}

std::string plus(const std::string& a, const std::string& b) {
  if (a == "0") return b;
  if (b == "0") return a;
  return a + " + " + b;
}

std::string tensor_offset(Emitter& e, const ir::Buffer& tensor, const std::vector<std::string>& index) {
  auto wide = [](const std::string& text) {
    bool simple = text.find(' ') == std::string::npos;
    return simple ? "(long long)" + text : "(long long)(" + text + ")";
  };
  std::string offset = "0";
  for (std::size_t d = 0; d < index.size(); ++d) {
    bool last = d + 1 == index.size();
    if (tensor->strides.empty()) {
      // Horner over the extents.
      if (offset != "0") {
        bool sum = offset.find(" + ") != std::string::npos;
        offset =
            fmt::format("{} * {}", sum ? "(" + offset + ")" : offset, expr_text(e, tensor->shape[d], Level::product));
      }
      offset = plus(offset, last || index[d] == "0" ? index[d] : wide(index[d]));
    } else {
      std::string stride = expr_text(e, tensor->strides[d], Level::product);
      offset =
          plus(offset, stride == "1" || index[d] == "0" ? index[d] : fmt::format("{} * {}", wide(index[d]), stride));
    }
  }
  return offset;
}

}  // namespace plait::emit::cuda
