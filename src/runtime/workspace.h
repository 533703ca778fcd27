#pragma once

#include "ir/tensor.h"
#include "runtime/eval.h"
#include "support/result.h"

namespace plait::runtime {

/// Layout of memory that a launch gets besides its tensors, by what is known at the call; no data. Reports an extent
/// that has no value, is negative, or makes the whole too large for 64 bits.
std::optional<ir::TensorView> workspace_view(const ir::BufferDecl& buffer, const Env& values, Diagnostics& diags);

}  // namespace plait::runtime
