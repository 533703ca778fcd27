#pragma once

#include "roles/program.h"
#include "roles/verify.h"

namespace plait::fuse {

/// Deals the registers of a block out to the roles of a fused program. Where one of them moves registers, all do: each
/// gets what its fragments take, and of what is left all get alike, up to what they had alone.
void deal_registers(roles::Program& program, const roles::Limits& limits);

/// Registers of a thread of the role that it cannot do without.
int least_registers(const roles::Role& role);

}  // namespace plait::fuse
