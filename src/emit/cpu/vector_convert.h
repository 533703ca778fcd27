#pragma once

#include "emit/cpu/vector_target.h"
#include "ir/expr.h"

namespace llvm {
class IRBuilderBase;
class LLVMContext;
class Type;
class Value;
}  // namespace llvm

namespace plait::cpu {

// Number formats and conversions of docs/language.md, "Conversions", as LLVM IR; bit for bit what src/ir/numeric.h
// computes (NaNs: any NaN). Every function takes scalars and fixed vectors alike; the result has as many lanes as the
// argument.

/// The type in which a value of `type` is computed with: double for f64, float for every other float type, iN for
/// integers of N bits, i1 for bool.
llvm::Type* carrier_type(llvm::LLVMContext& context, ir::DType type);
/// The integer type of one element in memory: N = dtype_bits(type) bits (i8 for bool).
llvm::Type* storage_type(llvm::LLVMContext& context, ir::DType type);

/// Bits (of storage_type) to value (of carrier_type).
llvm::Value* emit_decode(llvm::IRBuilderBase& builder, const VectorTarget& target, ir::DType type, llvm::Value* bits);
/// A value that `emit_round` or `emit_decode` could have given for `type` to its bits.
llvm::Value* emit_encode(llvm::IRBuilderBase& builder, const VectorTarget& target, ir::DType type, llvm::Value* value);
/// A float or double rounded once to float type `type`; the result has the carrier type of `type`.
llvm::Value* emit_round(llvm::IRBuilderBase& builder, const VectorTarget& target, ir::DType type, llvm::Value* value,
                        ir::Rounding rounding = ir::Rounding::nearest_even, bool saturate = false);
/// Any value of type `from` (in its carrier) converted to `to` (in its carrier) by the rules for casts.
llvm::Value* emit_convert(llvm::IRBuilderBase& builder, const VectorTarget& target, ir::DType from, ir::DType to,
                          llvm::Value* value, ir::Rounding rounding, bool saturate = false);

}  // namespace plait::cpu
