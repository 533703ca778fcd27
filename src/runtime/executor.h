#pragma once

#include "emit/cpu/cpu.h"
#include "ir/tensor.h"

namespace plait::runtime {

struct RunOptions {
  int threads = 0;  ///< 0: all of the machine
};

/// The first tensor that the kernel writes in elements narrower than a byte, or null. Blocks that write neighbours in
/// one byte must not run at once: such a kernel runs on one thread.
const ir::BufferDecl* shared_byte_output(const ir::Kernel& kernel);

/// Runs every block of the grid. A run-time check that fails becomes the diagnostic; of several the one in the lowest
/// block counts, so the report does not depend on timing. Outputs are then undefined. Thread-safe for calls on disjoint
/// outputs.
Diagnostics execute(const cpu::Code& code, const ir::BoundArgs& args, const RunOptions& options = {});

}  // namespace plait::runtime
