#include "layout/banks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "support/diagnostic.h"

namespace plait::layout {
namespace {

std::vector<std::int64_t> strided(std::int64_t step, int lanes = 32) {
  std::vector<std::int64_t> addresses;
  for (int lane = 0; lane < lanes; ++lane) addresses.push_back(lane * step);
  return addresses;
}

TEST(Banks, NeighboursAreFreeOfConflicts) {
  for (int bytes : {1, 2, 4, 8, 16}) {
    EXPECT_EQ(bank_conflicts({strided(bytes), bytes}), 0) << bytes;
    EXPECT_EQ(bank_passes({strided(bytes), bytes}), bytes <= 4 ? 1 : bytes / 4) << bytes;
  }
}

TEST(Banks, StridesOfPowersOfTwoConflict) {
  EXPECT_EQ(bank_conflicts({strided(8), 4}), 1);
  EXPECT_EQ(bank_conflicts({strided(128), 4}), 31);
  EXPECT_EQ(bank_conflicts({strided(132), 4}), 0);
  // Half warps: 16 lanes, 128 bytes apart, in the same two banks.
  EXPECT_EQ(bank_conflicts({strided(128), 8}), 2 * 15);
  EXPECT_EQ(bank_conflicts({strided(128), 16}), 4 * 7);
  EXPECT_EQ(bank_conflicts({strided(144), 16}), 0);
}

TEST(Banks, OneWordServesAllWhoWantIt) {
  EXPECT_EQ(bank_passes({strided(0), 4}), 1);
  EXPECT_EQ(bank_passes({strided(0), 16}), 4);
  EXPECT_EQ(bank_passes({strided(2), 2}), 1);
}

TEST(Banks, LanesThatTakeNoPartCostNothing) {
  EXPECT_EQ(bank_passes({std::vector<std::int64_t>(32, -1), 4}), 0);
  EXPECT_EQ(bank_passes({strided(16, 8), 16}), 1);
  std::vector<std::int64_t> two(32, -1);
  two[0] = 0;
  two[31] = 128;
  EXPECT_EQ(bank_conflicts({two, 4}), 1);
  EXPECT_EQ(bank_conflicts({two, 16}), 0);
}

TEST(Banks, WrongAccessesAreFaults) {
  EXPECT_THROW(bank_passes({strided(4, 33), 4}), InternalError);
  EXPECT_THROW(bank_passes({strided(4), 3}), InternalError);
  EXPECT_THROW(bank_passes({strided(4), 32}), InternalError);
}

/// One word of one bank a pass, chosen greedily: the slowest way to say it.
int passes_by_hand(const WarpAccess& access) {
  std::size_t together = access.bytes <= 4 ? 32 : 128 / static_cast<std::size_t>(access.bytes);
  int total = 0;
  for (std::size_t first = 0; first < access.addresses.size(); first += together) {
    std::set<std::int64_t> wanted;
    for (std::size_t lane = first; lane < std::min(first + together, access.addresses.size()); ++lane) {
      for (int byte = 0; access.addresses[lane] >= 0 && byte < access.bytes; ++byte)
        wanted.insert((access.addresses[lane] + byte) / 4);
    }
    for (; !wanted.empty(); ++total) {
      std::set<std::int64_t> busy;
      for (auto word = wanted.begin(); word != wanted.end();) {
        word = busy.insert(*word % 32).second ? wanted.erase(word) : std::next(word);
      }
    }
  }
  return total;
}

TEST(Banks, RandomAccessesTakeAsManyPassesAsCountedByHand) {
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) {
    int bytes = 1 << random() % 5;
    WarpAccess access{{}, bytes};
    std::size_t lanes = random() % 33;
    for (std::size_t lane = 0; lane < lanes; ++lane)
      access.addresses.push_back(random() % 8 == 0 ? -1 : static_cast<std::int64_t>(random() % 128) * bytes);
    ASSERT_EQ(bank_passes(access), passes_by_hand(access));
  }
}

}  // namespace
}  // namespace plait::layout
