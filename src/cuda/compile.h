#pragma once

#include <string>

#include "cuda/nvrtc.h"
#include "emit/cuda/cuda.h"

namespace plait::cuda {

struct CompileOptions {
  bool allow_serialized = false;  ///< serialized wgmma instructions are a warning, not an error
};

/// What the assembler says about the kernel.
struct CodeReport {
  int registers = 0;  ///< a thread, at the kernel's start
  int stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;
  std::string log;  ///< NVRTC's and the assembler's messages as they are
};

struct Code {
  std::string cubin, ptx;
  CodeReport report;
  std::string compiler;  ///< its version and file
  Diagnostics warnings;
};

/// Never from NVRTC's own cache on disk: what comes from there has no log, and with it no registers, spills and
/// serialized instructions. Compiles for `module.arch`, a real architecture such as "sm_90a". `loc` stands for the
/// program in diagnostics.
Result<Code> compile(const Nvrtc& nvrtc, const emit::cuda::Module& module, const CompileOptions& options = {},
                     const Loc& loc = {});

}  // namespace plait::cuda
