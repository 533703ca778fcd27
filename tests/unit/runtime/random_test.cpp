#include "runtime/random.h"

#include <cmath>
#include <map>

#include "fixture.h"

namespace plait::runtime {
namespace {

using ir::DType;

std::vector<double> draw(DType type, std::int64_t count, const std::string& name = "A", std::uint64_t seed = 0) {
  HostTensor tensor(type, {{count}, {1}});
  fill_random(tensor, name, seed);
  return to_doubles(tensor.view());
}

TEST(RandomTest, NormalMoments) {
  std::vector<double> x = draw(DType::f64, 100000);
  double m1 = 0, m2 = 0, m4 = 0;
  for (double v : x) {
    m1 += v;
    m2 += v * v;
    m4 += v * v * v * v;
  }
  auto n = static_cast<double>(x.size());
  EXPECT_NEAR(m1 / n, 0, 0.02);
  EXPECT_NEAR(m2 / n, 1, 0.02);
  EXPECT_NEAR(m4 / n, 3, 0.15);
}

TEST(RandomTest, QuantilesAreNormal) {
  std::vector<double> x = draw(DType::f64, 100000);
  for (double at : {-2.0, -1.0, -0.3, 0.0, 0.5, 1.5}) {
    auto below = static_cast<double>(std::count_if(x.begin(), x.end(), [&](double v) { return v < at; }));
    EXPECT_NEAR(below / 1e5, 0.5 * std::erfc(-at / std::sqrt(2.0)), 0.006) << at;
  }
}

/// As computed from the same stream with the logarithm, sine and cosine of a mathematics library.
TEST(RandomTest, ValuesAreFixed) {
  const double want[] = {0.38785108732972073, -0.12939061739801921, -0.6033747768585377, -0.7255739914592597};
  std::vector<double> got = draw(DType::f64, 4, "A", 7);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i], want[i], 1e-15);
  EXPECT_EQ(draw(DType::i32, 8, "A", 7), (std::vector<double>{7, 7, 5, 5, 6, 4, 3, 5}));
}

TEST(RandomTest, StreamsDiffer) {
  EXPECT_NE(draw(DType::f32, 4, "A", 0), draw(DType::f32, 4, "B", 0));
  EXPECT_NE(draw(DType::f32, 4, "A", 0), draw(DType::f32, 4, "A", 1));
  std::vector<double> few = draw(DType::f32, 5), many = draw(DType::f32, 50);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(RandomTest, StridesDoNotChangeValues) {
  HostTensor rows(DType::f32, {{3, 4}, {4, 1}}), columns(DType::f32, {{3, 4}, {1, 5}});
  fill_random(rows, "A", 3);
  fill_random(columns, "A", 3);
  EXPECT_EQ(to_doubles(rows.view()), to_doubles(columns.view()));
}

TEST(RandomTest, IntegerRanges) {
  struct Range {
    DType type;
    double low, high;
  };
  const Range ranges[] = {{DType::bool_, 0, 1}, {DType::i1, -1, 0},  {DType::i2, -2, 1}, {DType::i4, -4, 4},
                          {DType::i8, -4, 4},   {DType::i16, -4, 4}, {DType::i32, 0, 7}, {DType::i64, 0, 7},
                          {DType::u1, 0, 1},    {DType::u2, 0, 3},   {DType::u4, 0, 7},  {DType::u8, 0, 7},
                          {DType::u64, 0, 7}};
  for (const Range& r : ranges) {
    std::map<double, int> seen;
    for (double v : draw(r.type, 4000)) ++seen[v];
    EXPECT_EQ(seen.begin()->first, r.low) << ir::dtype_name(r.type);
    EXPECT_EQ(seen.rbegin()->first, r.high) << ir::dtype_name(r.type);
    for (auto [value, count] : seen)
      EXPECT_NEAR(count, 4000 / (r.high - r.low + 1), 300) << ir::dtype_name(r.type) << value;
  }
}

TEST(RandomTest, NarrowFloatsAreFinite) {
  for (DType type : {DType::e2m1, DType::e4m3, DType::e5m2, DType::f16, DType::bf16, DType::tf32}) {
    for (double v : draw(type, 1000)) ASSERT_TRUE(std::isfinite(v));
  }
}

}  // namespace
}  // namespace plait::runtime
