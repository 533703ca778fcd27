#pragma once

#include "sim/machine.h"

namespace plait::sim {

/// A warp that ends takes part in no further cluster barrier.
void cluster_exit(Machine& m, Warp& w);
/// The warp has just released an arrival or an operation that reaches another block of its cluster, which must run.
bool touch_remote(Machine& m, const Warp& w, Block& target);
/// What must be over when the last thread of a block ends.
void check_exit(Machine& m, Block& block);
/// Reports warps that wait for what never comes.
void report_deadlock(Machine& m, const std::vector<std::unique_ptr<Cluster>>& clusters);

}  // namespace plait::sim
