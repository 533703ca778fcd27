#pragma once

#include "ir/kernel.h"

namespace plait::verify {

/// Checks every rule of a typed tile program (rules_verify.def) and reports all findings at once.
Diagnostics verify(const ir::Kernel& kernel);

}  // namespace plait::verify
