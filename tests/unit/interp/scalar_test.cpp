#include <cmath>
#include <limits>

#include "unit/interp/run.h"

namespace plait::test {
namespace {

/// The value of `expr` of type `type`, where x, y and z are elements of that type.
double value_of(const std::string& type, const std::string& expr, double x = 0, double y = 0, double z = 0,
                const std::string& result = {}) {
  const std::string to = result.empty() ? type : result;
  const ir::Kernel kernel =
      kernel_of("kernel k(A: in " + type + "[3], B: out " + to +
                "[1]):\n  grid bx = 1\n  x = A[0]\n  y = A[1]\n  z = A[2]\n  B[0] = " + expr + "\n");
  Call call(kernel, {});
  call.set("A", {x, y, z});
  expect_runs(kernel, call);
  return call.get("B")[0];
}

TEST(Scalar, FloatsAreThoseOfIeee) {
  const float x = 0.1f, y = 3.7f, z = -2.3e-9f;
  EXPECT_EQ(value_of("f32", "x + y", x, y), x + y);
  EXPECT_EQ(value_of("f32", "x - y", x, y), x - y);
  EXPECT_EQ(value_of("f32", "x * y", x, y), x * y);
  EXPECT_EQ(value_of("f32", "x / y", x, y), x / y);
  EXPECT_EQ(value_of("f32", "sqrt(y)", x, y), std::sqrt(y));
  EXPECT_EQ(value_of("f32", "fma(x, y, z)", x, y, z), std::fmaf(x, y, z));
  EXPECT_EQ(value_of("f64", "x / y", 0.1, 3.7), 0.1 / 3.7);
  EXPECT_EQ(value_of("f64", "fma(x, y, z)", 0.1, 3.7, -0.37), std::fma(0.1, 3.7, -0.37));
  EXPECT_EQ(value_of("f32", "-x", x), -x);
  EXPECT_EQ(value_of("f32", "abs(x) + floor(y)", -0.5f, 3.7f), 3.5f);
}

TEST(Scalar, NarrowFloatsAreRoundedAfterEachOperation) {
  EXPECT_EQ(value_of("f16", "x + y", 2048, 1), 2048);
  EXPECT_EQ(value_of("f16", "x + y + z", 2048, 1, 1), 2048);
  EXPECT_EQ(value_of("f16", "x * y", 300, 300), std::numeric_limits<double>::infinity());
  EXPECT_EQ(value_of("bf16", "x + y", 256, 1), 256);
  EXPECT_EQ(value_of("e4m3", "x + y", 16, 1), 16);
  EXPECT_EQ(value_of("e2m1", "x + y", 4, 4), 6);
  EXPECT_EQ(value_of("tf32", "x + y", 2048, 1), 2048);
}

TEST(Scalar, NaNThroughMinMaxAndComparisons) {
  EXPECT_TRUE(std::isnan(value_of("f32", "max(x, y)", NAN, 1)));
  EXPECT_TRUE(std::isnan(value_of("f32", "min(x, y)", 1, NAN)));
  EXPECT_TRUE(std::isnan(value_of("f16", "max(x, y)", 1, NAN)));
  for (const char* op : {"==", "<", "<=", ">", ">="}) {
    EXPECT_EQ(value_of("f32", std::string("x ") + op + " y", NAN, 1, 0, "bool"), 0) << op;
  }
  EXPECT_EQ(value_of("f32", "x != y", NAN, 1, 0, "bool"), 1);
  EXPECT_EQ(value_of("f32", "x > y", 2, 1, 0, "bool"), 1);
  EXPECT_EQ(value_of("f32", "x >= y", 1, 1, 0, "bool"), 1);
  EXPECT_EQ(value_of("f32", "isnan(x)", NAN, 1, 0, "bool"), 1);
  EXPECT_EQ(value_of("f32", "isinf(x)", NAN, 1, 0, "bool"), 0);
}

TEST(Scalar, IntegersWrapAndTruncate) {
  EXPECT_EQ(value_of("i8", "x + y", 127, 1), -128);
  EXPECT_EQ(value_of("u8", "x - y", 1, 2), 255);
  EXPECT_EQ(value_of("i32", "x * y", 65536, 65537), 65536);
  EXPECT_EQ(value_of("i32", "x / y", -7, 2), -3);
  EXPECT_EQ(value_of("i32", "x % y", -7, 2), -1);
  EXPECT_EQ(value_of("i32", "ceildiv(x, y)", -7, 2), -3);
  EXPECT_EQ(value_of("i32", "ceildiv(x, y)", 7, 2), 4);
  EXPECT_EQ(value_of("i8", "x / y", -128, -1), -128);
  EXPECT_EQ(value_of("i8", "-x", -128), -128);
  EXPECT_EQ(value_of("i8", "abs(x)", -5), 5);
  EXPECT_EQ(value_of("u8", "~x", 1), 254);
}

TEST(Scalar, ShiftsAreBounded) {
  EXPECT_EQ(value_of("i8", "x << y", 3, 7), -128);
  EXPECT_EQ(value_of("i8", "x << y", 3, 8), 0);
  EXPECT_EQ(value_of("i8", "x >> y", -3, 100), -1);
  EXPECT_EQ(value_of("i8", "x >> y", -3, -1), -1);
  EXPECT_EQ(value_of("i8", "x >> y", 3, -1), 0);
  EXPECT_EQ(value_of("u8", "x >> y", 200, 3), 25);
}

TEST(Scalar, SignedAndUnsignedComparisons) {
  EXPECT_EQ(value_of("i64", "x < y", -1, 1, 0, "bool"), 1);
  EXPECT_EQ(value_of("u64", "u64(x) - u64(1) > y", 0, 1, 0, "bool"), 1);
  EXPECT_EQ(value_of("u64", "max(x - u64(1), y) >> u64(32)", 0, 1), 4294967295.0);
}

TEST(Scalar, Casts) {
  EXPECT_EQ(value_of("f32", "i32(x)", -2.7, 0, 0, "i32"), -2);
  EXPECT_EQ(value_of("f32", "i8(x, saturate=true)", 300, 0, 0, "i8"), 127);
  EXPECT_EQ(value_of("f32", "i32(x, round=up)", 2.1, 0, 0, "i32"), 3);
  EXPECT_EQ(value_of("f32", "f16(x, saturate=true)", 1e9, 0, 0, "f16"), 65504);
  EXPECT_EQ(value_of("f16", "f16(x, saturate=true)", std::numeric_limits<double>::infinity()), 65504);
  EXPECT_EQ(value_of("i32", "bool(x)", 7, 0, 0, "bool"), 1);
  EXPECT_EQ(value_of("i32", "i1(x)", 1, 0, 0, "i1"), -1);
  EXPECT_EQ(value_of("i32", "u64(x) >> u64(60)", -1, 0, 0, "u64"), 15);
  EXPECT_EQ(value_of("f32", "bitcast(i32, x)", 1, 0, 0, "i32"), 0x3f800000);
  EXPECT_EQ(value_of("u16", "bitcast(bf16, x)", 0xc000, 0, 0, "bf16"), -2);
}

TEST(Scalar, Functions) {
  EXPECT_FLOAT_EQ(static_cast<float>(value_of("f32", "exp(x) + erf(y)", 0.5, 0.25)),
                  static_cast<float>(std::exp(0.5) + std::erf(0.25)));
  EXPECT_FLOAT_EQ(static_cast<float>(value_of("f32", "pow(x, y) * rsqrt(z)", 1.5, 2.5, 4)),
                  static_cast<float>(std::pow(1.5, 2.5) / 2));
  EXPECT_DOUBLE_EQ(value_of("f64", "sigmoid(x) + tanh(y) + log2(z)", 0.5, 0.25, 10),
                   1 / (1 + std::exp(-0.5)) + std::tanh(0.25) + std::log2(10));
}

}  // namespace
}  // namespace plait::test
