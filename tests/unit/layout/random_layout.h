#pragma once

#include <algorithm>
#include <random>

#include "layout/layout.h"

namespace plait::layout {

/// Draws layouts, the same ones for the same seed.
class RandomLayouts {
 public:
  explicit RandomLayouts(unsigned seed) : random_(seed) {}

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }

  /// Any extents and strides.
  Layout any() {
    return tree(leaves(1 + random_() % 4, [&](std::int64_t) { return pick(0, 30); }));
  }

  /// Digits of [0, size) in some order of significance, with gaps between them: no two indices share an offset.
  Layout injective() {
    std::size_t count = 1 + random_() % 4;
    std::vector<Layout> drawn;
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t extent = kExtents[random_() % std::size(kExtents)];
      stride *= pick(1, 3);
      drawn.emplace_back(extent, stride);
      stride *= extent;
    }
    std::shuffle(drawn.begin(), drawn.end(), random_);
    return tree(std::move(drawn));
  }

 private:
  static constexpr std::int64_t kExtents[] = {1, 2, 2, 3, 4, 5, 6, 7, 8, 11};

  template <typename Stride>
  std::vector<Layout> leaves(std::size_t count, const Stride& stride) {
    std::vector<Layout> result;
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t extent = kExtents[random_() % std::size(kExtents)];
      result.emplace_back(extent, stride(extent));
    }
    return result;
  }

  /// The leaves in this order, in some tuples.
  Layout tree(std::vector<Layout> parts) {
    while (parts.size() > 1 && random_() % 3 != 0) {
      std::size_t first = random_() % (parts.size() - 1);
      parts[first] = Layout({parts[first], parts[first + 1]});
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(first) + 1);
    }
    return parts.size() == 1 ? parts.front() : Layout(std::move(parts));
  }

  std::mt19937 random_;
};

inline std::vector<std::int64_t> offsets(const Layout& layout) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < layout.size(); ++i) result.push_back(layout.offset(i));
  return result;
}

}  // namespace plait::layout
