#include <fmt/format.h>

#include <cmath>

#include "emit/cuda/emitter.h"
#include "ir/evaluate.h"
#include "ir/numeric.h"

// Values of one type as those of another one, by docs/language.md, "Conversions".
namespace plait::emit::cuda {
namespace {

using ir::DType;
using ir::Rounding;

constexpr int kByteBits = 8;

/// Whether every value of the integer type is one of float.
bool exact_in_float(DType type) {
  constexpr int float_bits = 24;
  return ir::is_bool(type) || ir::dtype_bits(type) < float_bits;
}

bool is_narrow_integer(DType type) { return ir::is_integer(type) && !ir::is_bool(type) && ir::dtype_bits(type) < 8; }

std::string as_type(DType type, const std::string& value) {
  std::string name = value_type(type);
  return name.find(' ') == std::string::npos ? fmt::format("{}({})", name, value)
                                             : fmt::format("({})({})", name, value);
}

/// The value as float, so that one more rounding to at most 22 bits is the only one.
std::string as_float(Emitter& e, DType from, const std::string& value) {
  if (ir::is_float(from) ? from != DType::f64 : exact_in_float(from)) return value;
  return fmt::format("{}({})", e.helper("odd"), value);
}

std::string to_wide_float(Emitter& e, DType from, DType to, Rounding rounding, bool saturate,
                          const std::string& value) {
  std::string text = value;
  if (from == DType::f64 && to == DType::f32 && rounding != Rounding::nearest_even) {
    const char* mode = rounding == Rounding::toward_zero ? "rz" : rounding == Rounding::down ? "rd" : "ru";
    text = fmt::format("__double2float_{}({})", mode, value);
  } else if (value_type(from) != value_type(to)) {
    text = as_type(to, value);
  }
  if (!saturate) return text;
  return fmt::format("{}({})", e.helper(to == DType::f64 ? "saturated_f64" : "saturated_f32"), text);
}

/// A float in the middle of no integers: what `round=` makes of it.
std::string to_whole(DType from, Rounding rounding, const std::string& value) {
  std::string suffix = from == DType::f64 ? "" : "f";
  switch (rounding) {
    case Rounding::toward_zero:
      return value;
    case Rounding::nearest_even:
      return fmt::format("rint{}({})", suffix, value);
    case Rounding::down:
      return fmt::format("floor{}({})", suffix, value);
    case Rounding::up:
      return fmt::format("ceil{}({})", suffix, value);
  }
  return value;
}

struct Ends {
  std::int64_t least = 0;
  std::uint64_t most = 0;
};
Ends ends_of(DType type) {
  int bits = ir::dtype_bits(type);
  if (!ir::is_signed_integer(type)) return {0, ~std::uint64_t{0} >> (64 - bits)};
  return {static_cast<std::int64_t>(~std::uint64_t{0} << (bits - 1)), (std::uint64_t{1} << (bits - 1)) - 1};
}

std::string least_text(std::int64_t least) {
  return least == INT64_MIN ? "(-9223372036854775807ll - 1)" : fmt::format("{}ll", least);
}

std::string float_to_integer(Emitter& e, DType from, DType to, Rounding rounding, bool saturate,
                             const std::string& value) {
  std::string whole = to_whole(from, rounding, value);
  if (saturate) {
    int bits = ir::dtype_bits(to);
    bool is_signed = ir::is_signed_integer(to);
    std::string suffix = from == DType::f64 ? "" : "f";
    auto power = [&](int exponent) { return fmt::format("{:.1f}{}", std::ldexp(1.0, exponent), suffix); };
    Ends ends = ends_of(to);
    return fmt::format("{}<{}>({}, {}, {}, {}, {}ull)", e.helper("saturated"), value_type(to), whole,
                       is_signed ? "-" + power(bits - 1) : "0.0" + suffix, power(is_signed ? bits - 1 : bits),
                       least_text(ends.least), ends.most);
  }
  if (to == DType::u64) return fmt::format("{}({})", e.helper("to_u64"), whole);
  std::string wide = fmt::format("{}({})", e.helper("to_integer"), whole);
  if (is_narrow_integer(to)) return fmt::format("{}({})", e.helper(fmt::format("wrap_{}", ir::dtype_name(to))), wide);
  return to == DType::i64 ? wide : as_type(to, wide);
}

std::string integer_to_integer(Emitter& e, DType from, DType to, bool saturate, const std::string& value) {
  if (!saturate) {
    if (is_narrow_integer(to))
      return fmt::format("{}({})", e.helper(fmt::format("wrap_{}", ir::dtype_name(to))), value);
    return as_type(to, value);
  }
  Ends own = ends_of(from), ends = ends_of(to);
  std::string text = value, wide = from == DType::u64 ? "unsigned long long" : "long long";
  if (own.least < ends.least)
    text = fmt::format("{}<{}>({}, {})", e.helper("max_of"), wide, text, least_text(ends.least));
  if (own.most > ends.most) text = fmt::format("{}<{}>({}, {}ull)", e.helper("min_of"), wide, text, ends.most);
  return as_type(to, text);
}

/// The helper that rounds a float to a narrower type.
std::string rounding_helper(Emitter& e, DType to, Rounding rounding, bool saturate) {
  std::string name = fmt::format("round_{}", ir::dtype_name(to));
  if (rounding == Rounding::nearest_even && !saturate) return e.helper(name);
  static constexpr const char* kWords[] = {"", "_toward_zero", "_down", "_up"};
  name += kWords[static_cast<int>(rounding)];
  if (saturate) name += "_saturated";
  return is_fixed_helper(name) ? e.helper(name) : e.helper(name, rounding_text(e, name, to, rounding, saturate));
}

}  // namespace

std::string rounded_text(Emitter& e, DType type, const std::string& value) {
  return fmt::format("{}({})", rounding_helper(e, type, Rounding::nearest_even, false), value);
}

std::string cast_text(Emitter& e, DType from, DType to, Rounding rounding, bool saturate, const std::string& value) {
  if (ir::is_bool(to)) return fmt::format("(({}) != 0)", value);
  if (ir::is_integer(to)) {
    return ir::is_float(from) ? float_to_integer(e, from, to, rounding, saturate, value)
                              : integer_to_integer(e, from, to, saturate, value);
  }
  if (to == DType::f32 || to == DType::f64) return to_wide_float(e, from, to, rounding, saturate, value);
  return fmt::format("{}({})", rounding_helper(e, to, rounding, saturate), as_float(e, from, value));
}

std::string code_text(Emitter& e, DType type, const std::string& value) {
  switch (type) {
    case DType::f64:
      return fmt::format("__double_as_longlong({})", value);
    case DType::f32:
    case DType::tf32:
      return fmt::format("__float_as_uint({})", value);
    case DType::f16:
    case DType::bf16:
    case DType::e4m3:
    case DType::e5m2:
      return fmt::format("{}({}).bits", e.helper(fmt::format("to_{}", ir::dtype_name(type))), value);
    case DType::e2m1:
      return fmt::format("{}({})", e.helper("to_e2m1"), value);
    case DType::bool_:
    case DType::i1:
    case DType::i2:
    case DType::i4:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u1:
    case DType::u2:
    case DType::u4:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return value;
  }
  return value;
}

std::string from_code(Emitter& e, DType type, const std::string& code) {
  switch (type) {
    case DType::f64:
      return fmt::format("__longlong_as_double({})", code);
    case DType::f32:
    case DType::tf32:
      return fmt::format("__uint_as_float({})", code);
    case DType::f16:
    case DType::bf16:
      return fmt::format("{}((unsigned short)({}))", e.helper(fmt::format("{}_to_float", ir::dtype_name(type))), code);
    case DType::e4m3:
    case DType::e5m2:
      return fmt::format("{}((unsigned char)({}))", e.helper(fmt::format("{}_to_float", ir::dtype_name(type))), code);
    case DType::e2m1:
      return fmt::format("{}({})", e.helper("e2m1_to_float"), code);
    case DType::bool_:
      return fmt::format("(({}) != 0)", code);
    case DType::i1:
    case DType::i2:
    case DType::i4:
    case DType::u1:
    case DType::u2:
    case DType::u4:
      return fmt::format("{}({})", e.helper(fmt::format("wrap_{}", ir::dtype_name(type))), code);
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return as_type(type, code);
  }
  return code;
}

std::string from_memory(Emitter& e, DType type, const std::string& text) {
  bool in_struct = type == DType::f16 || type == DType::bf16 || type == DType::e4m3 || type == DType::e5m2;
  if (in_struct) return fmt::format("{}({}.bits)", e.helper(fmt::format("{}_to_float", ir::dtype_name(type))), text);
  PLAIT_ASSERT(ir::dtype_bits(type) >= kByteBits, "an element of less than a byte has no place of its own");
  return text;
}

std::string to_memory(Emitter& e, DType type, const std::string& text) {
  bool in_struct = type == DType::f16 || type == DType::bf16 || type == DType::e4m3 || type == DType::e5m2;
  return in_struct ? fmt::format("{}({})", e.helper(fmt::format("to_{}", ir::dtype_name(type))), text) : text;
}

}  // namespace plait::emit::cuda
