#pragma once

#include "planner/planner.h"

/// Independent work of two tile programs in one kernel, so that one fills the units that the other leaves idle:
/// docs/fuse.md.
namespace plait::fuse {

/// A tile program, and how it is brought to the device.
struct Subject {
  ir::Kernel kernel;
  std::optional<plan::Schedule> schedule;  ///< in the place of the planner's
  planner::Options planning;
  /// Of its blocks, what one of the fused kernel stands for; nothing: as many as its schedule lets a multiprocessor
  /// hold.
  std::optional<int> blocks;
};

/// One of the two, alone and as it became part of the fused kernel.
struct FusedPart {
  planner::Planned planned;  ///< without `derived`
  pipeline::Derived alone;   ///< as if there were no other
  pipeline::Derived derived;
  int blocks = 1;                    ///< that a block of the fused kernel stands for
  std::vector<std::string> changed;  ///< what it is done without, or otherwise, than alone
};
struct Fused {
  roles::Program program;
  FusedPart first, second;
};

/// Plans and derives each alone, brings both to the same blocks, and makes one program of them. Where they do not fit
/// together, rings give up slots and blocks stand for fewer; what does not fit then is refused.
Result<Fused> fuse(const Subject& first, const Subject& second, const machine::Device& device);

}  // namespace plait::fuse
