#pragma once

#include "emit/cpu/emitter.h"

namespace plait::cpu {

/// Elements from what a region of a tensor names now to what it names in the next iteration of the pipelined loop
/// around it; null where that is not known beforehand, or where there is no such loop.
llvm::Value* distance_ahead(Emitter& e, const ir::Region& region);
/// Asks for the cache line of element number `offset`.
void emit_prefetch(Emitter& e, const BufferInfo& buffer, llvm::Value* offset);

}  // namespace plait::cpu
