// The small float formats against tables that others made, and rounding against a search among all values of a format.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "float_tables.h"
#include "ir/numeric.h"

namespace plait::ir {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double from_f32(std::uint32_t bits) { return static_cast<double>(std::bit_cast<float>(bits)); }

std::uint32_t to_f32(double value) {
  return std::isnan(value) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

std::uint64_t hash_of_codes(DType type) {
  std::uint64_t state = 0xcbf29ce484222325U;
  for (std::uint64_t code = 0; code < (1U << 16); ++code) {
    state = (state ^ to_f32(decode_float(type, code))) * 0x100000001b3U;
  }
  return state;
}

template <std::size_t N>
void expect_codes(DType type, const std::uint32_t (&table)[N]) {
  for (std::size_t code = 0; code < N; ++code) {
    EXPECT_EQ(to_f32(decode_float(type, code)), table[code]) << dtype_name(type) << " code " << code;
  }
}

TEST(FloatFormat, EveryCodeDecodesAsInTheTables) {
  expect_codes(DType::e4m3, tables::k_e4m3);
  expect_codes(DType::e5m2, tables::k_e5m2);
  expect_codes(DType::e2m1, tables::k_e2m1);
  EXPECT_EQ(hash_of_codes(DType::f16), tables::k_f16_hash);
  EXPECT_EQ(hash_of_codes(DType::bf16), tables::k_bf16_hash);
}

TEST(FloatFormat, EveryCodeComesBackFromItsValueNaNsIncluded) {
  for (DType type : {DType::e2m1, DType::e4m3, DType::e5m2, DType::f16, DType::bf16}) {
    for (std::uint64_t code = 0; code < (std::uint64_t{1} << dtype_bits(type)); ++code) {
      ASSERT_EQ(encode_float(type, decode_float(type, code)), code) << dtype_name(type);
    }
  }
}

TEST(FloatFormat, WideFormatsComeBackFromTheirValue) {
  for (std::uint64_t bits : {0x0ULL, 0x80000000ULL, 0x3f800000ULL, 0x1ULL, 0x807fffffULL, 0x7f7fffffULL, 0x7f800000ULL,
                             0xff800000ULL, 0x7fc00000ULL, 0xffc12345ULL, 0x7f800001ULL}) {
    EXPECT_EQ(encode_float(DType::f32, decode_float(DType::f32, bits)), bits);
    EXPECT_EQ(encode_float(DType::tf32, decode_float(DType::tf32, bits)), bits);
  }
  EXPECT_EQ(encode_float(DType::f64, -0.1), std::bit_cast<std::uint64_t>(-0.1));
  EXPECT_EQ(decode_float(DType::f64, std::bit_cast<std::uint64_t>(5e-324)), 5e-324);
}

void expect_sample(DType type, std::uint32_t f32, std::uint64_t code) {
  double rounded = round_to(type, from_f32(f32));
  double expected = decode_float(type, code);
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(rounded)) << dtype_name(type) << " of " << from_f32(f32);
  } else {
    EXPECT_EQ(encode_float(type, rounded), code) << dtype_name(type) << " of " << from_f32(f32);
  }
}

TEST(FloatFormat, SamplesRoundAsInTheTables) {
  for (const tables::Sample& s : tables::k_samples) {
    expect_sample(DType::f16, s.f32, s.f16);
    expect_sample(DType::bf16, s.f32, s.bf16);
    expect_sample(DType::e4m3, s.f32, s.e4m3);
    expect_sample(DType::e5m2, s.f32, s.e5m2);
    expect_sample(DType::e2m1, s.f32, s.e2m1);
  }
}

/// Largest code of a positive finite number.
std::uint64_t last_finite(DType type) {
  std::uint64_t code = (std::uint64_t{1} << (dtype_bits(type) - 1)) - 1;
  while (!std::isfinite(decode_float(type, code))) --code;
  return code;
}

class Rounding4 : public testing::TestWithParam<DType> {};

TEST_P(Rounding4, BetweenNeighboursAllModesChooseTheRightOne) {
  DType type = GetParam();
  for (std::uint64_t code = 0; code < last_finite(type); ++code) {
    double low = decode_float(type, code), high = decode_float(type, code + 1), middle = low + (high - low) / 2;
    double even = code % 2 == 0 ? low : high;
    struct Case {
      double value, nearest;
    };
    for (Case c : {Case{middle, even}, Case{std::nextafter(middle, 0), low}, Case{std::nextafter(middle, kInf), high},
                   Case{std::nextafter(low, kInf), low}, Case{std::nextafter(high, 0), high}}) {
      ASSERT_EQ(round_to(type, c.value), c.nearest) << c.value;
      ASSERT_EQ(round_to(type, -c.value), -c.nearest) << c.value;
      ASSERT_EQ(round_to(type, c.value, Rounding::toward_zero), low);
      ASSERT_EQ(round_to(type, -c.value, Rounding::toward_zero), -low);
      ASSERT_EQ(round_to(type, c.value, Rounding::down), low);
      ASSERT_EQ(round_to(type, -c.value, Rounding::down), -high);
      ASSERT_EQ(round_to(type, c.value, Rounding::up), high);
      ASSERT_EQ(round_to(type, -c.value, Rounding::up), -low);
    }
  }
}

TEST_P(Rounding4, ValuesOfTheFormatStay) {
  DType type = GetParam();
  for (std::uint64_t code = 0; code <= last_finite(type); ++code) {
    double value = decode_float(type, code);
    for (Rounding mode : {Rounding::nearest_even, Rounding::toward_zero, Rounding::down, Rounding::up}) {
      ASSERT_EQ(round_to(type, value, mode), value);
      ASSERT_EQ(std::signbit(round_to(type, -value, mode)), true);
      ASSERT_EQ(round_to(type, -value, mode), -value);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(FloatFormat, Rounding4,
                         testing::Values(DType::e2m1, DType::e4m3, DType::e5m2, DType::f16, DType::bf16),
                         [](const auto& param) { return std::string(dtype_name(param.param)); });

TEST(FloatFormat, Tf32KeepsTenFractionBits) {
  EXPECT_EQ(round_to(DType::tf32, 1 + 0x1p-10), 1 + 0x1p-10);
  EXPECT_EQ(round_to(DType::tf32, 1 + 0x1p-11), 1);
  EXPECT_EQ(round_to(DType::tf32, 1 + 0x3p-11), 1 + 0x1p-9);
  EXPECT_EQ(round_to(DType::tf32, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(round_to(DType::tf32, 0x1p-136), 0x1p-136);
  EXPECT_EQ(round_to(DType::tf32, 0x1p-137), 0);
  EXPECT_EQ(round_to(DType::tf32, 3.4028234663852886e38), kInf);
  EXPECT_EQ(round_to(DType::tf32, 3.4028234663852886e38, Rounding::nearest_even, true), 0x1.ffcp127);
}

TEST(FloatFormat, F32RoundsAsTheProcessorDoes) {
  for (double value : {0.1, 1e-40, 1e-46, 7e-46, 1.4e-45, 3.4028235e38, 3.4028236e38, 16777217.0, 1e300, 1e-300}) {
    EXPECT_EQ(round_to(DType::f32, value), static_cast<double>(static_cast<float>(value))) << value;
  }
}

TEST(FloatFormat, OverflowAndInfinityFollowTheTableOfTheLanguage) {
  // f32 infinity to e5m2 stays infinity.
  EXPECT_EQ(round_to(DType::e5m2, kInf), kInf);
  EXPECT_EQ(encode_float(DType::e5m2, kInf), 0x7cU);
  EXPECT_EQ(round_to(DType::e5m2, -61440), -kInf);
  EXPECT_EQ(round_to(DType::e5m2, kInf, Rounding::nearest_even, true), 57344);
  EXPECT_EQ(round_to(DType::f16, 65520), kInf);
  EXPECT_EQ(round_to(DType::f16, 65519.99), 65504);
  EXPECT_EQ(round_to(DType::f16, -70000, Rounding::nearest_even, true), -65504);
  EXPECT_TRUE(std::isnan(round_to(DType::e4m3, kInf)));
  EXPECT_TRUE(std::isnan(round_to(DType::e4m3, -465)));
  EXPECT_EQ(round_to(DType::e4m3, 464), 448);
  EXPECT_EQ(round_to(DType::e4m3, -kInf, Rounding::nearest_even, true), -448);
  EXPECT_EQ(round_to(DType::e2m1, kInf), 6);
  EXPECT_EQ(round_to(DType::e2m1, -1e30), -6);
  EXPECT_EQ(round_to(DType::f64, kInf), kInf);
  EXPECT_EQ(round_to(DType::f64, -kInf, Rounding::nearest_even, true), -std::numeric_limits<double>::max());
}

TEST(FloatFormat, RoundingTowardZeroStopsAtTheLargestFiniteNumber) {
  EXPECT_EQ(round_to(DType::f16, 1e9, Rounding::toward_zero), 65504);
  EXPECT_EQ(round_to(DType::f16, -1e9, Rounding::up), -65504);
  EXPECT_EQ(round_to(DType::f16, 1e9, Rounding::up), kInf);
  EXPECT_EQ(round_to(DType::f16, kInf, Rounding::toward_zero), kInf);
  EXPECT_EQ(round_to(DType::e4m3, 1e9, Rounding::down), 448);
  EXPECT_TRUE(std::isnan(round_to(DType::e4m3, -1e9, Rounding::down)));
}

TEST(FloatFormat, NaNStaysButForE2m1) {
  for (DType type : {DType::e4m3, DType::e5m2, DType::f16, DType::bf16, DType::tf32, DType::f32, DType::f64}) {
    EXPECT_TRUE(std::isnan(round_to(type, kNan))) << dtype_name(type);
    EXPECT_TRUE(std::isnan(round_to(type, kNan, Rounding::nearest_even, true))) << dtype_name(type);
    EXPECT_TRUE(std::isnan(decode_float(type, encode_float(type, kNan)))) << dtype_name(type);
  }
  EXPECT_EQ(round_to(DType::e2m1, kNan), 6);
  EXPECT_EQ(round_to(DType::e2m1, -kNan), 6);
}

}  // namespace
}  // namespace plait::ir
