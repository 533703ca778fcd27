#pragma once

#include "machine/device.h"
#include "roles/program.h"

namespace plait::sim {

/// Blocks of a verified program that a multiprocessor holds at once: what its shared memory, threads and registers
/// allow, the latter estimated from the fragments where the roles do not say; at least 1.
int resident_blocks(const roles::Program& program, const machine::Device& device);

}  // namespace plait::sim
