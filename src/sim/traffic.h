#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

#include "sim/costs.h"

namespace plait::sim {

/// The memory behind the multiprocessors: main memory, and an L2 that keeps what was used last. Time only.
class Traffic {
 public:
  explicit Traffic(const Costs& costs) : costs_(costs) {}

  /// Moves `bytes` from or to the piece of memory that `key` names, at `from` or when there is room; gives the end.
  std::int64_t move(std::uint64_t key, double bytes, std::int64_t from, bool write);

  std::int64_t memory_busy() const { return static_cast<std::int64_t>(memory_busy_); }

 private:
  /// Whether the L2 holds the piece; it does from now on.
  bool touch(std::uint64_t key, double bytes);

  struct Piece {
    std::uint64_t key;
    double bytes;
  };
  const Costs& costs_;
  std::list<Piece> recent_;  ///< the last one used first
  std::unordered_map<std::uint64_t, std::list<Piece>::iterator> pieces_;
  double held_ = 0;
  double l2_free_ = 0, memory_free_ = 0, memory_busy_ = 0;
};

/// Adds an index to the name of a place.
inline std::uint64_t mix_place(std::uint64_t place, std::int64_t index) {
  return place * 0x100000001b3U + static_cast<std::uint64_t>(index);
}
/// Names a piece of a tensor.
std::uint64_t traffic_key(int tensor, std::uint64_t place);

}  // namespace plait::sim
