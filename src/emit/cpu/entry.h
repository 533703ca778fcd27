#pragma once

#include "emit/cpu/block.h"

namespace plait::cpu {

/// Adds what an object file offers: `NAME_block` (the block function), `int NAME(args…)`, which checks the arguments
/// and runs every block on the calling thread, and `const char* NAME_error(int)`, the text of a check. The facts list
/// the checks of both functions.
BlockFacts emit_library(llvm::Module& module, const ir::Kernel& kernel, const Options& options,
                        const VectorTarget& target);

/// Why a kernel's functions cannot have their names in C; empty when they can.
Diagnostics check_c_name(const ir::Kernel& kernel);

/// The C header of the library; `facts` as emit_library gave them.
std::string c_header(const ir::Kernel& kernel, const BlockFacts& facts);

/// Result codes of `NAME` besides the numbers of checks.
constexpr int out_of_memory_code = -1;

}  // namespace plait::cpu
