#include "interp/touch.h"

#include <gtest/gtest.h>

namespace plait::interp {
namespace {

TEST(TouchTable, ReadsDoNotConflict) {
  TouchTable table(10);
  EXPECT_EQ(table.note(3, Access::read, 1, 1), 0u);
  EXPECT_EQ(table.note(3, Access::read, 2, 1), 0u);
  EXPECT_FALSE(table.written(3));
}

TEST(TouchTable, WriteAfterOtherRead) {
  TouchTable table(10);
  table.note(3, Access::read, 1, 1);
  EXPECT_EQ(table.note(3, Access::write, 2, 1), 1u);
}

TEST(TouchTable, WriteAfterOwnReadFindsTheEarlierReader) {
  TouchTable table(10);
  table.note(3, Access::read, 1, 1);
  table.note(3, Access::read, 2, 1);
  EXPECT_EQ(table.note(3, Access::write, 2, 1), TouchTable::some_other);
}

TEST(TouchTable, ReadAndWriteAfterOtherWrite) {
  TouchTable table(10);
  table.note(3, Access::write, 4, 1);
  EXPECT_EQ(table.note(3, Access::write, 4, 1), 0u);
  EXPECT_EQ(table.note(3, Access::read, 5, 1), 4u);
  EXPECT_EQ(table.note(3, Access::write, 6, 1), 4u);
  EXPECT_TRUE(table.written(3));
  EXPECT_FALSE(table.written(4));
}

TEST(TouchTable, AtomicsConflictWithAllButAtomics) {
  TouchTable table(10);
  EXPECT_EQ(table.note(3, Access::atomic, 1, 1), 0u);
  EXPECT_EQ(table.note(3, Access::atomic, 2, 1), 0u);
  EXPECT_EQ(table.note(3, Access::write, 2, 1), TouchTable::some_other);
  EXPECT_EQ(table.note(4, Access::atomic, 1, 1), 0u);
  EXPECT_EQ(table.note(4, Access::read, 3, 1), 1u);
}

TEST(TouchTable, EarlierLoopsAreForgotten) {
  TouchTable table(10);
  table.note(3, Access::write, 1, 1);
  table.note(3, Access::read, 2, 2);
  EXPECT_EQ(table.note(3, Access::write, 3, 3), 0u);
}

TEST(TouchTable, HugeTensorsCostWhatIsTouched) {
  TouchTable table(std::int64_t{1} << 40);
  EXPECT_EQ(table.note((std::int64_t{1} << 40) - 1, Access::write, 1, 1), 0u);
  EXPECT_EQ(table.note((std::int64_t{1} << 40) - 1, Access::write, 2, 1), 1u);
  EXPECT_FALSE(table.written(0));
}

}  // namespace
}  // namespace plait::interp
