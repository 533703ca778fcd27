#include <cmath>

#include "fixture.h"

namespace plait::ir {
namespace {

using testing::HasSubstr;

class CastTest : public IrTest {
 protected:
  ExprRef rounded(DType type, const ExprRef& a, Rounding rounding, bool saturate = false) {
    return make_cast(type, a, rounding, saturate, {}, diags);
  }
  ExprRef saturated(DType type, const ExprRef& a) { return make_cast(type, a, std::nullopt, true, {}, diags); }
  double value(const ExprRef& e) { return std::get<FloatLit>(e->node).value; }
};

TEST_F(CastTest, PrintsWhatWasAsked) {
  ExprRef x = ref("x", DType::f32);
  EXPECT_EQ(text(cast(DType::f16, x)), "f16(x)");
  EXPECT_EQ(text(rounded(DType::f16, x, Rounding::toward_zero)), "f16(x, round=toward_zero)");
  EXPECT_EQ(text(rounded(DType::i8, x, Rounding::nearest_even, true)), "i8(x, round=nearest_even, saturate=true)");
  EXPECT_EQ(text(rounded(DType::i8, x, Rounding::toward_zero)), "i8(x)");
  EXPECT_EQ(text(rounded(DType::e4m3, x, Rounding::nearest_even)), "e4m3(x)");
  EXPECT_EQ(text(cast(DType::bool_, x)), "bool(x)");
}

TEST_F(CastTest, ToTheSameTypeIsNoCast) {
  ExprRef x = ref("x", DType::f32), i = ref("i", DType::i8);
  EXPECT_EQ(cast(DType::f32, x), x);
  EXPECT_EQ(rounded(DType::f32, x, Rounding::up), x);
  EXPECT_EQ(saturated(DType::i8, i), i);
  EXPECT_EQ(text(saturated(DType::f32, x)), "f32(x, saturate=true)");
}

TEST_F(CastTest, LiteralsConvertByTheTable) {
  EXPECT_EQ(value(cast(DType::f64, float_literal(0.1))), 0.1);
  EXPECT_EQ(value(cast(DType::f16, float_literal(1e10))), HUGE_VAL);
  EXPECT_EQ(value(saturated(DType::f16, float_literal(1e10))), 65504);
  EXPECT_EQ(value(cast(DType::bf16, int_literal(259))), 260);
  EXPECT_EQ(value(saturated(DType::e4m3, int_literal(1000))), 448);
  EXPECT_EQ(value(rounded(DType::f32, float_literal(0.1), Rounding::down)), 0.09999999403953552);
  EXPECT_EQ(as_int(cast(DType::u8, int_literal(300))), 44);
  EXPECT_EQ(as_int(saturated(DType::u8, int_literal(300))), 255);
  EXPECT_EQ(as_int(cast(DType::i32, float_literal(-2.7))), -2);
  EXPECT_EQ(as_int(rounded(DType::i32, float_literal(-2.7), Rounding::down)), -3);
  EXPECT_EQ(as_int(cast(DType::bool_, float_literal(NAN))), 1);
  EXPECT_EQ(as_int(cast(DType::i32, bool_literal(true))), 1);
  EXPECT_EQ(value(cast(DType::f32, typed_int(DType::u64, -1))), 0x1p64);
  EXPECT_FALSE(cast(DType::i64, int_literal(1))->weak);
}

TEST_F(CastTest, OptionsWithoutMeaningAreRefused) {
  EXPECT_THAT(refused(rounded(DType::i8, ref("i"), Rounding::up)),
              HasSubstr("round= has no meaning in a conversion from i64 to i8 [cast-option]\n  fix: leave round= out"));
  EXPECT_THAT(refused(rounded(DType::f16, ref("i"), Rounding::up)), HasSubstr("from i64 to f16"));
  EXPECT_THAT(refused(rounded(DType::bool_, ref("x", DType::f32), Rounding::up)), HasSubstr("from f32 to bool"));
  EXPECT_THAT(refused(saturated(DType::bool_, ref("i"))),
              HasSubstr("saturate= has no meaning in a conversion from i64 to bool [cast-option]"));
}

TEST_F(CastTest, BitcastNeedsAsManyBits) {
  EXPECT_EQ(text(make_bitcast(DType::i32, ref("x", DType::f32), {}, diags)), "bitcast(i32, x)");
  EXPECT_EQ(text(make_bitcast(DType::u4, ref("x", DType::e2m1), {}, diags)), "bitcast(u4, x)");
  EXPECT_THAT(refused(make_bitcast(DType::i64, ref("x", DType::f32), {}, diags)),
              HasSubstr("bitcast from f32 (32 bits) to i64 (64 bits) [bitcast-size]\n  fix: "));
  EXPECT_THAT(refused(make_bitcast(DType::bool_, ref("x", DType::u8), {}, diags)), HasSubstr("[bitcast-size]"));
  EXPECT_THAT(refused(make_bitcast(DType::i64, float_literal(1), {}, diags)), HasSubstr("from f32 (32 bits)"));
}

TEST_F(CastTest, BitcastsOfLiteralsFoldWhereALiteralCanSayIt) {
  EXPECT_EQ(as_int(make_bitcast(DType::i32, float_literal(-0.0), {}, diags)), -2147483648LL);
  EXPECT_EQ(value(make_bitcast(DType::f32, int_literal(0x3f800000), {}, diags)), 1);
  EXPECT_EQ(value(make_bitcast(DType::f16, typed_int(DType::i16, -1024), {}, diags)), -HUGE_VAL);
  EXPECT_EQ(as_int(make_bitcast(DType::u8, typed_literal(DType::e4m3, 448), {}, diags)), 0x7e);
  // A NaN keeps its payload, which no literal has.
  EXPECT_EQ(text(make_bitcast(DType::f32, int_literal(0x7fa00000), {}, diags)), "bitcast(f32, u32(2141192192))");
  EXPECT_EQ(text(make_bitcast(DType::tf32, int_literal(0x3f800001), {}, diags)), "bitcast(tf32, u32(1065353217))");
  EXPECT_THAT(refused(make_bitcast(DType::f32, int_literal(-1), {}, diags)), HasSubstr("from i64 (64 bits) to f32"));
}

TEST_F(CastTest, StoresConvertExactlyOrFloatToFloat) {
  auto stored = [&](DType type, const ExprRef& e) { return convert_for_store(type, e, {}, diags); };
  ExprRef f = ref("f", DType::f32), i = ref("i", DType::i32), b = ref("b", DType::bool_);
  EXPECT_EQ(stored(DType::f32, f), f);
  EXPECT_EQ(text(stored(DType::f16, f)), "f16(f)");
  EXPECT_EQ(text(stored(DType::f64, f)), "f64(f)");
  EXPECT_EQ(text(stored(DType::i64, i)), "i64(i)");
  EXPECT_EQ(stored(DType::f16, int_literal(3))->type, DType::f16);
  EXPECT_EQ(value(stored(DType::f16, typed_literal(DType::f32, 1e10))), HUGE_VAL);
  EXPECT_THAT(
      refused(stored(DType::f32, i)),
      HasSubstr("a value of type i32 is used where f32 is wanted [implicit-conversion]\n  fix: convert it: f32(x)"));
  EXPECT_THAT(refused(stored(DType::i32, f)), HasSubstr("type f32 is used where i32 is wanted"));
  EXPECT_THAT(refused(stored(DType::i16, i)), HasSubstr("type i32 is used where i16 is wanted"));
  EXPECT_THAT(refused(stored(DType::i32, b)), HasSubstr("type bool is used where i32 is wanted"));
  EXPECT_THAT(refused(stored(DType::i32, float_literal(1))), HasSubstr("[type-mismatch]"));
  EXPECT_THAT(refused(stored(DType::f16, float_literal(1e10))), HasSubstr("[literal-range]"));
}

}  // namespace
}  // namespace plait::ir
