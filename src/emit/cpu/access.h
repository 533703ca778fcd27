#pragma once

#include "emit/cpu/emitter.h"

namespace plait::cpu {

/// Number of the element at `index`, counted from the buffer's first, in elements.
Val element_offset(Emitter& e, const BufferInfo& buffer, llvm::ArrayRef<Val> index);
/// Traps at `loc` where an active lane's index leaves dimension `dim` of the buffer.
void check_index(Emitter& e, const BufferInfo& buffer, std::size_t dim, const Val& index, const Loc& loc);

/// The element at `offset`, in the carrier of its type.
Val load_element(Emitter& e, const BufferInfo& buffer, const Val& offset);
/// Stores a carrier value where the mask is on.
void store_element(Emitter& e, const BufferInfo& buffer, const Val& offset, const Val& value);

/// LLVM type of an element in the buffer's memory (not of packed ones).
llvm::Type* element_type(Emitter& e, const BufferInfo& buffer);
/// What lies in memory (of element_type, any number of lanes) as carrier value, and back.
llvm::Value* from_memory(Emitter& e, const BufferInfo& buffer, llvm::Value* bits);
llvm::Value* to_memory(Emitter& e, const BufferInfo& buffer, llvm::Value* value);
/// Address of element number `offset` (not of packed ones).
llvm::Value* element_pointer(Emitter& e, const BufferInfo& buffer, llvm::Value* offset);
/// Tells LLVM which buffers an access cannot touch. Returns the instruction.
llvm::Instruction* tag(const BufferInfo& buffer, llvm::Instruction* access);

}  // namespace plait::cpu
