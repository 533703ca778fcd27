#include "interp/touch.h"

#include <algorithm>

namespace plait::interp {

namespace {

constexpr int max_directory_bits = 20;

/// The iteration other than `now` that a doubled number tells of, or 0.
std::uint32_t other_than(std::uint32_t now, std::uint32_t doubled, std::uint32_t first) {
  const std::uint32_t last = doubled >> 1;
  if (last < first) return 0;
  if (last != now) return last;
  return (doubled & 1) != 0 ? TouchTable::some_other : 0;
}

void join(std::uint32_t& doubled, std::uint32_t now, std::uint32_t first) {
  const bool others = other_than(now, doubled, first) != 0;
  doubled = now << 1 | static_cast<std::uint32_t>(others);
}

}  // namespace

TouchTable::TouchTable(std::int64_t elements) {
  while (page_bits_ < 62 && elements >> page_bits_ > std::int64_t{1} << max_directory_bits) ++page_bits_;
  pages_.resize(static_cast<std::size_t>((elements >> page_bits_) + 1));
}

TouchTable::Touch& TouchTable::at(std::int64_t element) {
  std::unique_ptr<Touch[]>& page = pages_[static_cast<std::size_t>(element >> page_bits_)];
  if (page == nullptr) page = std::make_unique<Touch[]>(std::size_t{1} << page_bits_);
  return page[static_cast<std::size_t>(element & ((std::int64_t{1} << page_bits_) - 1))];
}

std::uint32_t TouchTable::note(std::int64_t element, Access access, std::uint32_t now, std::uint32_t first) {
  Touch& touch = at(element);
  std::uint32_t other = touch.writer >= first && touch.writer != now ? touch.writer : 0;
  if (other == 0 && access != Access::read) other = other_than(now, touch.reader, first);
  if (other == 0 && access != Access::atomic) other = other_than(now, touch.atomic, first);
  switch (access) {
    case Access::read:
      join(touch.reader, now, first);
      break;
    case Access::write:
      touch.writer = now;
      break;
    case Access::atomic:
      join(touch.atomic, now, first);
      break;
  }
  return other;
}

bool TouchTable::written(std::int64_t element) const {
  const std::unique_ptr<Touch[]>& page = pages_[static_cast<std::size_t>(element >> page_bits_)];
  if (page == nullptr) return false;
  const Touch& touch = page[static_cast<std::size_t>(element & ((std::int64_t{1} << page_bits_) - 1))];
  return touch.writer != 0 || touch.atomic != 0;
}

void TouchTable::clear() {
  for (std::unique_ptr<Touch[]>& page : pages_) page.reset();
}

}  // namespace plait::interp
