#pragma once

#include <functional>
#include <string>

#include "emit/cpu/gemm_plan.h"
#include "llvm/IR/IRBuilder.h"

namespace plait::cpu {

/// Types of a gemm: `memory` elements of A and B, `packed` elements of the panels and of C, and a register of those.
struct GemmTypes {
  GemmTypes(llvm::LLVMContext& context, const GemmPlan& plan);
  llvm::Type* memory;
  llvm::Type* packed;
  llvm::FixedVectorType* vector;
};

/// Finds function `name` in the module, or makes it: internal, `pointers` pointer arguments, the target attributes of
/// `like`, its body filled in by `body`.
llvm::Function* internal_function(llvm::Function* like, const VectorTarget& target, const std::string& name,
                                  unsigned pointers,
                                  const std::function<void(llvm::IRBuilder<>&, llvm::Function*)>& body);

/// `for i in 0 .. count: body(i)` at the builder's place; count >= 0. A single iteration needs no loop.
void counted_loop(llvm::IRBuilder<>& b, std::int64_t count, const std::function<void(llvm::Value*)>& body);

/// Marks a loop's back edge: leave the loop as it is written.
void keep_loop(llvm::Instruction* back_edge);

/// Address of element `index` (i64 value) + `offset`.
llvm::Value* element_at(llvm::IRBuilder<>& b, llvm::Type* type, llvm::Value* base, llvm::Value* index,
                        std::int64_t offset = 0);
llvm::Value* element_at(llvm::IRBuilder<>& b, llvm::Type* type, llvm::Value* base, std::int64_t offset);

/// Unaligned vector of `lanes` memory elements, of which the first `valid` are read and the others are zero (valid 0
/// means all).
llvm::Value* load_lanes(llvm::IRBuilder<>& b, llvm::Type* element, int lanes, llvm::Value* address, int valid);
void store_lanes(llvm::IRBuilder<>& b, llvm::Value* value, llvm::Value* address, int valid);

/// Memory elements widened to packed elements.
llvm::Value* widen(llvm::IRBuilder<>& b, const GemmPlan& plan, llvm::Value* value);

/// The micro-kernel `void(a, b, c)`: a block of `rows` rows and `vectors` vectors of C over all of k.
llvm::Function* micro_kernel(llvm::Function* like, const GemmPlan& plan, int rows, int vectors, int tail);

/// `void(b, panel)`: packs one panel of B (k rows of `vectors` vectors, zero-padded behind `tail`).
llvm::Function* pack_b_kernel(llvm::Function* like, const GemmPlan& plan, int vectors, int tail);
/// `void(a, packed)`: packs all of A as the plan says.
llvm::Function* pack_a_kernel(llvm::Function* like, const GemmPlan& plan);

}  // namespace plait::cpu
