#pragma once

#include <cstdint>

#include "ir/type.h"

namespace llvm {
class LLVMContext;
class Type;
}  // namespace llvm

namespace plait::cpu {

// On-chip buffers hold every element unpacked: floats narrower than 32 bits as the float of the same value, integers
// narrower than a byte and bool as one byte. So conversions happen where data enters or leaves a block, and where a
// value is rounded.

/// Bytes of one element of an on-chip buffer.
int onchip_bytes(ir::DType type);
/// LLVM type of one element of an on-chip buffer in memory.
llvm::Type* onchip_type(llvm::LLVMContext& context, ir::DType type);
/// `scalar` itself for one lane, otherwise a vector of it.
llvm::Type* lanes_type(llvm::Type* scalar, int lanes);

}  // namespace plait::cpu
