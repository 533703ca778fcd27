#pragma once

#include "emit/cpu/vector_target.h"
#include "llvm/ADT/ArrayRef.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace plait::cpu {

/// Calls `name` of libm ("exp"; for floats "expf") on float or double arguments: vectors through libmvec where the
/// target allows, split and padded to the widths it has, otherwise lane by lane.
llvm::Value* call_libm(llvm::IRBuilderBase& builder, const VectorTarget& target, llvm::StringRef name,
                       llvm::ArrayRef<llvm::Value*> args);

}  // namespace plait::cpu
