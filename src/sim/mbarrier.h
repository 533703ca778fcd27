#pragma once

#include "sim/machine.h"

namespace plait::sim {

/// Who uses an mbarrier: a lane at work, or an operation that it issued.
struct User {
  const Block& block;
  int thread = 0;  ///< of that block
  std::int32_t site = 0;
  const View& view;
};

/// Whether the barrier is initialised and `user` may know; `remote`: it is used by TMA or from another block, which
/// takes a fence. Reports otherwise.
bool ready_to_use(Machine& m, Block& block, int number, const User& user, bool remote);

/// An arrival: when it is on the clock of its warp, and what it hands over.
struct Arrival {
  Component warp = 0;
  Clock clock = 0;
  const View& given;
};
/// `user` arrives once, adding `bytes` to what the phase waits for. The phase may complete.
void arrive(Machine& m, Block& block, int number, const User& user, std::int64_t bytes, const Arrival& arrival,
            std::int64_t time);

/// A copy that `user` issued has brought `bytes`.
void complete_bytes(Machine& m, Block& block, int number, const User& user, std::int64_t bytes, std::int64_t time);

/// Whether the phase of this parity is complete.
inline bool passes(const Mbarrier& mbar, bool parity) { return (mbar.phase % 2 != 0) != parity; }

}  // namespace plait::sim
