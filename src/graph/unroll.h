#pragma once

#include "ir/kernel.h"

namespace plait::graph {

/// The kernel with the inner loops of pipelined loops taken apart whose trip count is a small literal: each of their
/// statements becomes a task of the pipelined loop, so that products of several of their iterations overlap with what
/// else there is. Taken apart are `range` and `unrolled` loops of up to 8 iterations and, all in all, 16 statements
/// that multiply tiles, have no jumps, allocate nothing and load nothing (which would take a slot for each iteration),
/// in loops whose author does not say how they are pipelined.
ir::Kernel with_inner_loops_unrolled(const ir::Kernel& kernel);

}  // namespace plait::graph
