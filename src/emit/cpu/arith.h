#pragma once

#include "emit/cpu/emitter.h"

namespace plait::cpu {

/// `a op b` on values of `type` in its carrier (scalars, or vectors of all lanes), by the rules of docs/language.md.
/// Not the logical operators. A zero divisor in an active lane traps at `loc`.
llvm::Value* emit_arith(Emitter& e, ir::BinaryOp op, ir::DType type, llvm::Value* a, llvm::Value* b, const Loc& loc);
/// The same without traps, for reductions and atomics: add, min, max and the bit operators.
llvm::Value* emit_combine(Emitter& e, ir::BinaryOp op, ir::DType type, llvm::Value* a, llvm::Value* b);
llvm::Value* emit_negate(Emitter& e, ir::UnaryOp op, ir::DType type, llvm::Value* a);
/// Rounds the result of an operation on a float type narrower than f32; other values are returned as they are.
llvm::Value* round_result(Emitter& e, ir::DType type, llvm::Value* value);

}  // namespace plait::cpu
