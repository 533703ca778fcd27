#pragma once

#include "pipeline/pieces.h"

/// Carries out a schedule: a placed tile program becomes a role program.
namespace plait::pipeline {

/// The role that loads and the role that computes, joined by channels, one a set of tiles that are read together.
/// Every kernel-side rule that the program breaks is reported at its tile statement; what comes out has passed
/// roles::verify.
/// `remarks` gets what was done otherwise than the schedule says. `pieces`: how the kernel was split, if it was.
Result<roles::Program> lower(const place::Placed& placed, const plan::Schedule& schedule,
                             std::vector<place::Remark>* remarks = nullptr, const Pieces* pieces = nullptr);
/// The kernel placed so that the role that loads can do every copy that is left to it: those that cannot be loaded
/// ahead are done in order.
Result<place::Placed> place_in_order(const ir::Kernel& kernel, const machine::Device& device,
                                     const place::Assumptions& assumptions, place::Wishes wishes,
                                     const plan::Schedule& schedule, const Pieces* pieces = nullptr);

}  // namespace plait::pipeline
