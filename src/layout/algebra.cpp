#include "layout/algebra.h"

#include <algorithm>
#include <limits>

#include "support/diagnostic.h"

namespace plait::layout {
namespace {

/// An index of the outer layout as digits, one a leaf of it, and how much of each digit's range the inner leaves use
/// together. As long as no range is exceeded, digits add without carrying, and the composition is a sum over the inner
/// leaves.
class Digits {
 public:
  explicit Digits(const Layout& outer) : leaves_(coalesce(outer).leaves()), used_(leaves_.size(), 0) {}

  /// outer(k·stride) for k < extent: one leaf where no digit of the steps carries, else several whose steps do not.
  std::optional<Layout> compose_leaf(std::int64_t extent, std::int64_t stride) {
    if (extent == 1 || stride == 0) return Layout(extent, 0);
    std::vector<Layout> result;
    while (extent > 1) {
      std::vector<std::int64_t> digits = digits_of(stride);
      std::int64_t steps = largest_divisor(extent, steps_without_carry(digits));
      if (steps == 1 || !use(digits, steps - 1)) return {};
      result.emplace_back(steps, offset(digits));
      extent /= steps;
      stride *= steps;
    }
    return result.size() == 1 ? result.front() : Layout(std::move(result));
  }

 private:
  std::vector<std::int64_t> digits_of(std::int64_t index) const {
    std::vector<std::int64_t> digits;
    for (const Layout& leaf : leaves_) {
      digits.push_back(index % leaf.extent());
      index /= leaf.extent();
    }
    return digits;
  }

  std::int64_t offset(const std::vector<std::int64_t>& digits) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < digits.size(); ++i) sum += digits[i] * leaves_[i].stride();
    return sum;
  }

  std::int64_t steps_without_carry(const std::vector<std::int64_t>& digits) const {
    std::int64_t steps = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < digits.size(); ++i) {
      if (digits[i] > 0) steps = std::min(steps, (leaves_[i].extent() - 1) / digits[i] + 1);
    }
    return steps;
  }

  /// The largest divisor of `value` up to `most`; 1 where it is not found soon.
  static std::int64_t largest_divisor(std::int64_t value, std::int64_t most) {
    if (most >= value) return value;
    constexpr std::int64_t kTrials = 1 << 16;
    std::int64_t quotient = (value + most - 1) / most;
    for (std::int64_t end = quotient + kTrials; quotient < end && quotient <= value; ++quotient) {
      if (value % quotient == 0) return value / quotient;
    }
    return 1;
  }

  bool use(const std::vector<std::int64_t>& digits, std::int64_t times) {
    for (std::size_t i = 0; i < digits.size(); ++i) {
      used_[i] += digits[i] * times;
      if (used_[i] >= leaves_[i].extent()) return false;
    }
    return true;
  }

  std::vector<Layout> leaves_;
  std::vector<std::int64_t> used_;
};

std::optional<Layout> compose_tree(Digits& digits, const Layout& inner) {
  if (inner.is_leaf()) return digits.compose_leaf(inner.extent(), inner.stride());
  std::vector<Layout> modes;
  for (const Layout& mode : inner.modes()) {
    auto composed = compose_tree(digits, mode);
    if (!composed) return {};
    modes.push_back(std::move(*composed));
  }
  return Layout(std::move(modes));
}

/// Leaves of more than one element, by stride.
std::vector<Layout> by_stride(const Layout& layout) {
  std::vector<Layout> leaves;
  for (const Layout& leaf : layout.leaves()) {
    if (leaf.extent() > 1) leaves.push_back(leaf);
  }
  std::sort(leaves.begin(), leaves.end(), [](const Layout& a, const Layout& b) { return a.stride() < b.stride(); });
  return leaves;
}

std::optional<Layout> pair(std::optional<Layout> a, std::optional<Layout> b) {
  if (!a || !b) return {};
  return Layout(std::vector<Layout>{std::move(*a), std::move(*b)});
}

}  // namespace

std::optional<Layout> compose(const Layout& outer, const Layout& inner) {
  if (inner.cosize() > outer.size()) return {};
  Digits digits(outer);
  return compose_tree(digits, inner);
}

std::optional<SwizzledLayout> compose(const SwizzledLayout& outer, const Layout& inner) {
  auto layout = compose(outer.layout, inner);
  if (!layout) return {};
  return SwizzledLayout{outer.swizzle, outer.start, std::move(*layout)};
}

std::optional<Layout> complement(const Layout& layout, std::int64_t extent) {
  std::vector<Layout> modes;
  std::int64_t covered = 1;
  for (const Layout& leaf : by_stride(layout)) {
    if (leaf.stride() == 0 || leaf.stride() % covered != 0) return {};
    modes.emplace_back(leaf.stride() / covered, covered);
    covered = leaf.stride() * leaf.extent();
  }
  modes.emplace_back(std::max<std::int64_t>((extent + covered - 1) / covered, 1), covered);
  return coalesce(Layout(std::move(modes)));
}

Layout right_inverse(const Layout& layout) {
  struct Leaf {
    std::int64_t extent, stride, weight;  ///< weight: how far one step of it moves the index
  };
  std::vector<Leaf> leaves;
  std::int64_t weight = 1;
  for (const Layout& leaf : layout.leaves()) {
    leaves.push_back({leaf.extent(), leaf.stride(), weight});
    weight *= leaf.extent();
  }
  std::sort(leaves.begin(), leaves.end(),
            [](const Leaf& a, const Leaf& b) { return std::pair(a.stride, a.weight) < std::pair(b.stride, b.weight); });
  std::vector<Layout> modes;
  std::int64_t reached = 1;
  for (const Leaf& leaf : leaves) {
    if (leaf.extent == 1 || leaf.stride != reached) continue;
    modes.emplace_back(leaf.extent, leaf.weight);
    reached *= leaf.extent;
  }
  return modes.empty() ? Layout(1, 0) : coalesce(Layout(std::move(modes)));
}

std::optional<Layout> left_inverse(const Layout& layout) {
  auto whole = pair(layout, complement(layout, layout.cosize()));
  if (!whole) return {};
  return right_inverse(*whole);
}

std::optional<Layout> divide(const Layout& layout, const Layout& tiler) {
  auto split = pair(tiler, complement(tiler, layout.size()));
  return split ? compose(layout, *split) : std::nullopt;
}

std::optional<Layout> tile(const Layout& layout, const std::vector<std::int64_t>& extents) {
  PLAIT_ASSERT(extents.size() == layout.modes().size(), "one extent a mode");
  std::vector<Layout> tiles, rests;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Layout& mode = layout.modes()[i];
    if (extents[i] < 1 || mode.size() % extents[i] != 0) return {};
    auto parts = divide(mode, Layout(extents[i], 1));
    if (!parts) return {};
    tiles.push_back(parts->modes()[0]);
    rests.push_back(parts->modes()[1]);
  }
  return pair(Layout(std::move(tiles)), Layout(std::move(rests)));
}

std::optional<Layout> product(const Layout& block, const Layout& tiler) {
  auto places = complement(block, block.cosize() * tiler.cosize());
  return places ? pair(block, compose(*places, tiler)) : std::nullopt;
}

}  // namespace plait::layout
