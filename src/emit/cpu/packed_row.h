#pragma once

#include "emit/cpu/transfer.h"

namespace plait::cpu {

/// Whether the last dimension of a transfer runs along neighbouring elements, narrower than a byte on one side at
/// least.
bool is_packed_row(const Transfer& transfer);
/// Whether the packed sides of every row begin at a byte, when the rows begin at coordinate `lo`.
llvm::Value* rows_begin_at_bytes(Emitter& e, const Transfer& transfer, llvm::Value* lo);
/// A row whose packed sides begin at a byte: many elements at once, the rest one by one.
void move_packed_row(Emitter& e, const Transfer& transfer, llvm::Value* src, llvm::Value* dst, const Span& span);

}  // namespace plait::cpu
