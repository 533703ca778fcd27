#include "layout/algebra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "layout/as_layout.h"
#include "layout/layout_text.h"
#include "random_layout.h"
#include "support/diagnostic.h"

namespace plait::layout {
namespace {

Layout read(const std::string& text) {
  auto layout = parse_layout(std::make_shared<SourceFile>("layout", text));
  if (!layout) throw InternalError(layout.diagnostics().render());
  return *layout;
}
std::string str(const std::optional<Layout>& layout) { return layout ? layout->str() : "none"; }

// ---- Composition

std::string composed(const std::string& outer, const std::string& inner) {
  return str(compose(read(outer), read(inner)));
}

TEST(Compose, ByHand) {
  EXPECT_EQ(composed("(6,2):(8,2)", "(4,3):(3,1)"), "((2,2),3):((24,2),8)");
  EXPECT_EQ(composed("20:2", "(5,4):(4,1)"), "(5,4):(8,2)");
  EXPECT_EQ(composed("(10,2):(16,4)", "(5,4):(1,5)"), "(5,(2,2)):(16,(80,4))");
  // Tiles of 16 x 48 out of 80 x 96.
  EXPECT_EQ(composed("(80,96):(96,1)", "(16,48):(1,80)"), "(16,48):(96,1)");
  EXPECT_EQ(composed("(80,96):(96,1)", "(96,80):(80,1)"), "(96,80):(1,96)");
}

TEST(Compose, StepsMayMoveSeveralDigits) { EXPECT_EQ(composed("(6,10):(1,100)", "2:7"), "2:101"); }

TEST(Compose, WhatIsNoLayoutIsNone) {
  EXPECT_EQ(composed("(4,4):(1,8)", "(2,2):(3,1)"), "none") << "3 + 1 carries";
  EXPECT_EQ(composed("(6,4):(1,8)", "4:4"), "none") << "steps of 4 in a digit of 6";
  EXPECT_EQ(composed("4:1", "5:1"), "none") << "an offset that is no index";
}

/// Whether f, given by its values, is a layout whose leaves end where those of a layout with these extents end: factors
/// of its size in a row, each with one stride.
bool is_layout(const std::vector<std::int64_t>& f, std::vector<std::size_t> extents, std::size_t period = 1) {
  while (!extents.empty() && extents.back() == 1) extents.pop_back();
  if (extents.empty()) return true;
  for (std::size_t extent = 2; extent <= extents.back(); ++extent) {
    if (extents.back() % extent != 0) continue;
    bool linear = true;
    for (std::size_t i = 0; linear && i < period * extent; ++i)
      linear = f[i] == f[i % period] + static_cast<std::int64_t>(i / period) * f[period];
    std::vector<std::size_t> rest = extents;
    rest.back() /= extent;
    if (linear && is_layout(f, rest, period * extent)) return true;
  }
  return false;
}

/// Extents of the leaves, the last first.
std::vector<std::size_t> extents_backwards(const Layout& layout) {
  std::vector<std::size_t> extents;
  for (const Layout& leaf : layout.leaves()) extents.push_back(static_cast<std::size_t>(leaf.extent()));
  return {extents.rbegin(), extents.rend()};
}

TEST(Compose, RandomOnesAreTheFunctionAndNoneIsMissed) {
  RandomLayouts random(3);
  int found = 0, none = 0;
  for (int i = 0; i < 20000; ++i) {
    Layout outer = random.injective(), inner = random.pick(0, 1) != 0 ? random.injective() : random.any();
    auto result = compose(outer, inner);
    if (inner.cosize() > outer.size()) {
      ASSERT_FALSE(result);
      continue;
    }
    std::vector<std::int64_t> expected;
    for (std::int64_t offset : offsets(inner)) expected.push_back(outer.offset(offset));
    if (result) {
      ASSERT_EQ(offsets(*result), expected) << outer.str() << " o " << inner.str() << " = " << result->str();
      if (!inner.is_leaf()) {
        ASSERT_EQ(result->modes().size(), inner.modes().size());
      }
      ++found;
    } else {
      ASSERT_FALSE(is_layout(expected, extents_backwards(inner))) << outer.str() << " o " << inner.str();
      ++none;
    }
  }
  EXPECT_GT(found, 500);
  EXPECT_GT(none, 50);
}

TEST(Compose, IsAssociativeWhereItIsDefined) {
  RandomLayouts random(4);
  int compared = 0;
  for (int i = 0; i < 20000; ++i) {
    Layout a = random.injective(), b = random.injective(), c = random.any();
    auto ab = compose(a, b), bc = compose(b, c);
    if (!ab || !bc) continue;
    auto left = compose(*ab, c), right = compose(a, *bc);
    if (!left || !right) continue;
    ASSERT_EQ(offsets(*left), offsets(*right));
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

TEST(Compose, KeepsTheSwizzleOutside) {
  SwizzledLayout tile = as_layout(SmemTile{80, 192, 16, 128, 0, 1});
  Layout part = read("(16,(64,3)):(1,(80,5120))");
  auto result = compose(tile, part);
  ASSERT_TRUE(result);
  for (std::int64_t i = 0; i < part.size(); ++i) ASSERT_EQ(result->offset(i), tile.offset(part.offset(i)));
}

// ---- Complement and inverses

std::string complement_of(const std::string& layout, std::int64_t extent) {
  return str(complement(read(layout), extent));
}

TEST(Complement, ByHand) {
  EXPECT_EQ(complement_of("4:1", 24), "6:4");
  EXPECT_EQ(complement_of("6:4", 24), "4:1");
  EXPECT_EQ(complement_of("(4,6):(1,4)", 24), "1:0");
  EXPECT_EQ(complement_of("4:2", 24), "(2,3):(1,8)");
  EXPECT_EQ(complement_of("(2,4):(1,6)", 24), "3:2");
  EXPECT_EQ(complement_of("(2,2):(1,6)", 24), "(3,2):(2,12)");
  EXPECT_EQ(complement_of("48:1", 176), "4:48");
}

TEST(Complement, NoneForWhatOverlapsOrDoesNotTile) {
  EXPECT_EQ(complement_of("(4,2):(1,2)", 24), "none");
  EXPECT_EQ(complement_of("(2,2):(1,3)", 24), "none");
  EXPECT_EQ(complement_of("(4,2):(1,0)", 24), "none");
}

TEST(Complement, RandomOnesCoverEachOffsetOnce) {
  RandomLayouts random(5);
  for (int i = 0; i < 2000; ++i) {
    Layout layout = random.injective();
    std::int64_t extent = random.pick(1, 2 * layout.cosize());
    if (layout.size() > 600) continue;
    auto rest = complement(layout, extent);
    ASSERT_TRUE(rest) << layout.str();
    std::set<std::int64_t> met;
    for (std::int64_t offset : offsets(layout)) {
      for (std::int64_t more : offsets(*rest)) ASSERT_TRUE(met.insert(offset + more).second) << layout.str();
    }
    ASSERT_EQ(*met.begin(), 0);
    ASSERT_EQ(*met.rbegin() + 1, static_cast<std::int64_t>(met.size()));
    ASSERT_GE(static_cast<std::int64_t>(met.size()), extent);
  }
}

TEST(Inverse, ByHand) {
  EXPECT_EQ(right_inverse(read("(4,8):(8,1)")).str(), "(8,4):(4,1)");
  EXPECT_EQ(right_inverse(read("(4,8):(1,5)")).str(), "4:1") << "a gap at 4";
  EXPECT_EQ(right_inverse(read("8:2")).str(), "1:0");
  EXPECT_EQ(str(left_inverse(read("(4,8):(8,1)"))), "(8,4):(4,1)");
  EXPECT_EQ(str(left_inverse(read("4:2"))), "(2,4):(4,1)");
  EXPECT_EQ(str(left_inverse(read("(4,2):(1,2)"))), "none");
}

TEST(Inverse, RandomOnesUndoTheLayout) {
  RandomLayouts random(6);
  for (int i = 0; i < 5000; ++i) {
    Layout any = random.any(), layout = random.injective();
    for (const Layout& a : {any, layout}) {
      Layout right = right_inverse(a);
      for (std::int64_t offset = 0; offset < right.size(); ++offset)
        ASSERT_EQ(a.offset(right.offset(offset)), offset) << a.str() << " " << right.str();
    }
    auto left = left_inverse(layout);
    ASSERT_TRUE(left);
    for (std::int64_t index = 0; index < layout.size(); ++index)
      ASSERT_EQ(left->offset(layout.offset(index)), index) << layout.str() << " " << left->str();
  }
}

TEST(Inverse, RightInverseReachesAsFarAsOffsetsHaveNoGap) {
  RandomLayouts random(7);
  for (int i = 0; i < 2000; ++i) {
    Layout layout = random.injective();
    std::vector<std::int64_t> sorted = offsets(layout);
    std::sort(sorted.begin(), sorted.end());
    std::int64_t reach = 0;
    while (reach < layout.size() && sorted[static_cast<std::size_t>(reach)] == reach) ++reach;
    ASSERT_EQ(right_inverse(layout).size(), reach) << layout.str();
  }
}

// ---- Quotient and product

TEST(Divide, ByHand) {
  EXPECT_EQ(str(divide(read("(4,2,3):(2,1,8)"), read("4:2"))), "((2,2),(2,3)):((4,1),(2,8))");
  EXPECT_EQ(str(divide(read("176:1"), read("48:1"))), "none") << "48 does not divide 176";
  EXPECT_EQ(str(divide(read("192:1"), read("48:1"))), "(48,4):(1,48)");
}

TEST(Divide, RandomOnesAreTheSameElementsInTiles) {
  RandomLayouts random(8);
  int found = 0;
  for (int i = 0; i < 20000; ++i) {
    Layout layout = random.injective(), tiler = random.injective();
    auto result = divide(layout, tiler);
    if (!result) continue;
    ++found;
    std::vector<std::int64_t> all = offsets(*result), expected = offsets(layout);
    for (std::int64_t k = 0; k < tiler.size(); ++k)
      ASSERT_EQ(all[static_cast<std::size_t>(k)], layout.offset(tiler.offset(k)));
    std::sort(all.begin(), all.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(all, expected) << layout.str() << " / " << tiler.str();
  }
  EXPECT_GT(found, 300);
}

TEST(Tile, ByModes) {
  EXPECT_EQ(str(tile(read("(80,192):(192,1)"), {16, 48})), "((16,48),(5,4)):((192,1),(3072,48))");
  EXPECT_EQ(str(tile(read("(80,176):(176,1)"), {16, 48})), "none");
  EXPECT_EQ(str(tile(read("((5,16),96):((16,1),80)"), {20, 32})), "(((5,4),32),(4,3)):(((16,1),80),(4,2560))");
}

TEST(Product, ByHand) {
  EXPECT_EQ(str(product(read("(2,2):(4,1)"), read("6:1"))), "((2,2),(2,3)):((4,1),(2,8))");
  EXPECT_EQ(str(product(read("(8,10):(10,1)"), read("(3,5):(5,1)"))), "((8,10),(3,5)):((10,1),(400,80))");
}

TEST(Product, RandomOnesRepeatTheBlockWithoutOverlap) {
  RandomLayouts random(9);
  int found = 0;
  for (int i = 0; i < 5000; ++i) {
    Layout block = random.injective(), tiler = random.injective();
    auto result = product(block, tiler);
    if (!result || result->size() > 3000) continue;
    ++found;
    std::set<std::int64_t> met;
    for (std::int64_t offset : offsets(*result)) ASSERT_TRUE(met.insert(offset).second);
    ASSERT_EQ(offsets(result->modes()[0]), offsets(block));
    ASSERT_EQ(result->modes()[1].size(), tiler.size());
  }
  EXPECT_GT(found, 300);
}

// ---- Fragments and tiles as layouts

TEST(AsLayout, FragmentsAreTheirMaps) {
  for (const FragmentSpec& spec : {FragmentSpec{FragmentKind::wgmma_acc, 128, 176, ir::DType::f32},
                                   FragmentSpec{FragmentKind::wgmma_a, 64, 96, ir::DType::e4m3},
                                   FragmentSpec{FragmentKind::mma_b, 24, 80, ir::DType::bf16},
                                   FragmentSpec{FragmentKind::vector, 12, 80, ir::DType::f32, 2, 8, 32}}) {
    FragmentMap map = fragment_map(spec);
    Layout layout = as_layout(map);
    ASSERT_EQ(layout.size(), map.threads() * map.elements_per_thread());
    auto inverse = left_inverse(layout);
    ASSERT_TRUE(inverse);
    for (std::int64_t thread = 0; thread < map.threads(); ++thread) {
      for (std::int64_t element = 0; element < map.elements_per_thread(); ++element) {
        Coord at = map.coord(thread, element);
        std::int64_t index = at.row * map.columns() + at.column;
        ASSERT_EQ(layout.offset(std::vector<std::int64_t>{thread, element}), index);
        ASSERT_EQ(inverse->offset(index), thread + map.threads() * element);
      }
    }
  }
}

TEST(AsLayout, TilesAreTheirOffsets) {
  for (int span : {0, 32, 64, 128}) {
    SmemTile smem{80, 192, 16, span, span == 0 ? 8 : 0, 3};
    SwizzledLayout layout = as_layout(smem);
    for (std::int64_t row = 0; row < smem.rows; ++row) {
      for (std::int64_t column = 0; column < smem.columns; ++column)
        ASSERT_EQ(layout.offset({row, column, 2}), smem.offset(row, column, 2));
    }
  }
}

}  // namespace
}  // namespace plait::layout
