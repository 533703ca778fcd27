#include "emit/cpu/vector_convert.h"

#include "emit/cpu/float_format.h"
#include "llvm/IR/Intrinsics.h"
#include "support/diagnostic.h"

namespace plait::cpu {

using ir::DType;
using ir::Rounding;
using llvm::IRBuilderBase;
using llvm::Value;

namespace {

/// The builder without fast-math flags while an emitter works: rounding by magic numbers must not be simplified.
class ExactMath {
 public:
  explicit ExactMath(IRBuilderBase& builder) : guard_(builder) { builder.clearFastMathFlags(); }

 private:
  IRBuilderBase::FastMathFlagGuard guard_;
};

unsigned bits_of(DType type) { return static_cast<unsigned>(ir::dtype_bits(type)); }

bool uses_f16c(const VectorTarget& target, DType type, Rounding rounding, bool saturate) {
  return type == DType::f16 && target.f16c && rounding == Rounding::nearest_even && !saturate;
}

Value* constant_int(Value* like, const llvm::APInt& value) { return llvm::ConstantInt::get(like->getType(), value); }

/// Infinities to the largest finite number; NaN stays.
Value* clamp_infinity(IRBuilderBase& b, Value* value) {
  llvm::Type* type = value->getType();
  Value* largest = llvm::ConstantFP::get(type, llvm::APFloat::getLargest(type->getScalarType()->getFltSemantics()));
  Value* beyond = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value), largest);
  return b.CreateSelect(beyond, b.CreateCopySign(largest, value), value);
}

Value* round_to_f64(IRBuilderBase& b, Value* value, bool saturate) {
  Value* wide = value->getType()->getScalarType()->isDoubleTy()
                    ? value
                    : b.CreateFPExt(value, with_lanes(b.getDoubleTy(), value));
  return saturate ? clamp_infinity(b, wide) : wide;
}

Value* round_to_f32(IRBuilderBase& b, Value* value, Rounding rounding, bool saturate) {
  Value* narrow = value;
  if (value->getType()->getScalarType()->isDoubleTy()) {
    narrow = rounding == Rounding::nearest_even ? b.CreateFPTrunc(value, with_lanes(b.getFloatTy(), value))
                                                : narrow_directed(b, value, rounding);
  }
  return saturate ? clamp_infinity(b, narrow) : narrow;
}

// --- from integers

/// An integer that a double holds exactly and that rounds to every format narrower than f64 (and f32 itself) as `value`
/// does.
Value* sticky_53(IRBuilderBase& b, Value* value, bool is_signed) {
  const unsigned bits = value->getType()->getScalarSizeInBits();
  if (bits <= 53) return value;
  constexpr unsigned dropped = 12;
  const llvm::APInt low = llvm::APInt::getLowBitsSet(bits, dropped);
  Value* inexact =
      b.CreateICmpNE(b.CreateAnd(value, constant_int(value, low)), constant_int(value, llvm::APInt(bits, 0)));
  Value* last = constant_int(value, llvm::APInt::getOneBitSet(bits, dropped));
  Value* rounded = b.CreateAnd(value, constant_int(value, ~low));
  rounded = b.CreateOr(rounded, b.CreateSelect(inexact, last, constant_int(value, llvm::APInt(bits, 0))));
  // Numbers below 2^53 need no help, and for them bit 12 could be significant.
  const llvm::APInt exact = llvm::APInt::getOneBitSet(bits, 53);
  Value* small = nullptr;
  if (is_signed) {
    Value* shifted = b.CreateAdd(value, constant_int(value, exact));
    small = b.CreateICmpULT(shifted, constant_int(value, exact.shl(1)));
  } else {
    small = b.CreateICmpULT(value, constant_int(value, exact));
  }
  return b.CreateSelect(small, value, rounded);
}

Value* int_to_fp(IRBuilderBase& b, Value* value, bool is_signed, llvm::Type* scalar) {
  llvm::Type* type = with_lanes(scalar, value);
  return is_signed ? b.CreateSIToFP(value, type) : b.CreateUIToFP(value, type);
}

Value* int_to_float(IRBuilderBase& b, const VectorTarget& target, DType from, DType to, Value* value, bool saturate) {
  const bool is_signed = ir::is_signed_integer(from);
  if (to == DType::f64) return int_to_fp(b, value, is_signed, b.getDoubleTy());
  if (to == DType::f32) return int_to_fp(b, value, is_signed, b.getFloatTy());
  const bool exact_in_f32 = value->getType()->getScalarSizeInBits() <= 24;
  Value* wide = exact_in_f32 ? int_to_fp(b, value, is_signed, b.getFloatTy())
                             : int_to_fp(b, sticky_53(b, value, is_signed), is_signed, b.getDoubleTy());
  return emit_round(b, target, to, wide, Rounding::nearest_even, saturate);
}

Value* clamp_to_int(IRBuilderBase& b, bool from_signed, bool to_signed, unsigned to_bits, Value* value) {
  const unsigned bits = value->getType()->getScalarSizeInBits();
  const llvm::APInt top = to_signed ? llvm::APInt::getSignedMaxValue(to_bits) : llvm::APInt::getMaxValue(to_bits);
  const unsigned from_value_bits = from_signed ? bits - 1 : bits;
  if (from_value_bits > top.getActiveBits()) {
    Value* limit = constant_int(value, top.zextOrTrunc(bits));
    value = b.CreateBinaryIntrinsic(from_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, value, limit);
  }
  if (!from_signed || (to_signed && to_bits >= bits)) return value;
  const llvm::APInt bottom = to_signed ? llvm::APInt::getSignedMinValue(to_bits).sext(bits) : llvm::APInt(bits, 0);
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value, constant_int(value, bottom));
}

Value* int_to_int(IRBuilderBase& b, DType from, DType to, Value* value, bool saturate) {
  const bool from_signed = ir::is_signed_integer(from);
  if (saturate) value = clamp_to_int(b, from_signed, ir::is_signed_integer(to), bits_of(to), value);
  llvm::Type* type = with_lanes(b.getIntNTy(bits_of(to)), value);
  return from_signed ? b.CreateSExtOrTrunc(value, type) : b.CreateZExtOrTrunc(value, type);
}

// --- float to integer

Value* round_to_integral(IRBuilderBase& b, Value* value, Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest_even:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, value);
    case Rounding::toward_zero:
      return value;  // what the conversions do themselves
    case Rounding::down:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, value);
    case Rounding::up:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, value);
  }
  return value;
}

Value* saturating_to_int(IRBuilderBase& b, Value* value, llvm::Type* scalar, bool is_signed) {
  llvm::Type* type = with_lanes(scalar, value);
  return b.CreateIntrinsic(is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                           {type, value->getType()}, {value});
}

/// f32 vectors to the low 32 bits of their i64 value without leaving 32-bit lanes.
Value* f32_to_low_32(IRBuilderBase& b, Value* value) {
  const F32Ops ops(b, value);
  Value* magnitude = ops.magnitude(value);
  Value* negative = b.CreateICmpNE(ops.sign(value), ops.integer(0));
  Value* in_range = b.CreateICmpULT(magnitude, ops.integer(0x4f000000U));  // below 2^31
  Value* safe = b.CreateSelect(in_range, value, ops.number(0));
  Value* near = b.CreateFPToSI(safe, ops.int_type);
  // From 2^31 on the fraction is shifted up; at 2^55 it has left the low 32 bits, at 2^63 the i64 stops at its end.
  Value* shift = b.CreateSub(b.CreateLShr(magnitude, 23), ops.integer(127 + 23));
  Value* fraction = b.CreateOr(b.CreateAnd(magnitude, ops.integer(0x007fffffU)), ops.integer(0x00800000U));
  Value* fits = b.CreateICmpULT(shift, ops.integer(32));
  Value* shifted =
      b.CreateSelect(fits, b.CreateShl(fraction, b.CreateSelect(fits, shift, ops.integer(0))), ops.integer(0));
  Value* far = b.CreateSelect(negative, b.CreateNeg(shifted), shifted);
  Value* end = b.CreateSelect(negative, ops.integer(0), ops.integer(0xffffffffU));
  far = b.CreateSelect(b.CreateICmpUGE(magnitude, ops.integer(0x5f000000U)), end, far);
  Value* is_nan = b.CreateICmpUGT(magnitude, ops.integer(0x7f800000U));
  far = b.CreateSelect(is_nan, ops.integer(0), far);
  return b.CreateSelect(in_range, near, far);
}

/// What u64 holds is exact; the rest goes by way of i64.
Value* to_u64(IRBuilderBase& b, Value* value, Value* by_way_of_i64) {
  Value* fits = b.CreateAnd(b.CreateFCmpOGE(value, llvm::ConstantFP::get(value->getType(), 0)),
                            b.CreateFCmpOLT(value, llvm::ConstantFP::get(value->getType(), 0x1p64)));
  return b.CreateSelect(fits, saturating_to_int(b, value, b.getInt64Ty(), false), by_way_of_i64);
}

Value* float_to_int(IRBuilderBase& b, DType to, Value* value, Rounding rounding, bool saturate) {
  Value* integral = round_to_integral(b, value, rounding);
  const unsigned bits = bits_of(to);
  const bool is_signed = ir::is_signed_integer(to);
  if (saturate && bits >= 32) return saturating_to_int(b, integral, b.getIntNTy(bits), is_signed);
  if (saturate) {
    Value* wide = saturating_to_int(b, integral, b.getInt32Ty(), true);
    return b.CreateTrunc(clamp_to_int(b, true, is_signed, bits, wide), with_lanes(b.getIntNTy(bits), value));
  }
  const bool f32_vector = value->getType()->isVectorTy() && value->getType()->getScalarType()->isFloatTy();
  if (f32_vector && bits <= 32)
    return b.CreateZExtOrTrunc(f32_to_low_32(b, integral), with_lanes(b.getIntNTy(bits), value));
  Value* wide = saturating_to_int(b, integral, b.getInt64Ty(), true);
  return to == DType::u64 ? to_u64(b, integral, wide) : b.CreateTrunc(wide, with_lanes(b.getIntNTy(bits), value));
}

Value* to_bool(IRBuilderBase& b, DType from, Value* value) {
  Value* zero = llvm::Constant::getNullValue(value->getType());
  return ir::is_float(from) ? b.CreateFCmpUNE(value, zero) : b.CreateICmpNE(value, zero);
}

}  // namespace

llvm::Type* carrier_type(llvm::LLVMContext& context, DType type) {
  if (type == DType::f64) return llvm::Type::getDoubleTy(context);
  if (ir::is_float(type)) return llvm::Type::getFloatTy(context);
  return llvm::Type::getIntNTy(context, ir::is_bool(type) ? 1 : bits_of(type));
}

llvm::Type* storage_type(llvm::LLVMContext& context, DType type) {
  return llvm::Type::getIntNTy(context, bits_of(type));
}

Value* emit_decode(IRBuilderBase& builder, const VectorTarget& target, DType type, Value* bits) {
  const ExactMath exact(builder);
  if (ir::is_bool(type)) return to_bool(builder, DType::u8, bits);
  if (ir::is_integer(type)) return bits;
  if (type == DType::f64 || type == DType::f32) {
    return builder.CreateBitCast(bits, with_lanes(carrier_type(builder.getContext(), type), bits));
  }
  if (type == DType::f16 && target.f16c) {
    Value* half = builder.CreateBitCast(bits, with_lanes(builder.getHalfTy(), bits));
    return builder.CreateFPExt(half, with_lanes(builder.getFloatTy(), bits));
  }
  return decode_small(builder, small_format(type), bits);
}

Value* emit_encode(IRBuilderBase& builder, const VectorTarget& target, DType type, Value* value) {
  const ExactMath exact(builder);
  llvm::Type* storage = with_lanes(storage_type(builder.getContext(), type), value);
  if (ir::is_bool(type)) return builder.CreateZExt(value, storage);
  if (ir::is_integer(type)) return value;
  if (type == DType::f64 || type == DType::f32) return builder.CreateBitCast(value, storage);
  if (type == DType::f16 && target.f16c) {
    return builder.CreateBitCast(builder.CreateFPTrunc(value, with_lanes(builder.getHalfTy(), value)), storage);
  }
  return encode_small(builder, small_format(type), value);
}

Value* emit_round(IRBuilderBase& builder, const VectorTarget& target, DType type, Value* value, Rounding rounding,
                  bool saturate) {
  const ExactMath exact(builder);
  if (type == DType::f64) return round_to_f64(builder, value, saturate);
  if (type == DType::f32) return round_to_f32(builder, value, rounding, saturate);
  if (value->getType()->getScalarType()->isDoubleTy()) value = narrow_to_odd(builder, value);
  if (uses_f16c(target, type, rounding, saturate)) {
    Value* half = builder.CreateFPTrunc(value, with_lanes(builder.getHalfTy(), value));
    return builder.CreateFPExt(half, with_lanes(builder.getFloatTy(), value));
  }
  return round_small(builder, small_format(type), value, rounding, saturate);
}

Value* emit_convert(IRBuilderBase& builder, const VectorTarget& target, DType from, DType to, Value* value,
                    Rounding rounding, bool saturate) {
  const ExactMath exact(builder);
  if (from == to && (!saturate || !ir::is_float(to))) return value;
  if (ir::is_bool(to)) return to_bool(builder, from, value);
  if (ir::is_integer(to)) {
    return ir::is_float(from) ? float_to_int(builder, to, value, rounding, saturate)
                              : int_to_int(builder, from, to, value, saturate);
  }
  if (!ir::is_float(from)) return int_to_float(builder, target, from, to, value, saturate);
  const bool holds_all = !saturate && ir::common_type(from, to) == to;
  if (holds_all && to != DType::f64) return value;
  return emit_round(builder, target, to, value, rounding, saturate);
}

}  // namespace plait::cpu
