#include "runtime/compare.h"

#include <cmath>
#include <limits>

#include "fixture.h"

namespace plait::runtime {
namespace {

using ir::DType;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

HostTensor tensor(DType type, const std::vector<double>& values) {
  HostTensor t(type, {{static_cast<std::int64_t>(values.size())}, {1}});
  for (std::size_t i = 0; i < values.size(); ++i) store_number(t.view(), static_cast<std::int64_t>(i), values[i]);
  return t;
}

TEST(CompareTest, MeasuresErrors) {
  Comparison c = compare(tensor(DType::f64, {1, 2.5, 3}).view(), {1, 2, 3}, 0.1);
  EXPECT_EQ(c.max_abs_err, 0.5);
  EXPECT_NEAR(c.max_rel_err, 0.5 / std::sqrt(14.0 / 3), 1e-12);
  EXPECT_EQ(c.failures, 1);
  EXPECT_EQ(c.worst, 1);
  EXPECT_EQ(c.worst_got, 2.5);
  EXPECT_FALSE(c.ok());
}

TEST(CompareTest, WantedValuesAreRoundedToTheType) {
  EXPECT_TRUE(compare(tensor(DType::f16, {0.1}).view(), {0.1}, 0).ok());
  EXPECT_TRUE(compare(tensor(DType::f32, {kInf}).view(), {1e39}, 0).ok());
}

TEST(CompareTest, SmallElementsAreMeasuredAgainstTheTensor) {
  EXPECT_TRUE(compare(tensor(DType::f32, {100, 1e-4}).view(), {100, 0}, 5e-5).ok());
  EXPECT_FALSE(compare(tensor(DType::f32, {1e-4, 1e-4}).view(), {0, 0}, 5e-5).ok());
}

TEST(CompareTest, ElementsAreMeasuredAgainstTheirRow) {
  // The same error of 0.5 beside a row of tens, and beside a row of ones in a tensor of tens.
  std::vector<double> got = {10.5, 0.5, 1, 1}, want = {10, 0, 1, 0.5};
  ir::TensorView view{got.data(), ir::DType::f64, {2, 2}, {2, 1}};
  Comparison c = compare(view, want, 0.08);
  EXPECT_EQ(c.failures, 1);
  EXPECT_EQ(c.worst, 3);
}

TEST(CompareTest, SpecialValuesMatchThemselvesOnly) {
  EXPECT_TRUE(compare(tensor(DType::f32, {kNan, kInf, -kInf}).view(), {kNan, kInf, -kInf}, 0).ok());
  EXPECT_EQ(compare(tensor(DType::f32, {kNan, kInf, 1, -kInf, 1}).view(), {1, 1, kNan, kInf, kInf}, 0.5).failures, 5);
}

TEST(CompareTest, IntegersAreExact) {
  EXPECT_TRUE(compare(tensor(DType::i32, {5, -3}).view(), {5, -3}, 0).ok());
  EXPECT_FALSE(compare(tensor(DType::i32, {5, -3}).view(), {5, -2}, 0).ok());
}

TEST(CompareTest, IntegersAndBoolsAreComparedWithTheConvertedNumber) {
  EXPECT_TRUE(compare(tensor(DType::i32, {-6, 6, 0}).view(), {-6.808, 6.9, -0.4}, 0).ok());
  EXPECT_FALSE(compare(tensor(DType::i32, {-7}).view(), {-6.808}, 0).ok());
  EXPECT_TRUE(compare(tensor(DType::bool_, {1, 0, 1}).view(), {-6.808, 0, 0.25}, 0).ok());
  EXPECT_FALSE(compare(tensor(DType::bool_, {0}).view(), {0.25}, 1e-3).ok());
  EXPECT_FALSE(compare(tensor(DType::bool_, {1}).view(), {0}, 0).ok());
  EXPECT_TRUE(compare(tensor(DType::i8, {-56}).view(), {200.5}, 0).ok()) << "wrapped";
}

TEST(CompareTest, IntegersFromFloatsMayComeFromNumbersWithinTheLimit) {
  EXPECT_TRUE(compare(tensor(DType::i32, {5}).view(), {6.00001}, 1e-5).ok());
  EXPECT_FALSE(compare(tensor(DType::i32, {5}).view(), {6.00001}, 1e-7).ok());
  EXPECT_TRUE(compare(tensor(DType::bool_, {0}).view(), {1e-9}, 1).ok());
  EXPECT_FALSE(compare(tensor(DType::i32, {1000001}).view(), {1000003}, 1e-7).ok());
}

TEST(CompareTest, SkippedElementsDoNotTakePart) {
  Comparison c = compare(tensor(DType::f32, {1, 9}).view(), {1, 2}, 0, {false, true});
  EXPECT_TRUE(c.ok());
  EXPECT_EQ(c.elements, 1);
}

TEST(CompareTest, IndexOfAnElement) { EXPECT_EQ(index_of(17, {2, 3, 4}), (std::vector<std::int64_t>{1, 1, 1})); }

TEST(CompareTest, ToleranceFollowsTheCoarsestRounding) {
  const char* text = R"(
kernel k(A: in f16[N], C: out f32[N]; middle: type = f32):
  grid b = 1
  x = middle(f32(A[0]) * 2.0)
  C[0] = x
)";
  EXPECT_EQ(coarsest_rounding(kernel_from(text), DType::f32), DType::f32);
  EXPECT_EQ(coarsest_rounding(kernel_from(text, {{"middle", "bf16"}}), DType::f32), DType::bf16);
}

TEST(PoisonTest, ShowsWhatWasNotWritten) {
  for (DType type : ir::all_dtypes()) {
    for (Poison kind : {Poison::first, Poison::second}) {
      HostTensor t(type, {{3, 8}, {10, 1}});
      poison(t, kind);
      EXPECT_EQ(poisoned_elements(t, kind).size(), 24u) << ir::dtype_name(type);
      store_number(t.view(), 10, 0);
      std::vector<std::int64_t> left = poisoned_elements(t, kind);
      EXPECT_EQ(std::count(left.begin(), left.end(), 8),
                ir::dtype_bits(type) <= 2 ? std::count(left.begin(), left.end(), 8) : 0)
          << ir::dtype_name(type);
      EXPECT_EQ(std::count(left.begin(), left.end(), 9), 1) << ir::dtype_name(type);
    }
    HostTensor t(type, {{1}, {1}});
    poison(t);
    if (ir::is_float(type) && type != DType::e2m1) {
      EXPECT_TRUE(std::isnan(to_doubles(t.view())[0])) << ir::dtype_name(type);
    }
  }
}

}  // namespace
}  // namespace plait::runtime
