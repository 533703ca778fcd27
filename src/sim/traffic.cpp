#include "sim/traffic.h"

#include <algorithm>
#include <cmath>

namespace plait::sim {

std::uint64_t traffic_key(int tensor, std::uint64_t place) {
  return (place * 64 + static_cast<std::uint64_t>(tensor)) * 0x9e3779b97f4a7c15U;
}

bool Traffic::touch(std::uint64_t key, double bytes) {
  auto found = pieces_.find(key);
  if (found != pieces_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return true;
  }
  recent_.push_front({key, bytes});
  pieces_[key] = recent_.begin();
  held_ += bytes;
  while (held_ > costs_.l2_capacity && !recent_.empty()) {
    held_ -= recent_.back().bytes;
    pieces_.erase(recent_.back().key);
    recent_.pop_back();
  }
  return false;
}

std::int64_t Traffic::move(std::uint64_t key, double bytes, std::int64_t from, bool write) {
  auto start = static_cast<double>(from);
  l2_free_ = std::max(l2_free_, start) + bytes / costs_.l2_total_bytes;
  double end = l2_free_;
  bool held = touch(key, bytes);
  if (write || !held) {
    double length = bytes / costs_.memory_bytes;
    memory_free_ = std::max(memory_free_, start) + length;
    memory_busy_ += length;
    end = std::max(end, memory_free_ + (write ? 0 : static_cast<double>(costs_.memory_latency)));
  }
  return std::llround(end);
}

}  // namespace plait::sim
