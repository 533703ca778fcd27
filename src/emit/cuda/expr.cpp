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
  Text call(const std::string& function, const std::vector<ir::ExprRef>& args) {
    std::string list;
    for (const ir::ExprRef& arg : args) list += (list.empty() ? "" : ", ") + text(arg, Level::select);
    return {function + "(" + list + ")"};
  }
  /// The float result of an operation rounded to a narrow type.
  Text rounded(DType type, Text value, const Loc& loc);
  /// An int as one of a narrower integer type, which C++ widens in every operation.
  Text wrapped(DType type, const Text& value);

  Emitter& e_;
  Elements* elements_;
};

Text Printer::rounded(DType type, Text value, const Loc& loc) {
  if (!narrow_float(type)) return value;
  if (type == DType::bf16 || type == DType::f16 || type == DType::tf32)
    return {e_.helper("round_" + std::string(ir::dtype_name(type))) + "(" + value.text + ")"};
  e_.unsupported(loc, fmt::format("arithmetic in {} is not printed to CUDA", ir::dtype_name(type)),
                 "compute in f32 and convert at the store");
  return value;
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
    if (type == DType::f64) e_.unsupported(expr.loc, "min and max of f64 are not printed to CUDA", "use a select");
    if (floating) return call(e_.helper(is_max ? "max_nan" : "min_nan"), {binary.a, binary.b});
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
  Text result{text(binary.a, level) + fmt::format(" {} ", cpp_token(binary.op)) + text(binary.b, next), level};
  bool arithmetic = level == Level::sum || level == Level::product;
  if (arithmetic || binary.op == BinaryOp::shl) result = wrapped(expr.type, result);
  return arithmetic ? rounded(expr.type, result, expr.loc) : result;
}

Text Printer::print(const ir::Expr& expr, const ir::Cast& cast) {
  DType from = cast.a->type;
  DType to = expr.type;
  DType nearest_types = to;
  bool default_rounding =
      cast.rounding == (ir::is_float(nearest_types) ? ir::Rounding::nearest_even : ir::Rounding::toward_zero);
  if (cast.saturate || !default_rounding) {
    e_.unsupported(expr.loc, "a conversion with round= or saturate= is not printed to CUDA",
                   "leave the option out, or clamp with min and max");
    return {"0"};
  }
  if (narrow_float(to)) {
    if (narrow_float(from) && from == to) return {text(cast.a, Level::atom)};
    return rounded(to, {text(cast.a, Level::select)}, expr.loc);
  }
  constexpr int byte_bits = 8;
  if (ir::is_integer(to) && !ir::is_bool(to) && ir::dtype_bits(to) < byte_bits && from != to) {
    std::string value = text(cast.a, Level::select);
    return wrapped(to, {ir::is_float(from) ? "int(" + value + ")" : value});
  }
  if (value_type(from) == value_type(to)) return {text(cast.a, Level::atom)};
  if (ir::is_bool(to)) return {text(cast.a, Level::relation) + " != 0", Level::equality};
  return {value_type(to).find(' ') == std::string::npos ? value_type(to) + "(" + text(cast.a, Level::select) + ")"
                                                        : "(" + value_type(to) + ")" + text(cast.a, Level::unary),
          Level::unary};
}

Text Printer::print(const ir::Expr& expr, const ir::Bitcast& bitcast) {
  DType from = bitcast.a->type;
  DType to = expr.type;
  bool from_int = ir::is_integer(from) && ir::dtype_bits(from) == 32;
  bool to_int = ir::is_integer(to) && ir::dtype_bits(to) == 32;
  if (from == DType::f32 && to_int)
    return {value_type(to) + "(__float_as_uint(" + text(bitcast.a, Level::select) + "))"};
  if (from_int && to == DType::f32) return {"__uint_as_float(" + text(bitcast.a, Level::select) + ")"};
  if (value_type(from) == value_type(to) && !narrow_float(from)) return {text(bitcast.a, Level::atom)};
  e_.unsupported(expr.loc,
                 fmt::format("bitcast from {} to {} is not printed to CUDA", ir::dtype_name(from), ir::dtype_name(to)),
                 "bitcast between f32 and 32-bit integers");
  return {"0"};
}

Text Printer::print(const ir::Expr& expr, const ir::Call& c) {
  using ir::Intrinsic;
  if (expr.type == DType::f64) e_.unsupported(expr.loc, "functions of f64 are not printed to CUDA", "compute in f32");
  auto unary = [&](const std::string& function) { return rounded(expr.type, call(function, c.args), expr.loc); };
  switch (c.fn) {
    case Intrinsic::exp:
      return rounded(expr.type, {e_.helper("exp2_approx") + "(" + text(c.args[0], Level::product) + " * 1.442695041f)"},
                     expr.loc);
    case Intrinsic::log:
      return rounded(
          expr.type,
          {e_.helper("log2_approx") + "(" + text(c.args[0], Level::select) + ") * 0.6931471806f", Level::product},
          expr.loc);
    case Intrinsic::exp2:
      return unary(e_.helper("exp2_approx"));
    case Intrinsic::log2:
      return unary(e_.helper("log2_approx"));
    case Intrinsic::rsqrt:
      return unary(e_.helper("rsqrt_approx"));
    case Intrinsic::sin:
      return unary(e_.helper("sin_approx"));
    case Intrinsic::cos:
      return unary(e_.helper("cos_approx"));
    case Intrinsic::tanh:
      return unary(e_.helper("tanh_approx"));
    case Intrinsic::sigmoid:
      return rounded(
          expr.type,
          {"1.0f / (1.0f + " + e_.helper("exp2_approx") + "(-1.442695041f * " + text(c.args[0], Level::unary) + "))",
           Level::product},
          expr.loc);
    case Intrinsic::sqrt:
      return unary("sqrtf");
    case Intrinsic::erf:
      return unary("erff");
    case Intrinsic::floor:
      return unary("floorf");
    case Intrinsic::ceil:
      return unary("ceilf");
    case Intrinsic::round:
      return unary("roundf");
    case Intrinsic::trunc:
      return unary("truncf");
    case Intrinsic::abs:
      return ir::is_float(expr.type) ? call("fabsf", c.args) : call("abs", c.args);
    case Intrinsic::pow:
      return unary("powf");
    case Intrinsic::fma:
      return unary("fmaf");
    case Intrinsic::isnan:
      return call("isnan", c.args);
    case Intrinsic::isinf:
      return call("isinf", c.args);
  }
  return {};
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
      return from_memory(e_, type, e_.use(load.buffer) + "[" + offset + "]", loc);
    }
    case ir::Scope::shared: {
      for (const roles::Smem& smem : e_.program.smem) {
        if (smem->buffer != load.buffer) continue;
        roles::SmemRef ref{smem, load.index, loc};
        std::string type = memory_type(e_, load.buffer->type);
        return from_memory(
            e_, load.buffer->type,
            e_.helper("shared_at") + "<const " + type + ">(" + element_address(e_, ref, "0", "0", elements_) + ")",
            loc);
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

std::string from_memory(Emitter& e, ir::DType type, const std::string& text, const Loc& loc) {
  constexpr int kAda = 89;
  switch (type) {
    case DType::e4m3:
    case DType::e5m2:
      e.needs_sm(kAda, loc, fmt::format("a conversion of {}", ir::dtype_name(type)));
      [[fallthrough]];
    case DType::bf16:
    case DType::f16:
      return e.helper(std::string(ir::dtype_name(type)) + "_to_float") + "(" + text + ".bits)";
    case DType::e2m1:
    case DType::i1:
    case DType::i2:
    case DType::i4:
    case DType::u1:
    case DType::u2:
    case DType::u4:
      e.unsupported(loc, fmt::format("single elements of type {} are not read in CUDA", ir::dtype_name(type)),
                    "move whole tiles");
      return "0";
    case DType::bool_:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::tf32:
    case DType::f32:
    case DType::f64:
      return text;
  }
  return text;
}

std::string to_memory(Emitter& e, ir::DType type, const std::string& text, const Loc& loc) {
  switch (type) {
    case DType::bf16:
    case DType::f16:
      return e.helper("to_" + std::string(ir::dtype_name(type))) + "(" + text + ")";
    case DType::e4m3:
    case DType::e5m2:
    case DType::e2m1:
    case DType::i1:
    case DType::i2:
    case DType::i4:
    case DType::u1:
    case DType::u2:
    case DType::u4:
      e.unsupported(loc, fmt::format("single elements of type {} are not written in CUDA", ir::dtype_name(type)),
                    "move whole tiles");
      return text;
    case DType::bool_:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::tf32:
    case DType::f32:
    case DType::f64:
      return text;
  }
  return text;
}

}  // namespace plait::emit::cuda
