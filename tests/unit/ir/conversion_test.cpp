#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/numeric.h"

namespace plait::ir {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

std::int64_t saturated(DType type, double value) { return float_to_int(type, value, Rounding::toward_zero, true); }

TEST(FloatToInt, RoundsTowardZeroUnlessAsked) {
  EXPECT_EQ(float_to_int(DType::i32, 2.9), 2);
  EXPECT_EQ(float_to_int(DType::i32, -2.9), -2);
  EXPECT_EQ(float_to_int(DType::i32, 2.5, Rounding::nearest_even), 2);
  EXPECT_EQ(float_to_int(DType::i32, 3.5, Rounding::nearest_even), 4);
  EXPECT_EQ(float_to_int(DType::i32, -2.5, Rounding::nearest_even), -2);
  EXPECT_EQ(float_to_int(DType::i32, -2.1, Rounding::down), -3);
  EXPECT_EQ(float_to_int(DType::i32, 2.1, Rounding::up), 3);
  EXPECT_EQ(float_to_int(DType::i32, -2.1, Rounding::up), -2);
  EXPECT_EQ(float_to_int(DType::i64, 4503599627370497.5, Rounding::nearest_even), 4503599627370498);
}

TEST(FloatToInt, NaNIsZeroAndTrue) {
  for (DType type : {DType::i1, DType::i8, DType::i32, DType::i64, DType::u8, DType::u64}) {
    EXPECT_EQ(float_to_int(type, kNan), 0);
    EXPECT_EQ(saturated(type, kNan), 0);
  }
  EXPECT_EQ(float_to_int(DType::bool_, kNan), 1);
  EXPECT_EQ(float_to_int(DType::bool_, 0.25), 1);
  EXPECT_EQ(float_to_int(DType::bool_, -0.0), 0);
}

TEST(FloatToInt, TooLargeWrapsByWayOfI64) {
  EXPECT_EQ(float_to_int(DType::i8, 300), 44);
  EXPECT_EQ(float_to_int(DType::i8, -129), 127);
  EXPECT_EQ(float_to_int(DType::u8, -1), 255);
  EXPECT_EQ(float_to_int(DType::i32, 4294967301.0), 5);
  EXPECT_EQ(float_to_int(DType::i1, 1), -1);
  EXPECT_EQ(float_to_int(DType::u4, 17), 1);
  EXPECT_EQ(float_to_int(DType::i64, 1e30), kMax);
  EXPECT_EQ(float_to_int(DType::i64, -1e30), kMin);
  EXPECT_EQ(float_to_int(DType::i32, 1e30), -1);
  EXPECT_EQ(float_to_int(DType::i32, kInf), -1);
  EXPECT_EQ(float_to_int(DType::i32, -kInf), 0);
  EXPECT_EQ(float_to_int(DType::u64, -1), -1);
}

TEST(FloatToInt, U64HoldsItsUpperHalf) {
  EXPECT_EQ(static_cast<std::uint64_t>(float_to_int(DType::u64, 0x1p63)), 0x8000000000000000U);
  EXPECT_EQ(static_cast<std::uint64_t>(float_to_int(DType::u64, 1.8446744073709550e19)), 0xfffffffffffff800U);
  EXPECT_EQ(float_to_int(DType::u64, 0x1p64), kMax);
  EXPECT_EQ(static_cast<std::uint64_t>(saturated(DType::u64, 0x1p64)), ~std::uint64_t{0});
}

TEST(FloatToInt, SaturatesAtTheEndsOfTheType) {
  EXPECT_EQ(saturated(DType::i8, 300), 127);
  EXPECT_EQ(saturated(DType::i8, -kInf), -128);
  EXPECT_EQ(saturated(DType::i8, -128.9), -128);
  EXPECT_EQ(saturated(DType::u8, -5), 0);
  EXPECT_EQ(saturated(DType::u8, 255.9), 255);
  EXPECT_EQ(saturated(DType::u1, 7), 1);
  EXPECT_EQ(saturated(DType::i1, 7), 0);
  EXPECT_EQ(saturated(DType::i1, -7), -1);
  EXPECT_EQ(saturated(DType::i64, kInf), kMax);
  EXPECT_EQ(saturated(DType::i64, 0x1p63), kMax);
  EXPECT_EQ(float_to_int(DType::u8, 254.5, Rounding::up, true), 255);
  EXPECT_EQ(float_to_int(DType::u8, 255.5, Rounding::up, true), 255);
}

TEST(IntToInt, WrapsOrSaturates) {
  EXPECT_EQ(int_to_int(DType::i8, 200), -56);
  EXPECT_EQ(int_to_int(DType::u8, -1), 255);
  EXPECT_EQ(int_to_int(DType::i4, 8), -8);
  EXPECT_EQ(int_to_int(DType::u2, 7), 3);
  EXPECT_EQ(int_to_int(DType::i64, kMin), kMin);
  EXPECT_EQ(int_to_int(DType::bool_, 256), 1);
  EXPECT_EQ(int_to_int(DType::i8, 200, false, true), 127);
  EXPECT_EQ(int_to_int(DType::i8, -200, false, true), -128);
  EXPECT_EQ(int_to_int(DType::u8, -1, false, true), 0);
  EXPECT_EQ(int_to_int(DType::i32, -1, true, true), 2147483647);
  EXPECT_EQ(int_to_int(DType::i64, -1, true, true), kMax);
  EXPECT_EQ(int_to_int(DType::u64, -1, true, true), -1);
  EXPECT_EQ(int_to_int(DType::u64, -1, false, true), 0);
  EXPECT_EQ(int_to_int(DType::u64, -1), -1);
}

TEST(IntToFloat, RoundsOnceToNearestEven) {
  EXPECT_EQ(int_to_float(DType::bf16, 33000), 33024);
  EXPECT_EQ(int_to_float(DType::bf16, 259), 260);
  EXPECT_EQ(int_to_float(DType::f32, 16777217), 16777216);
  EXPECT_EQ(int_to_float(DType::f32, 16777219), 16777220);
  EXPECT_EQ(int_to_float(DType::f64, kMax), 0x1p63);
  EXPECT_EQ(int_to_float(DType::f64, -1, true), 0x1p64);
  EXPECT_EQ(int_to_float(DType::f16, 65520), kInf);
  EXPECT_EQ(int_to_float(DType::f16, 65520, false, true), 65504);
  EXPECT_EQ(int_to_float(DType::e2m1, -100), -6);
  EXPECT_TRUE(std::isnan(int_to_float(DType::e4m3, 1000)));
  // By way of f64 these would become ties.
  EXPECT_EQ(int_to_float(DType::f32, (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1), 0x1p60 + 0x1p37);
  EXPECT_EQ(int_to_float(DType::f32, -((std::int64_t{1} << 60) + (std::int64_t{3} << 36) - 1)), -0x1p60 - 0x1p37);
  EXPECT_EQ(int_to_float(DType::bf16, kMin), -0x1p63);
}

TEST(IntToFloat, AgreesWithTheProcessorInF32) {
  std::uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    auto value = static_cast<std::int64_t>(state) >> (i % 64);
    ASSERT_EQ(int_to_float(DType::f32, value), static_cast<double>(static_cast<float>(value))) << value;
    ASSERT_EQ(int_to_float(DType::f32, value, true),
              static_cast<double>(static_cast<float>(static_cast<std::uint64_t>(value))));
  }
}

/// Every type: write distinct values side by side, change one, and find the others as they were.
TEST(Memory, StoresKeepTheNeighbours) {
  for (DType type : all_dtypes()) {
    constexpr std::int64_t count = 24;
    unsigned char data[count * 8] = {};
    auto pattern = [&](std::int64_t i) { return int_to_int(type, i * 7 + 1); };
    for (std::int64_t i = 0; i < count; ++i) {
      is_float(type) ? store_float(type, data, i, static_cast<double>(i % 4)) : store_int(type, data, i, pattern(i));
    }
    for (std::int64_t changed = 0; changed < count; changed += 5) {
      is_float(type) ? store_float(type, data, changed, -0.5) : store_int(type, data, changed, -1);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (is_float(type)) {
        EXPECT_EQ(load_float(type, data, i), i % 5 == 0 ? round_to(type, -0.5) : static_cast<double>(i % 4));
      } else {
        EXPECT_EQ(load_int(type, data, i), i % 5 == 0 ? int_to_int(type, -1) : pattern(i)) << dtype_name(type);
      }
    }
  }
}

TEST(Memory, NarrowTypesArePackedLowestBitsFirst) {
  unsigned char data[2] = {};
  store_int(DType::i4, data, 0, 0x3);
  store_int(DType::i4, data, 1, -1);
  EXPECT_EQ(data[0], 0xf3);
  store_int(DType::u1, data, 9, 1);
  EXPECT_EQ(data[1], 0x02);
  store_float(DType::e2m1, data, 2, 6);
  EXPECT_EQ(data[1], 0x07);
  EXPECT_EQ(load_int(DType::i2, data, 4), -1);
  EXPECT_EQ(load_int(DType::u2, data, 4), 3);
}

}  // namespace
}  // namespace plait::ir
