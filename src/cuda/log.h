#pragma once

#include "cuda/compile.h"

namespace plait::cuda {

/// Registers, stack and spills of the kernel, from what the assembler tells with its option -v.
CodeReport read_report(const std::string& log, const std::string& entry);

/// What the assembler's messages about wgmma and setmaxnreg mean, each code once, and spills as a warning.
/// `allow_serialized`: serialized wgmma is a warning too.
Diagnostics judge(const CodeReport& report, bool allow_serialized, const Loc& loc);

}  // namespace plait::cuda
