#pragma once

#include "emit/cpu/vector_target.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace plait::cpu {

// Functions on f32 scalars and vectors as straight polynomial code: no calls, no branches, the same bits in every lane
// and width. They handle infinities, NaN, zeros and subnormals; errors stand in docs/numerics-cpu.md.

/// `fast`: a few units in the last place less exact, more for large |x|; results below the smallest normal number are 0
/// or thereabouts, and infinity begins half a power of two early.
llvm::Value* emit_exp_f32(llvm::IRBuilderBase& builder, const VectorTarget& target, llvm::Value* x, bool fast);
llvm::Value* emit_exp2_f32(llvm::IRBuilderBase& builder, const VectorTarget& target, llvm::Value* x, bool fast);
llvm::Value* emit_log_f32(llvm::IRBuilderBase& builder, const VectorTarget& target, llvm::Value* x);
llvm::Value* emit_log2_f32(llvm::IRBuilderBase& builder, const VectorTarget& target, llvm::Value* x);
llvm::Value* emit_tanh_f32(llvm::IRBuilderBase& builder, const VectorTarget& target, llvm::Value* x);
llvm::Value* emit_erf_f32(llvm::IRBuilderBase& builder, const VectorTarget& target, llvm::Value* x);

}  // namespace plait::cpu
