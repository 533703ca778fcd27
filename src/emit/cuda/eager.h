#pragma once

#include "emit/cuda/emitter.h"

namespace plait::emit::cuda {

/// Whether an arm of a select reads tiles in shared memory, and could be evaluated whatever the condition: of memory it
/// reads elements of tiles that lie inside them for every element of the nest.
bool reads_tiles_safely(const Emitter& e, const ir::ExprRef& arm, const roles::Each& each);

}  // namespace plait::emit::cuda
