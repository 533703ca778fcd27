#pragma once

#include "emit/cpu/emitter.h"

namespace plait::cpu {

/// buffer[offset] = op(buffer[offset], value) for one element; `value` is a carrier of the buffer's type. Global memory
/// is updated indivisibly; on-chip memory belongs to the thread that runs the block.
void emit_atomic_update(Emitter& e, const BufferInfo& buffer, llvm::Value* offset, ir::AtomicOp op, llvm::Value* value);

}  // namespace plait::cpu
