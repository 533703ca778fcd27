#include "emit/cpu/float_format.h"

#include "llvm/IR/Intrinsics.h"
#include "support/diagnostic.h"

namespace plait::cpu {

using ir::DType;
using ir::Rounding;
using llvm::IRBuilderBase;
using llvm::Value;

namespace {

constexpr std::uint32_t infinity_bits = 0x7f800000U;
constexpr std::uint32_t nan_bits = 0x7fc00000U;
constexpr int f32_mantissa = 23;
constexpr int f32_bias = 127;

/// f32 bits of 2^exponent, a normal number.
std::uint32_t power_bits(int exponent) { return static_cast<std::uint32_t>(exponent + f32_bias) << f32_mantissa; }
bool has_f32_exponents(const SmallFormat& format) { return format.min_exponent == 1 - f32_bias; }
int dropped_bits(const SmallFormat& format) { return f32_mantissa - format.mantissa; }
/// f32 whose last bit is the format's smallest subnormal: adding it to a smaller number rounds that to a multiple of
/// the smallest subnormal.
std::uint32_t subnormal_magic(const SmallFormat& format) {
  return power_bits(f32_mantissa + format.min_exponent - format.mantissa);
}

/// i1: rounding away from zero is what a directed `rounding` asks for.
Value* rounds_away(const F32Ops& ops, Value* x, Rounding rounding) {
  Value* negative = ops.b.CreateICmpNE(ops.sign(x), ops.integer(0));
  return rounding == Rounding::down ? negative : ops.b.CreateNot(negative);
}

/// Magnitude rounded at the format's last fraction bit, for values that are normal in it (or for all, where exponents
/// are those of f32).
Value* round_normal(const F32Ops& ops, const SmallFormat& format, Value* x, Rounding rounding) {
  const int drop = dropped_bits(format);
  const std::uint32_t mask = (1U << drop) - 1;
  Value* magnitude = ops.magnitude(x);
  Value* bias = nullptr;
  switch (rounding) {
    case Rounding::nearest_even:
      bias =
          ops.b.CreateAdd(ops.b.CreateAnd(ops.b.CreateLShr(magnitude, drop), ops.integer(1)), ops.integer(mask >> 1));
      break;
    case Rounding::toward_zero:
      bias = ops.integer(0);
      break;
    case Rounding::up:
    case Rounding::down:
      bias = ops.b.CreateSelect(rounds_away(ops, x, rounding), ops.integer(mask), ops.integer(0));
      break;
  }
  return ops.b.CreateAnd(ops.b.CreateAdd(magnitude, bias), ops.integer(~mask));
}

/// Magnitude rounded to a multiple of the format's smallest subnormal, for values below its smallest normal number.
Value* round_subnormal(const F32Ops& ops, const SmallFormat& format, Value* x, Rounding rounding) {
  Value* magic = ops.value(ops.integer(subnormal_magic(format)));
  Value* magnitude = ops.value(ops.magnitude(x));
  Value* rounded = ops.bits(ops.b.CreateFAdd(magnitude, magic));
  if (rounding != Rounding::nearest_even) {
    Value* back = ops.b.CreateFSub(ops.value(rounded), magic);
    Value* too_large = ops.b.CreateZExt(ops.b.CreateFCmpOGT(back, magnitude), ops.int_type);
    Value* inexact = ops.b.CreateZExt(ops.b.CreateFCmpONE(back, magnitude), ops.int_type);
    rounded = ops.b.CreateSub(rounded, too_large);
    if (rounding != Rounding::toward_zero) {
      Value* away = ops.b.CreateSelect(rounds_away(ops, x, rounding), inexact, ops.integer(0));
      rounded = ops.b.CreateAdd(rounded, away);
    }
  }
  return ops.bits(ops.b.CreateFSub(ops.value(rounded), magic));
}

std::uint32_t overflow_bits(const SmallFormat& format) {
  switch (format.overflow) {
    case Overflow::infinity:
      return infinity_bits;
    case Overflow::nan:
      return nan_bits;
    case Overflow::largest:
      return format.largest;
  }
  return nan_bits;
}

/// What a magnitude beyond the largest finite number becomes.
Value* overflowed(const F32Ops& ops, const SmallFormat& format, Value* x, Rounding rounding, bool saturate) {
  Value* largest = ops.integer(format.largest);
  if (saturate || format.overflow == Overflow::largest) return largest;
  Value* beyond = ops.integer(overflow_bits(format));
  if (rounding == Rounding::nearest_even) return beyond;
  // A finite number that rounds toward zero stops at the largest; an infinity does not.
  Value* stops = ops.b.CreateICmpNE(ops.magnitude(x), ops.integer(infinity_bits));
  if (rounding != Rounding::toward_zero) stops = ops.b.CreateAnd(stops, ops.b.CreateNot(rounds_away(ops, x, rounding)));
  return ops.b.CreateSelect(stops, largest, beyond);
}

}  // namespace

F32Ops::F32Ops(IRBuilderBase& builder, Value* value)
    : b(builder),
      float_type(with_lanes(builder.getFloatTy(), value)),
      int_type(with_lanes(builder.getInt32Ty(), value)) {}

llvm::Type* with_lanes(llvm::Type* scalar, Value* like) { return like->getType()->getWithNewType(scalar); }

SmallFormat small_format(DType type) {
  switch (type) {
    case DType::f16:
      return {16, 10, -14, 0x477fe000U, Overflow::infinity};
    case DType::bf16:
      return {16, 7, -126, 0x7f7f0000U, Overflow::infinity};
    case DType::tf32:
      return {32, 10, -126, 0x7f7fe000U, Overflow::infinity};
    case DType::e5m2:
      return {8, 2, -14, 0x47600000U, Overflow::infinity};
    case DType::e4m3:
      return {8, 3, -6, 0x43e00000U, Overflow::nan};
    case DType::e2m1:
      return {4, 1, 0, 0x40c00000U, Overflow::largest};
    case DType::f32:
    case DType::f64:
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
      break;
  }
  throw InternalError("not a float format narrower than f32");
}

Value* decode_small(IRBuilderBase& builder, const SmallFormat& format, Value* bits) {
  const F32Ops ops(builder, bits);
  IRBuilderBase& b = ops.b;
  Value* wide = b.CreateZExtOrTrunc(bits, ops.int_type);
  Value* sign = b.CreateShl(b.CreateAnd(wide, ops.integer(1U << (format.bits - 1))), 32 - format.bits);
  const int drop = dropped_bits(format);
  if (has_f32_exponents(format)) return ops.value(format.bits == 32 ? wide : b.CreateShl(wide, drop));
  Value* code = b.CreateAnd(wide, ops.integer((1U << (format.bits - 1)) - 1));
  Value* shifted = b.CreateShl(code, drop);
  Value* normal = b.CreateAdd(shifted, ops.integer(power_bits(format.min_exponent - 1)));
  // A subnormal's fraction, read at the smallest normal exponent, is too large by that power of two; no f32 subnormal
  // ever appears.
  Value* smallest = ops.value(ops.integer(power_bits(format.min_exponent)));
  Value* lifted = b.CreateAdd(shifted, ops.integer(power_bits(format.min_exponent)));
  Value* subnormal = ops.bits(b.CreateFSub(ops.value(lifted), smallest));
  Value* is_subnormal = b.CreateICmpULT(code, ops.integer(1U << format.mantissa));
  Value* magnitude = b.CreateSelect(is_subnormal, subnormal, normal);
  if (format.overflow != Overflow::largest) {
    const std::uint32_t top = format.overflow == Overflow::nan
                                  ? (1U << (format.bits - 1)) - 1
                                  : ((1U << (format.bits - 1 - format.mantissa)) - 1) << format.mantissa;
    // With infinities the fraction stays below the all-ones exponent: NaN stays NaN. Without them the one code above
    // the largest is NaN.
    const std::uint32_t special = format.overflow == Overflow::nan ? nan_bits : infinity_bits;
    magnitude =
        b.CreateSelect(b.CreateICmpUGE(code, ops.integer(top)), b.CreateOr(shifted, ops.integer(special)), magnitude);
  }
  return ops.value(b.CreateOr(magnitude, sign));
}

Value* encode_small(IRBuilderBase& builder, const SmallFormat& format, Value* value) {
  const F32Ops ops(builder, value);
  IRBuilderBase& b = ops.b;
  llvm::Type* storage = with_lanes(b.getIntNTy(static_cast<unsigned>(format.bits)), value);
  const int drop = dropped_bits(format);
  if (format.bits == 32) return ops.bits(value);
  if (has_f32_exponents(format)) return b.CreateTrunc(b.CreateLShr(ops.bits(value), drop), storage);
  Value* magnitude = ops.magnitude(value);
  Value* normal = b.CreateLShr(b.CreateSub(magnitude, ops.integer(power_bits(format.min_exponent - 1))), drop);
  const std::uint32_t magic = subnormal_magic(format);
  Value* lifted = b.CreateFAdd(ops.value(magnitude), ops.value(ops.integer(magic)));
  Value* subnormal = b.CreateSub(ops.bits(lifted), ops.integer(magic));
  Value* code =
      b.CreateSelect(b.CreateICmpULT(magnitude, ops.integer(power_bits(format.min_exponent))), subnormal, normal);
  const std::uint32_t last = (1U << (format.bits - 1)) - 1;
  const std::uint32_t infinity = last & ~((1U << format.mantissa) - 1);
  if (format.overflow == Overflow::infinity) {
    code = b.CreateSelect(b.CreateICmpEQ(magnitude, ops.integer(infinity_bits)), ops.integer(infinity), code);
  }
  if (format.overflow != Overflow::largest) {
    const std::uint32_t nan = format.overflow == Overflow::nan ? last : infinity | (1U << (format.mantissa - 1));
    code = b.CreateSelect(b.CreateICmpUGT(magnitude, ops.integer(infinity_bits)), ops.integer(nan), code);
  }
  Value* sign = b.CreateLShr(ops.sign(value), 32 - format.bits);
  return b.CreateTrunc(b.CreateOr(code, sign), storage);
}

Value* round_small(IRBuilderBase& builder, const SmallFormat& format, Value* value, Rounding rounding, bool saturate) {
  const F32Ops ops(builder, value);
  IRBuilderBase& b = ops.b;
  Value* rounded = round_normal(ops, format, value, rounding);
  if (!has_f32_exponents(format)) {
    Value* small = b.CreateICmpULT(ops.magnitude(value), ops.integer(power_bits(format.min_exponent)));
    rounded = b.CreateSelect(small, round_subnormal(ops, format, value, rounding), rounded);
  }
  Value* beyond = b.CreateICmpUGT(rounded, ops.integer(format.largest));
  rounded = b.CreateSelect(beyond, overflowed(ops, format, value, rounding, saturate), rounded);
  Value* is_nan = b.CreateICmpUGT(ops.magnitude(value), ops.integer(infinity_bits));
  Value* nan = ops.integer(format.overflow == Overflow::largest ? format.largest : nan_bits);
  rounded = b.CreateSelect(is_nan, nan, rounded);
  Value* sign = ops.sign(value);
  // A format without NaN turns every NaN into its positive largest number.
  if (format.overflow == Overflow::largest) sign = b.CreateSelect(is_nan, ops.integer(0), sign);
  return ops.value(b.CreateOr(rounded, sign));
}

namespace {

struct Narrowed {
  Value* magnitude;  ///< toward zero, f32 bits
  Value* inexact;    ///< i32, 0 or 1
};

Narrowed narrow_toward_zero(const F32Ops& ops, Value* value) {
  IRBuilderBase& b = ops.b;
  Value* wide = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  Value* nearest = b.CreateFPTrunc(wide, ops.float_type);
  Value* back = b.CreateFPExt(nearest, value->getType());
  Value* too_large = b.CreateZExt(b.CreateFCmpOGT(back, wide), ops.int_type);
  Value* inexact = b.CreateZExt(b.CreateFCmpONE(back, wide), ops.int_type);
  return {b.CreateSub(ops.bits(nearest), too_large), inexact};
}

Value* sign_of_double(const F32Ops& ops, Value* value) {
  Value* bits = ops.b.CreateBitCast(value, with_lanes(ops.b.getInt64Ty(), value));
  Value* high = ops.b.CreateTrunc(ops.b.CreateLShr(bits, 32), ops.int_type);
  return ops.b.CreateAnd(high, ops.integer(0x80000000U));
}

}  // namespace

Value* narrow_to_odd(IRBuilderBase& builder, Value* value) {
  const F32Ops ops(builder, value);
  const Narrowed narrowed = narrow_toward_zero(ops, value);
  Value* magnitude = ops.b.CreateOr(narrowed.magnitude, narrowed.inexact);
  return ops.value(ops.b.CreateOr(magnitude, sign_of_double(ops, value)));
}

Value* narrow_directed(IRBuilderBase& builder, Value* value, Rounding rounding) {
  const F32Ops ops(builder, value);
  const Narrowed narrowed = narrow_toward_zero(ops, value);
  Value* magnitude = narrowed.magnitude;
  Value* sign = sign_of_double(ops, value);
  if (rounding != Rounding::toward_zero) {
    Value* away = ops.b.CreateSelect(rounds_away(ops, ops.value(sign), rounding), narrowed.inexact, ops.integer(0));
    magnitude = ops.b.CreateAdd(magnitude, away);
  }
  return ops.value(ops.b.CreateOr(magnitude, sign));
}

}  // namespace plait::cpu
