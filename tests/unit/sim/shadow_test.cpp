#include "sim/shadow.h"

#include <gtest/gtest.h>

namespace plait::sim {
namespace {

OrderOf always(Order order) {
  return [order](const Access&) { return order; };
}

Access by(Component component, Clock clock = 1) { return {component, clock, 1, 0, false}; }

TEST(Shadow, ReadOfUnwrittenBytes) {
  Shadow shadow(64, 16, false);
  Conflict conflict;
  EXPECT_FALSE(shadow.read(32, 16, by(0), always(Order::before), conflict));
  EXPECT_TRUE(conflict.unwritten);
  EXPECT_EQ(conflict.byte, 32);
  Shadow filled(64, 16, true);
  EXPECT_TRUE(filled.read(32, 16, by(0), always(Order::racing), conflict));
}

TEST(Shadow, WriteThenRacingRead) {
  Shadow shadow(64, 16, false);
  Conflict conflict;
  ASSERT_TRUE(shadow.write(0, 32, by(3, 7), always(Order::before), conflict));
  EXPECT_TRUE(shadow.read(16, 16, by(4), always(Order::before), conflict));
  EXPECT_FALSE(shadow.read(16, 16, by(5), always(Order::racing), conflict));
  EXPECT_EQ(conflict.earlier.component, 3U);
  EXPECT_EQ(conflict.earlier.clock, 7U);
  EXPECT_TRUE(conflict.earlier_writes);
}

TEST(Shadow, WriteIsComparedWithEveryReader) {
  Shadow shadow(16, 16, true);
  Conflict conflict;
  for (Component reader = 1; reader <= 4; ++reader)
    ASSERT_TRUE(shadow.read(0, 16, by(reader), always(Order::before), conflict));
  for (Component racing = 1; racing <= 4; ++racing) {
    Shadow copy = shadow;
    auto order = [&](const Access& a) { return a.component == racing ? Order::racing : Order::before; };
    EXPECT_FALSE(copy.write(0, 16, by(9), order, conflict));
    EXPECT_EQ(conflict.earlier.component, racing);
    EXPECT_FALSE(conflict.earlier_writes);
  }
  ASSERT_TRUE(shadow.write(0, 16, by(9), always(Order::before), conflict));
  auto forgotten = [](const Access& a) { return a.component == 9 ? Order::before : Order::racing; };
  EXPECT_TRUE(shadow.write(0, 16, by(9, 2), forgotten, conflict)) << "readers before a write are done with";
}

TEST(Shadow, AtomicsDoNotRaceWithEachOther) {
  Shadow shadow(16, 4, true);
  Conflict conflict;
  Access update{1, 1, 1, 0, true}, other{2, 1, 1, 0, true};
  ASSERT_TRUE(shadow.write(4, 4, update, always(Order::racing), conflict));
  EXPECT_TRUE(shadow.write(4, 4, other, always(Order::racing), conflict));
  EXPECT_FALSE(shadow.read(4, 4, by(3), always(Order::racing), conflict));
  EXPECT_TRUE(shadow.read(8, 4, by(3), always(Order::racing), conflict));
}

TEST(Shadow, AnAtomicBehindAnotherDoesNotHideIt) {
  Shadow shadow(16, 4, true);
  Conflict conflict;
  auto unseen = [](Component component) {
    return [component](const Access& a) { return a.component == component ? Order::racing : Order::before; };
  };
  for (Component c : {1, 2, 3})
    ASSERT_TRUE(shadow.write(4, 4, Access{c, 1, 1, 0, true}, always(Order::racing), conflict));
  EXPECT_TRUE(shadow.read(4, 4, by(4), always(Order::before), conflict));
  EXPECT_FALSE(shadow.read(4, 4, by(5), unseen(1), conflict));
  EXPECT_TRUE(conflict.earlier_writes);
  EXPECT_FALSE(shadow.write(4, 4, by(6), unseen(2), conflict));
}

TEST(Shadow, ProxyOrderIsToldApart) {
  Shadow shadow(16, 16, false);
  Conflict conflict;
  ASSERT_TRUE(shadow.write(0, 16, by(1), always(Order::before), conflict));
  EXPECT_FALSE(shadow.read(0, 16, by(2), always(Order::unfenced), conflict));
  EXPECT_EQ(conflict.order, Order::unfenced);
}

TEST(Shadow, TellsWhatIsWritten) {
  Shadow shadow(64, 4, false);
  Conflict conflict;
  ASSERT_TRUE(shadow.write(8, 8, by(1), always(Order::before), conflict));
  EXPECT_FALSE(shadow.is_written(7));
  EXPECT_TRUE(shadow.is_written(8));
  EXPECT_TRUE(shadow.is_written(15));
  EXPECT_FALSE(shadow.is_written(16));
}

}  // namespace
}  // namespace plait::sim
