#pragma once

#include "plan/schedule.h"
#include "random/rng.h"

namespace plait::test {

/// The kernel that schedules are for, and the tasks of its loops.
struct Scheduled {
  const ir::Kernel& kernel;
  const std::vector<graph::TaskGraph>& graphs;
  const machine::Device& device;
};

/// A schedule that plan::check accepts: what the rules make of some number of stages, changed at random statement by
/// statement; with or without roles, rings, turns and a work map. Some of it may have no lowering, which refuses it.
plan::Schedule draw_schedule(const Scheduled& of, Rng& rng);
/// The schedule without overlap, a block a tile, for so many replicas; 0: as many as the placement likes.
plan::Schedule serial_schedule(const Scheduled& of, int replicas);
/// The rules' loops with so many stages asked for in each.
std::vector<plan::LoopPlan> staged_loops(const Scheduled& of, int stages);

}  // namespace plait::test
