#include "layout/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layout/layout_text.h"
#include "random_layout.h"
#include "support/diagnostic.h"

namespace plait::layout {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SourceRef source(const std::string& text) { return std::make_shared<SourceFile>("layout", text); }

Layout read(const std::string& text) {
  auto layout = parse_layout(source(text));
  if (!layout) throw InternalError(layout.diagnostics().render());
  return *layout;
}

TEST(Layout, CountsTheFirstModeFastest) {
  Layout layout = read("(2,(3,2)):(10,(1,100))");
  EXPECT_EQ(layout.size(), 12);
  EXPECT_EQ(layout.cosize(), 10 + 2 + 100 + 1);
  EXPECT_THAT(offsets(layout), ElementsAre(0, 10, 1, 11, 2, 12, 100, 110, 101, 111, 102, 112));
  EXPECT_EQ(layout.offset(std::vector<std::int64_t>{1, 4}), 10 + 1 + 100);
}

TEST(Layout, DenseOnes) {
  EXPECT_EQ(Layout::row_major({80, 96, 3}).str(), "(80,96,3):(288,3,1)");
  EXPECT_EQ(Layout::column_major({80, 96, 3}).str(), "(80,96,3):(1,80,7680)");
}

TEST(Layout, RefusesWhatItCannotHold) {
  EXPECT_THROW(Layout(0, 1), InternalError);
  EXPECT_THROW(Layout(1, -1), InternalError);
  EXPECT_THROW(Layout(std::vector<Layout>{}), InternalError);
  EXPECT_THROW(Layout(std::int64_t{1} << 40, std::int64_t{1} << 40), InternalError);
  EXPECT_THROW(read("4:1").offset(4), InternalError);
  EXPECT_THROW(read("(4,2):(1,4)").offset(std::vector<std::int64_t>{1}), InternalError);
}

TEST(Coalesce, JoinsWhatGoesOn) {
  EXPECT_EQ(coalesce(read("(2,(1,6)):(1,(6,2))")).str(), "12:1");
  EXPECT_EQ(coalesce(read("(2,3):(3,1)")).str(), "(2,3):(3,1)");
  EXPECT_EQ(coalesce(read("((4,5),1,(2,3)):((1,4),9,(20,100))")).str(), "(40,3):(1,100)");
  EXPECT_EQ(coalesce(read("(1,1):(5,7)")).str(), "1:0");
  EXPECT_EQ(coalesce(read("(3,4):(0,0)")).str(), "12:0");
}

TEST(Coalesce, IsTheSameFunctionInOneForm) {
  RandomLayouts random(1);
  int same = 0;
  for (int i = 0; i < 4000; ++i) {
    Layout a = random.any(), b = random.any();
    ASSERT_EQ(offsets(coalesce(a)), offsets(a)) << a.str();
    if (a.size() != b.size()) continue;
    ASSERT_EQ(coalesce(a) == coalesce(b), offsets(a) == offsets(b)) << a.str() << " " << b.str();
    same += coalesce(a) == coalesce(b);
  }
  EXPECT_GE(same, 5);
}

TEST(LayoutText, RoundTrips) {
  RandomLayouts random(2);
  for (int i = 0; i < 1000; ++i) {
    Layout layout = random.any();
    ASSERT_EQ(read(layout.str()), layout) << layout.str();
  }
  EXPECT_EQ(read(" ( 4 , (8, 2) ) : ( 1,(16,\n4)) ").str(), "(4,(8,2)):(1,(16,4))");
  EXPECT_EQ(read("(4):(1)").str(), "(4):(1)");
}

std::string error(const std::string& text) {
  auto layout = parse_swizzled_layout(source(text));
  return layout ? "none" : layout.diagnostics().render();
}

TEST(LayoutText, ErrorsSayWhereAndWhat) {
  EXPECT_THAT(error("(4,2):(1"), HasSubstr("layout:1:9: error: ')' is missing [layout-text]"));
  EXPECT_THAT(error("(4,2):(1"), HasSubstr("fix: write e.g. (4,(8,2)):(1,(16,4))"));
  EXPECT_THAT(error("(4,2)"), HasSubstr("layout:1:6: error: ':' is missing"));
  EXPECT_THAT(error(""), HasSubstr("layout:1:1: error: an integer is missing"));
  EXPECT_THAT(error("(4,\n-2):(1,4)"), HasSubstr("layout:2:1: error: an integer is missing"));
  EXPECT_THAT(error("(4,2):(1,(4,8))"), HasSubstr("layout:1:10: error: the strides have not the form of the extents"));
  EXPECT_THAT(error("(4,0):(1,4)"), HasSubstr("layout:1:4: error: an extent is at least 1"));
  EXPECT_THAT(error("4:1 5"), HasSubstr("layout:1:5: error: something stands behind the layout"));
  EXPECT_THAT(error("999999999999999999999:1"), HasSubstr("the number is larger than 58 bits hold"));
  EXPECT_THAT(error("(1000000000,1000000000,1000000000):(1,1,1)"), HasSubstr("is beyond 62 bits"));
  EXPECT_THAT(error("100000000000:100000000000"), HasSubstr("is beyond 62 bits"));
  EXPECT_THAT(error(std::string(100, '(')), HasSubstr("tuples are nested more than 32 deep"));
  EXPECT_THAT(error("xor(3,4) o 0 o 8:1"), HasSubstr("layout:1:4: error: a swizzle is xor(bits,base,shift)"));
  EXPECT_THAT(error("xor(3,4,2) o 0 o 8:1"), HasSubstr("exchanges no bit with one that it changes"));
  EXPECT_THAT(error("xor(3,4,3) 0 o 8:1"), HasSubstr("layout:1:12: error: 'o' is missing"));
}

TEST(SwizzledLayout, IsReadAndApplied) {
  auto layout = parse_swizzled_layout(source("xor(3,4,3) o 1024 o (8,64):(128,2)"));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->str(), "xor(3,4,3) o 1024 o (8,64):(128,2)");
  EXPECT_EQ(layout->offset(std::vector<std::int64_t>{3, 9}), 1024 + 3 * 128 + ((1 ^ 3) * 16 + 2));
  EXPECT_EQ(layout->offset(std::int64_t{3 + 8 * 9}), layout->offset(std::vector<std::int64_t>{3, 9}));
  auto plain = parse_swizzled_layout(source("(8,64):(128,2)"));
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->swizzle, Swizzle{});
}

TEST(Swizzle, IsItsOwnInverse) {
  for (Swizzle swizzle : {Swizzle{3, 4, 3}, Swizzle{2, 4, 3}, Swizzle{1, 4, 3}, Swizzle{2, 3, 5}, Swizzle{}}) {
    for (std::int64_t offset = 0; offset < 5000; ++offset) ASSERT_EQ(swizzle(swizzle(offset)), offset);
  }
}

}  // namespace
}  // namespace plait::layout
