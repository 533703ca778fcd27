#pragma once

#include "emit/cpu/vector_target.h"
#include "ir/expr.h"
#include "llvm/ADT/ArrayRef.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace plait::cpu {

/// The intrinsic on float or double scalars or fixed vectors of any number of lanes (isnan, isinf give i1 lanes; abs
/// also takes integers, as signed). Error bounds: docs/numerics-cpu.md. `fast_math` chooses shorter approximations
/// where there are some. May declare functions of libm and libmvec in the module, or define internal ones there.
llvm::Value* emit_math(llvm::IRBuilderBase& builder, const VectorTarget& target, ir::Intrinsic fn,
                       llvm::ArrayRef<llvm::Value*> args, bool fast_math = false);
/// Minimum and maximum of floats: NaN if either is NaN.
llvm::Value* emit_fmin(llvm::IRBuilderBase& builder, llvm::Value* a, llvm::Value* b);
llvm::Value* emit_fmax(llvm::IRBuilderBase& builder, llvm::Value* a, llvm::Value* b);

/// Address in this process of a function that emitted code may call (libmvec is loaded on first use), or null. For the
/// JIT's symbol lookup.
void* math_symbol(llvm::StringRef name);
/// Whether libmvec can be loaded here; VectorTarget::vector_libm for code that runs in this process.
bool have_vector_libm();

}  // namespace plait::cpu
