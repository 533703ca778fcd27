#pragma once

#include "emit/cpu/cpu.h"
#include "emit/cpu/vector_target.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace plait::cpu {

/// What is known of an emitted block function besides its code.
struct BlockFacts {
  llvm::Function* function = nullptr;
  std::int64_t scratch_bytes = 0;
  std::vector<TrapInfo> traps;
  std::vector<Note> slow_paths;
};

/// The largest on-chip buffer, for messages on memory.
Note largest_buffer(const ir::Kernel& kernel);

/// What keeps a kernel from being compiled at all: on-chip buffers beyond reason.
Diagnostics check_limits(const ir::Kernel& kernel, const VectorTarget& target);

/// Adds the function that runs one block of `kernel` to the module, named `name`, with the signature of BlockFn.
/// `object`: for an object file, without calls into plait.
BlockFacts emit_block(llvm::Module& module, const ir::Kernel& kernel, const Options& options,
                      const VectorTarget& target, const std::string& name, bool object);

/// Slots before a kernel's scalars, dims and grid extents (see Slot).
struct SlotLayout {
  std::size_t tensors = 0;            ///< data pointers stand first
  std::vector<std::size_t> shape_of;  ///< first slot of each tensor's extents; its strides follow
  std::size_t scalars = 0, dims = 0, grid = 0, total = 0;
};
SlotLayout slot_layout(const ir::Kernel& kernel);

}  // namespace plait::cpu
