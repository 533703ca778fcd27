#include "layout/banks.h"

#include <algorithm>
#include <array>
#include <set>

#include "support/diagnostic.h"

namespace plait::layout {
namespace {

constexpr std::size_t kBanks = 32;

/// Lanes that go together.
std::size_t group_size(int bytes) { return bytes == 16 ? 8 : bytes == 8 ? 16 : 32; }

int group_passes(const std::int64_t* begin, const std::int64_t* end, int bytes) {
  std::array<std::set<std::int64_t>, kBanks> words;
  for (const std::int64_t* address = begin; address != end; ++address) {
    if (*address < 0) continue;
    for (std::int64_t word = *address / 4; word <= (*address + bytes - 1) / 4; ++word)
      words[static_cast<std::size_t>(word) % kBanks].insert(word);
  }
  std::size_t most = 0;
  for (const auto& bank : words) most = std::max(most, bank.size());
  return static_cast<int>(most);
}

/// Passes of each group that takes part.
std::vector<int> passes(const WarpAccess& access) {
  PLAIT_ASSERT(access.addresses.size() <= 32, "at most 32 lanes");
  PLAIT_ASSERT(access.bytes > 0 && access.bytes <= 16 && (access.bytes & (access.bytes - 1)) == 0,
               "1 to 16 bytes a lane");
  std::vector<int> result;
  const std::int64_t* data = access.addresses.data();
  std::size_t step = group_size(access.bytes), count = access.addresses.size();
  for (std::size_t lane = 0; lane < count; lane += step) {
    int needed = group_passes(data + lane, data + std::min(lane + step, count), access.bytes);
    if (needed > 0) result.push_back(needed);
  }
  return result;
}

}  // namespace

int bank_passes(const WarpAccess& access) {
  int total = 0;
  for (int group : passes(access)) total += group;
  return total;
}

int bank_conflicts(const WarpAccess& access) {
  int extra = 0;
  for (int group : passes(access)) extra += group - 1;
  return extra;
}

}  // namespace plait::layout
