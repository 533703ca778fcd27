#pragma once

#include "emit/cpu/transfer.h"

namespace plait::cpu {

/// Whether the source of a transfer is contiguous along the last dimension but one, and the destination along the last.
bool is_turned(const Transfer& transfer);
/// The last two dimensions of such a transfer: square blocks are turned in registers, the edges go element by element.
void move_turned(Emitter& e, const Transfer& transfer, llvm::Value* src, llvm::Value* dst, const Span& rows,
                 const Span& columns);

}  // namespace plait::cpu
