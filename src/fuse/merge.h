#pragma once

#include "roles/program.h"
#include "roles/verify.h"
#include "support/result.h"

namespace plait::fuse {

/// A role program that becomes part of another one.
struct Part {
  const roles::Program& program;
  int blocks = 1;  ///< of its blocks that one block of the fused program does the work of
};

/// One program that does the work of both, side by side in the same blocks: docs/fuse.md. The parts are verified; their
/// tensors stay apart. Registers are dealt out anew. What the two have no room for together is refused, with what each
/// needs of it.
Result<roles::Program> merge(const Part& first, const Part& second, const roles::Limits& limits);

}  // namespace plait::fuse
