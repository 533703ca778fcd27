#include "sim/clock.h"

#include <gtest/gtest.h>

namespace plait::sim {
namespace {

constexpr Component kWarpTime = 0;

TEST(VectorClock, JoinTakesTheLaterAndMeetTheEarlier) {
  VectorClock a, b;
  a.raise(0, 3);
  a.raise(2, 1);
  b.raise(0, 1);
  b.raise(1, 5);
  VectorClock both = a;
  both.join(b);
  EXPECT_EQ(both.get(0), 3U);
  EXPECT_EQ(both.get(1), 5U);
  EXPECT_EQ(both.get(2), 1U);
  a.meet(b);
  EXPECT_EQ(a.get(0), 1U);
  EXPECT_EQ(a.get(1), 0U);
  EXPECT_EQ(a.get(2), 0U);
}

TEST(WarpClock, ALaneSeesItselfAndOthersOnlyAfterSync) {
  WarpClock warp(true, 0, kWarpTime);
  Clock written = warp.now();
  EXPECT_TRUE(warp.sees(3, warp.thread(3), written));
  EXPECT_FALSE(warp.sees(4, warp.thread(3), written));
  warp.sync();
  EXPECT_TRUE(warp.sees(4, warp.thread(3), written));
  EXPECT_FALSE(warp.sees(4, warp.thread(3), warp.now()));
}

TEST(WarpClock, ReleaseHandsOverWhatCameBefore) {
  WarpClock from(true, 0, 0), to(true, kLanes, 1);
  Clock before = from.now();
  View given = from.release(1U << 5U);
  Clock behind = from.now();
  to.acquire(kAllLanes, given);
  EXPECT_TRUE(to.sees(0, from.thread(5), before));
  EXPECT_FALSE(to.sees(0, from.thread(5), behind));
  EXPECT_FALSE(to.sees(0, from.thread(6), before)) << "lane 6 did not release";
}

TEST(WarpClock, OneLaneLearnsAloneUntilTheWarpSyncs) {
  WarpClock from(true, 0, 0), to(true, kLanes, 1);
  Clock before = from.now();
  View given = from.release(kAllLanes);
  to.acquire(1, given);
  EXPECT_TRUE(to.sees(0, from.thread(9), before));
  EXPECT_FALSE(to.sees(1, from.thread(9), before));
  to.sync();
  EXPECT_TRUE(to.sees(1, from.thread(9), before));
}

TEST(WarpClock, FenceCountsForTheLaneThatRunsIt) {
  WarpClock warp(true, 0, 0);
  Clock written = warp.now();
  warp.fence_proxy(1U << 2U);
  View given = warp.release(kAllLanes);
  EXPECT_GE(given.fenced.get(warp.thread(2)), written);
  EXPECT_LT(given.fenced.get(warp.thread(3)), written);
  EXPECT_GE(given.memory.get(warp.thread(3)), written);
}

TEST(WarpClock, CopiesAreTheLanesOwnUntilReleased) {
  WarpClock warp(true, 0, 0);
  Component copies = 100;
  warp.set_copies(7, copies);
  EXPECT_FALSE(warp.sees(7, copies, 1));
  warp.learn_copies(7, 1);
  EXPECT_TRUE(warp.sees(7, copies, 1));
  EXPECT_FALSE(warp.sees(8, copies, 1));
  EXPECT_EQ(warp.release(1U << 7U).memory.get(copies), 1U);
}

}  // namespace
}  // namespace plait::sim
