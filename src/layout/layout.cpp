#include "layout/layout.h"

#include <fmt/format.h>

#include "support/diagnostic.h"

namespace plait::layout {
namespace {

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  PLAIT_ASSERT(!__builtin_mul_overflow(a, b, &result) && result <= largest_index, "a layout within 62 bits");
  return result;
}

std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  PLAIT_ASSERT(a <= largest_index - b, "a layout within 62 bits");
  return a + b;
}

/// One half of the text: extents or strides.
template <typename Number>
std::string half(const Layout& layout, const Number& number) {
  if (layout.is_leaf()) return std::to_string(number(layout));
  std::string text = "(";
  for (const Layout& mode : layout.modes()) text += (text.size() == 1 ? "" : ",") + half(mode, number);
  return text + ")";
}

}  // namespace

Layout::Layout(std::int64_t extent, std::int64_t stride) : extent_(extent), stride_(stride), size_(extent) {
  PLAIT_ASSERT(extent >= 1 && stride >= 0, "extents of at least 1 and strides of at least 0");
  PLAIT_ASSERT(extent <= largest_index, "a layout within 62 bits");
  largest_ = checked_product(extent - 1, stride);
}

Layout::Layout(std::vector<Layout> modes) : modes_(std::move(modes)) {
  PLAIT_ASSERT(!modes_.empty(), "a tuple of at least one mode");
  for (const Layout& mode : modes_) {
    size_ = checked_product(size_, mode.size_);
    largest_ = checked_sum(largest_, mode.largest_);
  }
}

Layout Layout::row_major(const std::vector<std::int64_t>& extents) {
  std::vector<Layout> modes(extents.size(), Layout(1, 0));
  std::int64_t stride = 1;
  for (std::size_t i = extents.size(); i-- > 0;) {
    modes[i] = Layout(extents[i], stride);
    stride = checked_product(stride, extents[i]);
  }
  return Layout(std::move(modes));
}

Layout Layout::column_major(const std::vector<std::int64_t>& extents) {
  std::vector<Layout> modes;
  std::int64_t stride = 1;
  for (std::int64_t extent : extents) {
    modes.emplace_back(extent, stride);
    stride = checked_product(stride, extent);
  }
  return Layout(std::move(modes));
}

std::vector<Layout> Layout::leaves() const {
  if (is_leaf()) return {*this};
  std::vector<Layout> result;
  for (const Layout& mode : modes_) {
    for (Layout& leaf : mode.leaves()) result.push_back(std::move(leaf));
  }
  return result;
}

std::int64_t Layout::offset(std::int64_t index) const {
  PLAIT_ASSERT(index >= 0 && index < size_, "an index of the layout");
  if (is_leaf()) return index * stride_;
  std::int64_t sum = 0;
  for (const Layout& mode : modes_) {
    sum += mode.offset(index % mode.size_);
    index /= mode.size_;
  }
  return sum;
}

std::int64_t Layout::offset(const std::vector<std::int64_t>& indices) const {
  PLAIT_ASSERT(indices.size() == modes_.size(), "one index a mode");
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) sum += modes_[i].offset(indices[i]);
  return sum;
}

std::string Layout::str() const {
  return half(*this, [](const Layout& leaf) { return leaf.extent(); }) + ":" +
         half(*this, [](const Layout& leaf) { return leaf.stride(); });
}

Layout coalesce(const Layout& layout) {
  std::vector<Layout> modes;
  for (const Layout& leaf : layout.leaves()) {
    if (leaf.extent() == 1) continue;
    bool goes_on = !modes.empty() && leaf.stride() == modes.back().extent() * modes.back().stride();
    if (goes_on) {
      modes.back() = Layout(modes.back().extent() * leaf.extent(), modes.back().stride());
    } else {
      modes.push_back(leaf);
    }
  }
  if (modes.empty()) return {1, 0};
  return modes.size() == 1 ? modes.front() : Layout(std::move(modes));
}

std::int64_t Swizzle::operator()(std::int64_t offset) const {
  std::int64_t mask = ((std::int64_t{1} << bits) - 1) << base;
  return offset ^ (offset >> shift & mask);
}

std::string SwizzledLayout::str() const {
  return fmt::format("xor({},{},{}) o {} o {}", swizzle.bits, swizzle.base, swizzle.shift, start, layout.str());
}

}  // namespace plait::layout
