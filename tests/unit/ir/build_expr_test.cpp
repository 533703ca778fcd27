#include <cmath>
#include <limits>

#include "fixture.h"

namespace plait::ir {
namespace {

using testing::HasSubstr;

class BuildExpr : public IrTest {};

TEST_F(BuildExpr, LiteralsAreWeakUntilAsked) {
  EXPECT_TRUE(int_literal(3)->weak);
  EXPECT_EQ(int_literal(3)->type, DType::i64);
  EXPECT_EQ(float_literal(0.5)->type, DType::f32);
  EXPECT_FALSE(settle(int_literal(3), {}, diags)->weak);
  EXPECT_EQ(std::get<FloatLit>(settle(float_literal(0.1), {}, diags)->node).value, static_cast<double>(0.1F));
  ExprRef typed = ref("x");
  EXPECT_EQ(settle(typed, {}, diags), typed);
  EXPECT_EQ(settle(nullptr, {}, diags), nullptr);
  EXPECT_THAT(refused(settle(float_literal(1e300), {}, diags)), HasSubstr("the literal 1e300 has no value in f32"));
  EXPECT_EQ(as_int(bool_literal(true)), 1);
  EXPECT_EQ(as_int(float_literal(1)), std::nullopt);
  EXPECT_EQ(as_int(nullptr), std::nullopt);
}

TEST_F(BuildExpr, ALiteralTakesTheOtherOperandsType) {
  ExprRef e = add(ref("x", DType::f16), int_literal(1));
  EXPECT_EQ(e->type, DType::f16);
  EXPECT_EQ(text(e), "x + 1.0");
  EXPECT_EQ(text(add(float_literal(0.1), ref("x", DType::f64))), "0.1 + x");
  EXPECT_EQ(text(binary(BinaryOp::max, ref("x", DType::f32), int_literal(0))), "max(x, 0.0)");
  EXPECT_EQ(add(ref("x", DType::i8), int_literal(-128))->type, DType::i8);
  EXPECT_EQ(binary(BinaryOp::lt, ref("x", DType::u8), int_literal(255))->type, DType::bool_);
}

TEST_F(BuildExpr, AFloatLiteralIsRoundedToTheTypeItTakes) {
  ExprRef e = mul(ref("x", DType::f16), float_literal(0.1));
  EXPECT_EQ(std::get<FloatLit>(std::get<Binary>(e->node).b->node).value, 0.0999755859375);
  e = mul(ref("x", DType::f64), float_literal(0.1));
  EXPECT_EQ(std::get<FloatLit>(std::get<Binary>(e->node).b->node).value, 0.1);
}

TEST_F(BuildExpr, ALiteralWithoutAValueInTheTypeIsRefused) {
  EXPECT_THAT(
      refused(add(ref("x", DType::i8), int_literal(128))),
      HasSubstr("the literal 128 has no value in i8 [literal-range]\n  fix: use a wider type, or write i8(128)"));
  EXPECT_THAT(refused(add(ref("x", DType::u32), int_literal(-1))), HasSubstr("literal -1 has no value in u32"));
  EXPECT_THAT(refused(add(ref("x", DType::u64), int_literal(-1))), HasSubstr("literal -1 has no value in u64"));
  EXPECT_THAT(refused(add(ref("x", DType::f16), float_literal(1e10))), HasSubstr("literal 1e10 has no value in f16"));
  EXPECT_THAT(refused(add(ref("x", DType::f16), int_literal(70000))), HasSubstr("literal 70000 has no value in f16"));
  EXPECT_THAT(refused(add(ref("x", DType::e2m1), float_literal(6.5))), HasSubstr("literal 6.5 has no value in e2m1"));
  EXPECT_THAT(refused(add(ref("x", DType::e4m3), float_literal(HUGE_VAL))), HasSubstr("inf has no value in e4m3"));
  EXPECT_THAT(refused(add(ref("x", DType::e2m1), float_literal(NAN))), HasSubstr("nan has no value in e2m1"));
  EXPECT_THAT(refused(settle(make_select(ref("c", DType::bool_), float_literal(1e300), float_literal(0), {}, diags), {},
                             diags)),
              HasSubstr("1e300 has no value in f32"));
  EXPECT_NE(add(ref("x", DType::f32), float_literal(3.4028235e38)), nullptr);
  EXPECT_NE(add(ref("x", DType::e2m1), float_literal(5.9)), nullptr);
  EXPECT_NE(add(ref("x", DType::e5m2), float_literal(HUGE_VAL)), nullptr);
  EXPECT_TRUE(diags.empty());
}

TEST_F(BuildExpr, AFloatLiteralNeverBecomesAnInteger) {
  EXPECT_THAT(refused(add(ref("x", DType::i32), float_literal(1))),
              HasSubstr("the literal 1.0 meets an operand of type i32 [type-mismatch]"));
  EXPECT_THAT(refused(binary(BinaryOp::eq, ref("b", DType::bool_), int_literal(1))),
              HasSubstr("the literal 1 meets an operand of type bool [type-mismatch]\n  fix: write true or false"));
}

TEST_F(BuildExpr, OperandsWidenOnlyWithoutLoss) {
  EXPECT_EQ(text(add(ref("x", DType::i32), ref("y", DType::i64))), "i64(x) + y");
  EXPECT_EQ(text(mul(ref("x", DType::f32), ref("y", DType::f16))), "x * f32(y)");
  EXPECT_EQ(text(binary(BinaryOp::lt, ref("x", DType::u8), ref("y", DType::i16))), "i16(x) < y");
  EXPECT_THAT(refused(add(ref("x", DType::i32), ref("y", DType::f32))),
              HasSubstr("`+` has operands of types i32 and f32, of which neither holds all values of the other "
                        "[type-mismatch]\n  fix: convert one of them, e.g. i32(x)"));
  EXPECT_THAT(refused(add(ref("x", DType::f16), ref("y", DType::bf16))), HasSubstr("types f16 and bf16"));
  EXPECT_THAT(refused(binary(BinaryOp::eq, ref("x", DType::u64), ref("y", DType::i64))), HasSubstr("u64 and i64"));
}

TEST_F(BuildExpr, OperatorsHaveDomains) {
  ExprRef f = ref("f", DType::f32), b = ref("b", DType::bool_), i = ref("i");
  EXPECT_THAT(refused(binary(BinaryOp::mod, f, f)),
              HasSubstr("`%` is defined on integers, not on f32 [operand-type]\n  fix: convert it, e.g. i32(x)"));
  EXPECT_THAT(refused(binary(BinaryOp::bit_and, b, b)), HasSubstr("fix: use and, or, not on bool"));
  EXPECT_THAT(refused(add(b, b)), HasSubstr("`+` is defined on integers and floats, not on bool"));
  EXPECT_THAT(refused(binary(BinaryOp::logical_and, i, b)), HasSubstr("`and` is defined on bool, not on i64"));
  EXPECT_THAT(refused(unary(UnaryOp::logical_not, i)), HasSubstr("fix: compare the value, e.g. x != 0"));
  EXPECT_THAT(refused(unary(UnaryOp::bit_not, f)), HasSubstr("`~` is defined on integers"));
  EXPECT_THAT(refused(unary(UnaryOp::neg, b)), HasSubstr("`-` is defined on integers and floats"));
  EXPECT_THAT(refused(binary(BinaryOp::lt, b, b)), HasSubstr("`<` is defined on"));
  EXPECT_EQ(text(binary(BinaryOp::ne, b, b)), "b != b");
  EXPECT_EQ(text(binary(BinaryOp::ceil_div, i, int_literal(4))), "ceildiv(i, 4)");
}

TEST_F(BuildExpr, ANullOperandGivesNullWithoutASecondReport) {
  EXPECT_EQ(add(nullptr, ref("x")), nullptr);
  EXPECT_EQ(unary(UnaryOp::neg, nullptr), nullptr);
  EXPECT_EQ(cast(DType::f32, nullptr), nullptr);
  EXPECT_EQ(make_bitcast(DType::f32, nullptr, {}, diags), nullptr);
  EXPECT_EQ(make_call(Intrinsic::exp, {nullptr}, {}, diags), nullptr);
  EXPECT_EQ(make_select(ref("c", DType::bool_), nullptr, ref("x"), {}, diags), nullptr);
  EXPECT_EQ(load(tile("S", DType::f32, {4}), {nullptr}), nullptr);
  EXPECT_EQ(convert_for_store(DType::f32, nullptr, {}, diags), nullptr);
  EXPECT_TRUE(diags.empty());
}

TEST_F(BuildExpr, SelectTakesABoolAndOneType) {
  ExprRef c = ref("c", DType::bool_);
  EXPECT_EQ(text(make_select(c, ref("x", DType::f16), int_literal(0), {}, diags)), "select(c, x, 0.0)");
  EXPECT_EQ(make_select(c, int_literal(1), float_literal(0), {}, diags)->type, DType::f32);
  EXPECT_EQ(text(make_select(bool_literal(false), ref("x"), ref("y"), {}, diags)), "y");
  EXPECT_TRUE(make_select(bool_literal(true), int_literal(1), int_literal(2), {}, diags)->weak);
  EXPECT_THAT(refused(make_select(ref("i"), ref("x"), ref("y"), {}, diags)), HasSubstr("`select` is defined on bool"));
}

TEST_F(BuildExpr, SelectBetweenLiteralsTakesTheTypeThatIsAskedFor) {
  ExprRef c = ref("c", DType::bool_);
  auto weak = [&] { return make_select(c, int_literal(5), int_literal(6), {}, diags); };
  EXPECT_TRUE(weak()->weak);
  EXPECT_EQ(text(convert_for_store(DType::i32, weak(), {}, diags)), "select(c, i32(5), i32(6))");
  EXPECT_EQ(convert_for_store(DType::i32, weak(), {}, diags)->type, DType::i32);
  EXPECT_EQ(text(convert_for_store(DType::f16, weak(), {}, diags)), "select(c, f16(5.0), f16(6.0))");
  EXPECT_EQ(text(make_binary(BinaryOp::add, weak(), ref("x", DType::i8), {}, diags)), "select(c, i8(5), i8(6)) + x");
  EXPECT_EQ(text(make_select(ref("d", DType::bool_), weak(), ref("x", DType::u8), {}, diags)),
            "select(d, select(c, u8(5), u8(6)), x)");
  // Behind an operator or cast of its own it is settled.
  EXPECT_EQ(text(make_unary(UnaryOp::neg, weak(), {}, diags)), "-select(c, 5, 6)");
  EXPECT_EQ(text(make_cast(DType::u8, weak(), {}, true, {}, diags)), "u8(select(c, 5, 6), saturate=true)");
  EXPECT_EQ(text(make_call(Intrinsic::exp, {weak()}, {}, diags)), "exp(select(c, 5.0, 6.0))");
  ExprRef tenth = make_select(c, float_literal(0.1), int_literal(1), {}, diags);
  EXPECT_EQ(text(convert_for_store(DType::f64, tenth, {}, diags)), "select(c, f64(0.1), f64(1.0))");
  // Alone it has the type that a literal alone has.
  EXPECT_EQ(make_binary(BinaryOp::add, weak(), int_literal(1), {}, diags)->type, DType::i64);
  EXPECT_FALSE(settle(weak(), {}, diags)->weak);
  EXPECT_TRUE(diags.empty());
  EXPECT_THAT(
      refused(convert_for_store(DType::i8, make_select(c, int_literal(5), int_literal(600), {}, diags), {}, diags)),
      HasSubstr("the literal 600 has no value in i8 [literal-range]"));
}

TEST_F(BuildExpr, CallsTakeFloatsOfOneType) {
  EXPECT_EQ(text(make_call(Intrinsic::exp, {ref("x", DType::bf16)}, {}, diags)), "exp(x)");
  EXPECT_EQ(make_call(Intrinsic::isnan, {ref("x", DType::f16)}, {}, diags)->type, DType::bool_);
  EXPECT_EQ(make_call(Intrinsic::abs, {ref("x", DType::i8)}, {}, diags)->type, DType::i8);
  EXPECT_EQ(text(make_call(Intrinsic::pow, {ref("x", DType::f32), int_literal(2)}, {}, diags)), "pow(x, 2.0)");
  EXPECT_EQ(text(make_call(Intrinsic::fma, {ref("x", DType::f16), ref("y", DType::f32), int_literal(1)}, {}, diags)),
            "fma(f32(x), y, 1.0)");
  EXPECT_THAT(refused(make_call(Intrinsic::exp, {ref("i")}, {}, diags)),
              HasSubstr("`exp` is defined on floats, not on i64 [operand-type]\n  fix: convert it, e.g. f32(x)"));
  EXPECT_THAT(refused(make_call(Intrinsic::pow, {ref("x", DType::f32)}, {}, diags)),
              HasSubstr("pow takes 2 arguments, got 1 [call-form]"));
}

TEST_F(BuildExpr, LoadsTakeOneIntegerADimension) {
  Buffer a = tile("A", DType::f16, {8, 8});
  EXPECT_EQ(text(load(a, {ref("i"), int_literal(3)})), "A[i, 3]");
  EXPECT_EQ(text(load(a, {ref("i", DType::u8), ref("j", DType::i32)})), "A[i, j]");
  EXPECT_THAT(refused(load(a, {ref("i")})), HasSubstr("A has 2 dimensions, but is indexed with 1 [index-rank]\n  fix: "
                                                      "write as many indices as the buffer has dimensions"));
  EXPECT_THAT(refused(load(tile("v", DType::f32, {8}), {ref("i"), ref("j")})),
              HasSubstr("v has 1 dimension, but is indexed with 2"));
  EXPECT_THAT(refused(load(a, {ref("f", DType::f32), ref("j")})), HasSubstr("`[]` is defined on integers, not on f32"));
}

}  // namespace
}  // namespace plait::ir
