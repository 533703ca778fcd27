#include <cmath>
#include <limits>

#include "fixture.h"
#include "ir/evaluate.h"

namespace plait::ir {
namespace {

using testing::HasSubstr;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

class Fold : public IrTest {
 protected:
  std::int64_t ints(BinaryOp op, DType type, std::int64_t a, std::int64_t b) {
    ExprRef e = binary(op, typed_int(type, a), typed_int(type, b));
    EXPECT_TRUE(e != nullptr && std::holds_alternative<IntLit>(e->node));
    EXPECT_EQ(e->type, is_comparison(op) ? DType::bool_ : type);
    return *as_int(e);
  }
  double floats(BinaryOp op, DType type, double a, double b) {
    return std::get<FloatLit>(binary(op, typed_literal(type, a), typed_literal(type, b))->node).value;
  }
  double value(const ExprRef& e) { return std::get<FloatLit>(e->node).value; }
};

TEST_F(Fold, WeakLiteralsStayWeak) {
  ExprRef e = mul(int_literal(6), int_literal(7));
  EXPECT_TRUE(e->weak);
  EXPECT_EQ(as_int(e), 42);
  e = binary(BinaryOp::div, float_literal(1), int_literal(3));
  EXPECT_TRUE(e->weak);
  EXPECT_EQ(value(e), 1.0 / 3.0);
  EXPECT_EQ(text(mul(ref("x", DType::f64), e)), "x * 0.3333333333333333");
  EXPECT_EQ(value(make_call(Intrinsic::sqrt, {int_literal(64)}, {}, diags)), 8);
  EXPECT_TRUE(make_call(Intrinsic::abs, {int_literal(-2)}, {}, diags)->weak);
  EXPECT_FALSE(add(typed_int(DType::i8, 1), int_literal(1))->weak);
}

TEST_F(Fold, IntegersWrapAsTheirTypeDoes) {
  EXPECT_EQ(ints(BinaryOp::add, DType::i8, 127, 1), -128);
  EXPECT_EQ(ints(BinaryOp::sub, DType::u8, 0, 1), 255);
  EXPECT_EQ(ints(BinaryOp::mul, DType::i64, kMin, -1), kMin);
  EXPECT_EQ(ints(BinaryOp::mul, DType::u4, 5, 7), 3);
  EXPECT_EQ(ints(BinaryOp::add, DType::i1, -1, -1), 0);
  EXPECT_EQ(as_int(unary(UnaryOp::neg, typed_int(DType::i8, -128))), -128);
  EXPECT_EQ(as_int(unary(UnaryOp::bit_not, typed_int(DType::u8, 1))), 254);
  EXPECT_EQ(as_int(make_call(Intrinsic::abs, {typed_int(DType::i8, -128)}, {}, diags)), -128);
  EXPECT_EQ(as_int(make_call(Intrinsic::abs, {typed_int(DType::u64, -1)}, {}, diags)), -1);
}

TEST_F(Fold, DivisionTruncatesAsInC) {
  EXPECT_EQ(ints(BinaryOp::div, DType::i32, -7, 2), -3);
  EXPECT_EQ(ints(BinaryOp::mod, DType::i32, -7, 2), -1);
  EXPECT_EQ(ints(BinaryOp::mod, DType::i32, 7, -2), 1);
  EXPECT_EQ(ints(BinaryOp::div, DType::i64, kMin, -1), kMin);
  EXPECT_EQ(ints(BinaryOp::mod, DType::i64, kMin, -1), 0);
  EXPECT_EQ(ints(BinaryOp::div, DType::u64, -1, 2), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(ints(BinaryOp::ceil_div, DType::i32, 7, 2), 4);
  EXPECT_EQ(ints(BinaryOp::ceil_div, DType::i32, -7, 2), -3);
  EXPECT_EQ(ints(BinaryOp::ceil_div, DType::i32, -7, -2), 4);
  EXPECT_EQ(ints(BinaryOp::ceil_div, DType::i32, 8, 2), 4);
  EXPECT_EQ(ints(BinaryOp::ceil_div, DType::u64, -1, 2), kMin);
}

TEST_F(Fold, ShiftCountsOutsideTheTypeGiveZeroOrTheSign) {
  EXPECT_EQ(ints(BinaryOp::shl, DType::i8, 1, 7), -128);
  EXPECT_EQ(ints(BinaryOp::shl, DType::i8, 1, 8), 0);
  EXPECT_EQ(ints(BinaryOp::shl, DType::i8, 1, -1), 0);
  EXPECT_EQ(ints(BinaryOp::shr, DType::i8, -128, 7), -1);
  EXPECT_EQ(ints(BinaryOp::shr, DType::i8, -128, 100), -1);
  EXPECT_EQ(ints(BinaryOp::shr, DType::i8, 64, 100), 0);
  EXPECT_EQ(ints(BinaryOp::shr, DType::i8, -1, -1), -1);
  EXPECT_EQ(ints(BinaryOp::shr, DType::u8, 255, 1), 127);
  EXPECT_EQ(ints(BinaryOp::shr, DType::u64, -1, 63), 1);
  EXPECT_EQ(ints(BinaryOp::shl, DType::u64, 1, 64), 0);
}

TEST_F(Fold, ComparisonsAndMinMaxKnowTheSign) {
  EXPECT_EQ(ints(BinaryOp::lt, DType::i64, -1, 0), 1);
  EXPECT_EQ(ints(BinaryOp::lt, DType::u64, -1, 0), 0);
  EXPECT_EQ(ints(BinaryOp::max, DType::u64, -1, 1), -1);
  EXPECT_EQ(ints(BinaryOp::min, DType::i64, -1, 1), -1);
  EXPECT_EQ(as_int(binary(BinaryOp::le, int_literal(2), float_literal(2.5))), 1);
}

TEST_F(Fold, NarrowFloatsAreComputedInF32AndRounded) {
  EXPECT_EQ(floats(BinaryOp::add, DType::f16, 2048, 1), 2048);
  EXPECT_EQ(floats(BinaryOp::mul, DType::f16, 300, 300), HUGE_VAL);
  EXPECT_EQ(floats(BinaryOp::mul, DType::f32, 0.1, 3), static_cast<double>(0.1F * 3.0F));
  EXPECT_EQ(floats(BinaryOp::div, DType::f64, 1, 3), 1.0 / 3.0);
  EXPECT_TRUE(std::isnan(floats(BinaryOp::mul, DType::e4m3, 448, 2)));
  EXPECT_EQ(floats(BinaryOp::add, DType::e2m1, 6, 6), 6);
}

TEST_F(Fold, NaNSpreadsThroughMinAndMaxAndFailsComparisons) {
  EXPECT_TRUE(std::isnan(floats(BinaryOp::max, DType::f32, NAN, 1)));
  EXPECT_TRUE(std::isnan(floats(BinaryOp::min, DType::f32, 1, NAN)));
  ExprRef nan = float_literal(NAN), one = float_literal(1);
  for (BinaryOp op : {BinaryOp::eq, BinaryOp::lt, BinaryOp::le, BinaryOp::gt, BinaryOp::ge}) {
    EXPECT_EQ(as_int(binary(op, nan, one)), 0);
  }
  EXPECT_EQ(as_int(binary(BinaryOp::ne, nan, nan)), 1);
  EXPECT_EQ(as_int(make_call(Intrinsic::isnan, {nan}, {}, diags)), 1);
  EXPECT_FALSE(std::signbit(floats(BinaryOp::div, DType::f32, 0, 0)));
}

TEST_F(Fold, DivisionByALiteralZeroIsReported) {
  EXPECT_THAT(refused(binary(BinaryOp::div, int_literal(1), int_literal(0))),
              HasSubstr("`/` divides by the literal zero [division-by-zero]\n  fix: "));
  EXPECT_THAT(refused(binary(BinaryOp::mod, ref("x"), int_literal(0))), HasSubstr("`%` divides by the literal zero"));
  EXPECT_THAT(refused(binary(BinaryOp::ceil_div, ref("x"), int_literal(0))), HasSubstr("`ceildiv` divides"));
  EXPECT_EQ(value(binary(BinaryOp::div, float_literal(1), int_literal(0))), HUGE_VAL);
}

TEST_F(Fold, OnlyLiteralsFold) {
  EXPECT_EQ(text(mul(int_literal(0), ref("x"))), "0 * x");
  EXPECT_EQ(text(add(ref("x"), int_literal(0))), "x + 0");
  EXPECT_EQ(text(binary(BinaryOp::sub, ref("x"), ref("x"))), "x - x");
}

TEST_F(Fold, AndOrDropALiteralThatDecidesOrDoesNotMatter) {
  ExprRef b = ref("b", DType::bool_), yes = bool_literal(true), no = bool_literal(false);
  EXPECT_EQ(text(binary(BinaryOp::logical_and, yes, b)), "b");
  EXPECT_EQ(text(binary(BinaryOp::logical_and, no, b)), "false");
  EXPECT_EQ(text(binary(BinaryOp::logical_or, yes, b)), "true");
  EXPECT_EQ(text(binary(BinaryOp::logical_or, no, b)), "b");
  EXPECT_EQ(text(binary(BinaryOp::logical_and, b, yes)), "b");
  EXPECT_EQ(text(binary(BinaryOp::logical_or, b, no)), "b");
  EXPECT_EQ(text(binary(BinaryOp::logical_and, b, no)), "b and false");
  EXPECT_EQ(text(unary(UnaryOp::logical_not, no)), "true");
}

TEST_F(Fold, FunctionsOfLiterals) {
  EXPECT_EQ(value(make_call(Intrinsic::round, {float_literal(2.5)}, {}, diags)), 3);
  EXPECT_EQ(value(make_call(Intrinsic::pow, {int_literal(2), int_literal(10)}, {}, diags)), 1024);
  EXPECT_EQ(value(make_call(Intrinsic::exp2, {typed_literal(DType::f16, 15)}, {}, diags)), 32768);
  EXPECT_EQ(value(make_call(Intrinsic::exp2, {typed_literal(DType::f16, 16)}, {}, diags)), HUGE_VAL);
  EXPECT_EQ(value(make_call(Intrinsic::rsqrt, {float_literal(4)}, {}, diags)), 0.5);
  EXPECT_EQ(value(make_call(Intrinsic::sigmoid, {float_literal(0)}, {}, diags)), 0.5);
  // One rounding: the product alone would be rounded to 1.
  float tiny = 1 + 0x1p-12F;
  EXPECT_EQ(value(make_call(Intrinsic::fma,
                            {typed_literal(DType::f32, tiny), typed_literal(DType::f32, tiny),
                             typed_literal(DType::f32, -1 - 0x1p-11)},
                            {}, diags)),
            0x1p-24);
}

TEST_F(Fold, EveryFloatFunctionIsWhatItsNameSays) {
  auto f = [](Intrinsic fn, double x) { return evaluate_call(fn, DType::f64, x); };
  EXPECT_DOUBLE_EQ(f(Intrinsic::exp, 1), 2.718281828459045);
  EXPECT_DOUBLE_EQ(f(Intrinsic::log, 10), 2.302585092994046);
  EXPECT_DOUBLE_EQ(f(Intrinsic::log2, 8), 3);
  EXPECT_DOUBLE_EQ(f(Intrinsic::sin, 1), 0.8414709848078965);
  EXPECT_DOUBLE_EQ(f(Intrinsic::cos, 1), 0.5403023058681398);
  EXPECT_DOUBLE_EQ(f(Intrinsic::tanh, 1), 0.7615941559557649);
  EXPECT_DOUBLE_EQ(f(Intrinsic::erf, 1), 0.8427007929497149);
  EXPECT_EQ(f(Intrinsic::floor, -1.5), -2);
  EXPECT_EQ(f(Intrinsic::ceil, -1.5), -1);
  EXPECT_EQ(f(Intrinsic::trunc, -1.5), -1);
  EXPECT_EQ(f(Intrinsic::round, -2.5), -3);
  EXPECT_EQ(f(Intrinsic::abs, -1.5), 1.5);
}

}  // namespace
}  // namespace plait::ir
