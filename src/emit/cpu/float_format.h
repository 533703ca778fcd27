#pragma once

#include <cstdint>

#include "emit/cpu/vector_target.h"
#include "ir/expr.h"
#include "llvm/IR/IRBuilder.h"

namespace plait::cpu {

/// What a conversion to nearest gives beyond the largest finite value.
enum class Overflow { infinity, nan, largest };

/// A float format narrower than f32, described by its place inside f32.
struct SmallFormat {
  int bits = 0;               ///< of one element in memory
  int mantissa = 0;           ///< stored fraction bits
  int min_exponent = 0;       ///< of the smallest normal number
  std::uint32_t largest = 0;  ///< the largest finite value as f32 bits
  Overflow overflow = Overflow::infinity;
};

/// The format of f16, bf16, tf32, e4m3, e5m2 or e2m1.
SmallFormat small_format(ir::DType type);

/// Integer and float operations on scalars and vectors of f32 (`value` fixes the number of lanes), with no fast-math
/// flags. Magnitudes are f32 bits without the sign, which order like the values.
class F32Ops {
 public:
  F32Ops(llvm::IRBuilderBase& builder, llvm::Value* value);

  llvm::Value* integer(std::uint32_t x) const { return llvm::ConstantInt::get(int_type, x); }
  llvm::Value* number(double x) const { return llvm::ConstantFP::get(float_type, x); }
  llvm::Value* bits(llvm::Value* x) const { return b.CreateBitCast(x, int_type); }
  llvm::Value* value(llvm::Value* x) const { return b.CreateBitCast(x, float_type); }
  llvm::Value* sign(llvm::Value* x) const { return b.CreateAnd(bits(x), integer(0x80000000U)); }
  llvm::Value* magnitude(llvm::Value* x) const { return b.CreateAnd(bits(x), integer(0x7fffffffU)); }

  llvm::IRBuilderBase& b;
  llvm::Type* float_type;
  llvm::Type* int_type;
};

/// Type with `scalar` elements and as many lanes as `like`.
llvm::Type* with_lanes(llvm::Type* scalar, llvm::Value* like);

/// Bits of a small float format (integers of `format.bits`) to f32.
llvm::Value* decode_small(llvm::IRBuilderBase& builder, const SmallFormat& format, llvm::Value* bits);
/// f32 values of the format to bits.
llvm::Value* encode_small(llvm::IRBuilderBase& builder, const SmallFormat& format, llvm::Value* value);
/// f32 rounded to the format.
llvm::Value* round_small(llvm::IRBuilderBase& builder, const SmallFormat& format, llvm::Value* value,
                         ir::Rounding rounding, bool saturate);

/// f64 to f32, inexact results to the neighbour with an odd last bit: rounding that again to a format at least two bits
/// narrower rounds correctly once.
llvm::Value* narrow_to_odd(llvm::IRBuilderBase& builder, llvm::Value* value);
/// f64 to f32 in a direction other than nearest_even.
llvm::Value* narrow_directed(llvm::IRBuilderBase& builder, llvm::Value* value, ir::Rounding rounding);

}  // namespace plait::cpu
