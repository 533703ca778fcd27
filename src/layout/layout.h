#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Layouts: functions from an index to an offset, given by a tree of extents and strides.
namespace plait::layout {

/// Bound of every extent, size and offset: sums and steps of two of them stay within 64 bits.
inline constexpr std::int64_t largest_index = std::int64_t{1} << 62;

/// A leaf `extent:stride`, or a tuple of layouts, its modes. An index counts the first mode fastest; the offset is the
/// sum over the leaves of digit times stride. Extents are at least 1, strides at least 0, offsets within 62 bits.
class Layout {
 public:
  Layout(std::int64_t extent, std::int64_t stride);
  explicit Layout(std::vector<Layout> modes);
  /// Dense, the last extent fastest: (a,b,c):(b*c,c,1).
  static Layout row_major(const std::vector<std::int64_t>& extents);
  /// Dense, the first extent fastest: (a,b,c):(1,a,a*b).
  static Layout column_major(const std::vector<std::int64_t>& extents);

  bool is_leaf() const { return modes_.empty(); }
  std::int64_t extent() const { return extent_; }  ///< of a leaf
  std::int64_t stride() const { return stride_; }  ///< of a leaf
  const std::vector<Layout>& modes() const { return modes_; }
  /// The leaves from left to right.
  std::vector<Layout> leaves() const;

  std::int64_t size() const { return size_; }           ///< indices
  std::int64_t cosize() const { return largest_ + 1; }  ///< largest offset + 1
  std::int64_t offset(std::int64_t index) const;
  /// One index a mode.
  std::int64_t offset(const std::vector<std::int64_t>& indices) const;

  std::string str() const;  ///< e.g. (4,(8,2)):(1,(16,4))
  bool operator==(const Layout&) const = default;

 private:
  std::int64_t extent_ = 1, stride_ = 0;
  std::vector<Layout> modes_;
  std::int64_t size_ = 1, largest_ = 0;
};

/// The same function of one index with the fewest leaves, a leaf or a tuple of leaves. Two layouts of one size are the
/// same function exactly where these are equal.
Layout coalesce(const Layout& layout);

/// Exchanges bits: `bits` bits from `base` on are XORed with those `shift` places higher. Its own inverse.
struct Swizzle {
  int bits = 0, base = 0, shift = 0;
  std::int64_t operator()(std::int64_t offset) const;
  bool operator==(const Swizzle&) const = default;
};

/// swizzle(start + layout(index)).
struct SwizzledLayout {
  Swizzle swizzle;
  std::int64_t start = 0;
  Layout layout{1, 0};

  std::int64_t offset(std::int64_t index) const { return swizzle(start + layout.offset(index)); }
  std::int64_t offset(const std::vector<std::int64_t>& indices) const {
    return swizzle(start + layout.offset(indices));
  }
  std::string str() const;  ///< e.g. xor(3,4,3) o 0 o (8,64):(128,2)
  bool operator==(const SwizzledLayout&) const = default;
};

}  // namespace plait::layout
