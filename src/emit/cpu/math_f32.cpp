#include "emit/cpu/math_f32.h"

#include "emit/cpu/float_format.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Intrinsics.h"

namespace plait::cpu {

using llvm::IRBuilderBase;
using llvm::Value;

namespace {

// Coefficients: weighted least-squares fits at Chebyshev nodes, rounded to f32 from the lowest power up, the rest
// refitted each time. e^r = 1 + r + r²·q(r), |r| <= ln2 / 2, relative error 2^-28.
constexpr double exp_q[] = {0x1.fffff8p-2, 0x1.55548ep-3, 0x1.555b9ap-5, 0x1.123bf0p-7, 0x1.684fe4p-10};
// The same with the error taken relative to e^r - 1, 2^-31.
constexpr double expm1_q[] = {0x1.000000p-1, 0x1.555556p-3,  0x1.5554f0p-5,
                              0x1.110fe2p-7, 0x1.6d438cp-10, 0x1.a28f22p-13};
// 2^r = 1 + r·q(r), |r| <= 1/2, relative error 2^-28.
constexpr double exp2_q[] = {0x1.62e430p-1, 0x1.ebfbe0p-3,  0x1.c6af72p-5,
                             0x1.3b2a48p-7, 0x1.5f0df8p-10, 0x1.4424c8p-13};
// The same one degree lower, 2^-23.
constexpr double exp2_short_q[] = {0x1.62e430p-1, 0x1.ebf9a6p-3, 0x1.c6af72p-5, 0x1.3cf120p-7, 0x1.5f0df8p-10};
// ln(1 + f) = f - f²/2 + f³·p(f), sqrt(1/2) - 1 <= f <= sqrt(2) - 1, relative error 2^-27.
constexpr double log_p[] = {0x1.555564p-2, -0x1.00023cp-2, 0x1.999860p-3, -0x1.546790p-3,
                            0x1.236438p-3, -0x1.0e6826p-3, 0x1.025beap-3, -0x1.2d3636p-4};
// log2(1 + f) = f / ln2 + f²·r(f) on the same interval, relative error 2^-27.
constexpr double log2_r[] = {-0x1.715470p-1, 0x1.ec70a0p-2,  -0x1.715acap-2, 0x1.277bfap-2, -0x1.eaac80p-3,
                             0x1.a35476p-3,  -0x1.881186p-3, 0x1.7b9ceap-3,  -0x1.baabaap-4};
// erf(x) = x + x·p(x²), |x| <= 0.93, relative error 2^-30.
constexpr double erf_p[] = {0x1.06eba8p-3, -0x1.812742p-2,  0x1.ce2decp-4, -0x1.b80cd8p-6,
                            0x1.54bb16p-8, -0x1.a9e1ecp-11, 0x1.5bcf3cp-14};
// -ln(1 - erf(t)) = t·l(t), 0.92 <= t <= 3.95, relative error of erf 2^-30.
constexpr double erf_l[] = {0x1.20ef96p+0, 0x1.452e74p-1,   0x1.b35ea6p-4, -0x1.862100p-6,
                            0x1.e0a75ep-9, -0x1.592930p-12, 0x1.8f3f74p-17};

// ln2 in two parts; the first has few bits, so that its product with a small integer is exact.
constexpr double ln2_high = 0x1.63p-1;
constexpr double ln2_low = -0x1.bd0106p-13;

constexpr std::uint32_t f32_infinity = 0x7f800000U;
constexpr std::uint32_t smallest_normal_bits = 0x00800000U;
/// 1.5·2^23: a float near it has the integer nearest to what was added in its last bits.
constexpr std::uint32_t integer_magic_bits = 0x4b400000U;

class F32Math {
 public:
  F32Math(IRBuilderBase& builder, const VectorTarget& target, Value* x)
      : ops(builder, x), b(builder), target_(target) {}

  Value* number(double x) const { return ops.number(x); }
  Value* integer(std::uint32_t x) const { return ops.integer(x); }
  Value* add(Value* x, Value* y) const { return b.CreateFAdd(x, y); }
  Value* sub(Value* x, Value* y) const { return b.CreateFSub(x, y); }
  Value* mul(Value* x, Value* y) const { return b.CreateFMul(x, y); }
  Value* abs(Value* x) const { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
  /// x·y + z, fused where the processor can.
  Value* mad(Value* x, Value* y, Value* z) const {
    if (target_.fma) return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
    return add(mul(x, y), z);
  }
  Value* polynomial(llvm::ArrayRef<double> coefficients, Value* x) const {
    Value* sum = number(coefficients.back());
    for (std::size_t i = coefficients.size() - 1; i-- > 0;) sum = mad(sum, x, number(coefficients[i]));
    return sum;
  }
  /// The smaller and the larger of x and a constant; NaN passes.
  Value* at_most(Value* x, double limit) const {
    return b.CreateSelect(b.CreateFCmpOLT(number(limit), x), number(limit), x);
  }
  Value* at_least(Value* x, double limit) const {
    return b.CreateSelect(b.CreateFCmpOGT(number(limit), x), number(limit), x);
  }

  struct Split {
    Value* integral;  ///< the nearest integer n, as a float
    Value* shifted;   ///< i32: n + integer_magic_bits
  };
  Split nearest_integer(Value* x, Value* factor) const {
    Value* magic = ops.value(integer(integer_magic_bits));
    Value* shifted = factor == nullptr ? add(x, magic) : mad(x, factor, magic);
    return {sub(shifted, magic), ops.bits(shifted)};
  }
  /// x - n·ln2
  Value* reduce(Value* x, Value* n) const { return mad(n, number(-ln2_low), mad(n, number(-ln2_high), x)); }
  /// y·2^n with one rounding, for -150 <= n <= 128: two factors, each a normal number.
  Value* scale(Value* y, Value* shifted_n) const {
    Value* both = b.CreateSub(shifted_n, integer(integer_magic_bits - 254));
    Value* half = b.CreateLShr(both, 1);
    Value* first = ops.value(b.CreateShl(half, 23));
    Value* second = ops.value(b.CreateShl(b.CreateSub(both, half), 23));
    return mul(mul(y, first), second);
  }
  /// y·2^n where y, 2^n and the product are normal numbers: n is added to the exponent.
  Value* scale_normal(Value* y, Value* shifted_n) const {
    return ops.value(b.CreateAdd(ops.bits(y), b.CreateShl(shifted_n, 23)));
  }

  F32Ops ops;
  IRBuilderBase& b;

 private:
  const VectorTarget& target_;
};

/// e^x as y·2^n.
struct Scaled {
  Value* y;
  Value* shifted_n;
};

Scaled exp_parts(const F32Math& m, Value* x) {
  const F32Math::Split n = m.nearest_integer(x, m.number(0x1.715476p+0));
  Value* r = m.reduce(x, n.integral);
  Value* y = m.add(m.mad(m.mul(r, r), m.polynomial(exp_q, r), r), m.number(1));
  return {y, n.shifted};
}

/// 2^(x·factor) with a short polynomial and one scale. Its last bits also say n + 127, the exponent field of 2^n: 0 for
/// n = -127, where 2^n then reads as zero, and all ones for n = 128, which reads as infinity.
Value* fast_power(const F32Math& m, Value* x, double factor) {
  Value* magic = m.ops.value(m.integer(integer_magic_bits + 127));
  Value* shifted = m.mad(x, m.number(factor), magic);
  Value* r = m.mad(x, m.number(factor), m.b.CreateFNeg(m.sub(shifted, magic)));
  Value* y = m.mad(r, m.polynomial(exp2_short_q, r), m.number(1));
  return m.mul(y, m.ops.value(m.b.CreateShl(m.ops.bits(shifted), 23)));
}

/// A positive number as m·2^e with sqrt(1/2) <= m < sqrt(2); subnormals too.
struct Logarithm {
  Value* fraction;  ///< m - 1
  Value* exponent;  ///< as a float
};

Logarithm log_parts(const F32Math& m, Value* x) {
  IRBuilderBase& b = m.b;
  Value* tiny = b.CreateFCmpOLT(x, m.ops.value(m.integer(smallest_normal_bits)));
  Value* bits = m.ops.bits(b.CreateSelect(tiny, m.mul(x, m.number(0x1p23)), x));
  // Counted from sqrt(1/2), the exponent field steps where m does.
  constexpr std::uint32_t sqrt_half_bits = 0x3f3504f3U;
  Value* offset = b.CreateSub(bits, m.integer(sqrt_half_bits));
  Value* exponent = b.CreateSIToFP(b.CreateAShr(offset, 23), m.ops.float_type);
  exponent = b.CreateSelect(tiny, m.sub(exponent, m.number(23)), exponent);
  Value* mantissa = b.CreateAdd(b.CreateAnd(offset, m.integer(0x007fffffU)), m.integer(sqrt_half_bits));
  return {m.sub(m.ops.value(mantissa), m.number(1)), exponent};
}

/// -inf at zeros, NaN below and for NaN, inf at inf.
Value* finish_log(const F32Math& m, Value* x, Value* result) {
  IRBuilderBase& b = m.b;
  Value* infinity = m.ops.value(m.integer(f32_infinity));
  // Zeros and negative numbers: 1 / -0 and 0 / 0 would do, but constants are cheaper.
  Value* special =
      b.CreateSelect(b.CreateFCmpOEQ(x, m.number(0)), b.CreateFNeg(infinity), m.ops.value(m.integer(0x7fc00000U)));
  special = b.CreateSelect(b.CreateFCmpOEQ(x, infinity), infinity, special);
  Value* ordinary = b.CreateAnd(b.CreateFCmpOGT(x, m.number(0)), b.CreateFCmpOLT(x, infinity));
  return b.CreateSelect(ordinary, result, special);
}

}  // namespace

Value* emit_exp_f32(IRBuilderBase& builder, const VectorTarget& target, Value* x, bool fast) {
  const F32Math m(builder, target, x);
  constexpr double log2_e = 0x1.715476p+0;
  if (fast) return fast_power(m, m.at_least(m.at_most(x, 128 / log2_e), -127 / log2_e), log2_e);
  // Beyond these ends the result is infinity or 0.
  const Scaled parts = exp_parts(m, m.at_least(m.at_most(x, 89), -104));
  return m.scale(parts.y, parts.shifted_n);
}

Value* emit_exp2_f32(IRBuilderBase& builder, const VectorTarget& target, Value* x, bool fast) {
  const F32Math m(builder, target, x);
  if (fast) return fast_power(m, m.at_least(m.at_most(x, 128), -127), 1);
  Value* clamped = m.at_least(m.at_most(x, 128), -150);
  const F32Math::Split n = m.nearest_integer(clamped, nullptr);
  Value* r = m.sub(clamped, n.integral);
  return m.scale(m.mad(r, m.polynomial(exp2_q, r), m.number(1)), n.shifted);
}

Value* emit_log_f32(IRBuilderBase& builder, const VectorTarget& target, Value* x) {
  const F32Math m(builder, target, x);
  const Logarithm parts = log_parts(m, x);
  Value* f = parts.fraction;
  Value* square = m.mul(f, f);
  Value* rest = m.mul(m.mul(square, f), m.polynomial(log_p, f));
  rest = m.mad(parts.exponent, m.number(ln2_low), rest);
  rest = m.mad(square, m.number(-0.5), rest);
  return finish_log(m, x, m.mad(parts.exponent, m.number(ln2_high), m.add(f, rest)));
}

Value* emit_log2_f32(IRBuilderBase& builder, const VectorTarget& target, Value* x) {
  const F32Math m(builder, target, x);
  const Logarithm parts = log_parts(m, x);
  Value* f = parts.fraction;
  // 1 / ln2 in two parts.
  Value* rest = m.mad(m.mul(f, f), m.polynomial(log2_r, f), m.mul(f, m.number(0x1.4ae0cp-26)));
  return finish_log(m, x, m.add(m.mad(f, m.number(0x1.715476p+0), rest), parts.exponent));
}

Value* emit_tanh_f32(IRBuilderBase& builder, const VectorTarget& target, Value* x) {
  const F32Math m(builder, target, x);
  // tanh x = t / (t + 2) with t = e^(2|x|) - 1; from 10 on it is 1.
  Value* clamped = m.at_most(m.abs(x), 10);
  Value* twice = m.add(clamped, clamped);
  const F32Math::Split n = m.nearest_integer(twice, m.number(0x1.715476p+0));
  Value* r = m.reduce(twice, n.integral);
  Value* p = m.mad(m.mul(r, r), m.polynomial(expm1_q, r), r);
  Value* power = m.ops.value(builder.CreateShl(builder.CreateSub(n.shifted, m.integer(integer_magic_bits - 127)), 23));
  Value* t = m.mad(p, power, m.sub(power, m.number(1)));
  return builder.CreateCopySign(builder.CreateFDiv(t, m.add(t, m.number(2))), x);
}

Value* emit_erf_f32(IRBuilderBase& builder, const VectorTarget& target, Value* x) {
  const F32Math m(builder, target, x);
  Value* magnitude = m.abs(x);
  Value* small = m.mad(x, m.polynomial(erf_p, m.mul(x, x)), x);
  // From 3.95 on the result is 1.
  Value* t = m.at_most(magnitude, 3.95);
  Value* exponent = builder.CreateFNeg(m.mul(t, m.polynomial(erf_l, t)));
  const Scaled parts = exp_parts(m, exponent);
  Value* large = m.sub(m.number(1), m.scale_normal(parts.y, parts.shifted_n));
  large = builder.CreateCopySign(large, x);
  // NaN is unordered, and `small` has it.
  return builder.CreateSelect(builder.CreateFCmpULT(magnitude, m.number(0.925)), small, large);
}

}  // namespace plait::cpu
