#pragma once

#include <map>

#include "sim/clock.h"

namespace plait::sim {

struct Warp;

/// What blocks know of each other's accesses to tensors. A thread hands over what it knew at its last `fence gpu` with
/// each atomic that follows; who updates the same element later has it at its next `fence gpu`. (PTX memory model:
/// fences around a chain of atomics synchronise.)
class GlobalOrder {
 public:
  void fence(Warp& w, LaneMask lanes);
  void atomic(Warp& w, int lane, int tensor, std::int64_t element);

 private:
  std::map<std::pair<int, std::int64_t>, KnownClusters> handed_;  ///< with the atomics on an element
};

}  // namespace plait::sim
