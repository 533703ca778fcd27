#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace plait::test {

/// SplitMix64: the same numbers on every machine.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  /// A number in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  /// True `percent` times of 100.
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <typename T>
  const T& pick(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(items.size()) - 1))];
  }
  template <typename T>
  T pick(std::initializer_list<T> items) {
    return *(items.begin() + between(0, static_cast<std::int64_t>(items.size()) - 1));
  }

 private:
  std::uint64_t state_;
};

}  // namespace plait::test
