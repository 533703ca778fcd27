#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace plait::interp {

enum class Access { read, write, atomic };

/// Who touched each element of one buffer in the iterations of a parallel loop, or in the blocks of the grid.
/// Iterations have ascending numbers from 1, never used twice. Pages come into being when touched.
class TouchTable {
 public:
  static constexpr std::uint32_t largest_number = 0x7fff'fffe;
  /// Stands for an iteration whose number is not kept.
  static constexpr std::uint32_t some_other = 0x7fff'ffff;

  explicit TouchTable(std::int64_t elements);

  /// Notes an access by iteration `now` of a loop whose first iteration has number `first`. Gives the number of another
  /// iteration of that loop with which it conflicts, or 0: a write conflicts with every access, an atomic with all but
  /// atomics.
  std::uint32_t note(std::int64_t element, Access access, std::uint32_t now, std::uint32_t first);
  /// Whether any write or atomic was noted.
  bool written(std::int64_t element) const;
  void clear();

 private:
  /// `writer` is a number; the others are twice the last number, plus one if another iteration of its loop came before.
  struct Touch {
    std::uint32_t writer = 0, reader = 0, atomic = 0;
  };
  Touch& at(std::int64_t element);

  int page_bits_ = 12;
  std::vector<std::unique_ptr<Touch[]>> pages_;
};

}  // namespace plait::interp
