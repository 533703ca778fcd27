#include "ir/print_expr.h"

#include <cmath>
#include <limits>

#include "fixture.h"
#include "ir/numeric.h"

namespace plait::ir {
namespace {

class PrintExpr : public IrTest {
 protected:
  ExprRef a = ref("a"), b = ref("b"), c = ref("c");
  ExprRef p = ref("p", DType::bool_), q = ref("q", DType::bool_), r = ref("r", DType::bool_);
};

TEST_F(PrintExpr, ParenthesesOnlyWhereTheGrammarNeedsThem) {
  EXPECT_EQ(text(add(a, mul(b, c))), "a + b * c");
  EXPECT_EQ(text(mul(add(a, b), c)), "(a + b) * c");
  EXPECT_EQ(text(add(add(a, b), c)), "a + b + c");
  EXPECT_EQ(text(add(a, add(b, c))), "a + (b + c)");
  EXPECT_EQ(text(binary(BinaryOp::div, a, mul(b, c))), "a / (b * c)");
  EXPECT_EQ(text(unary(UnaryOp::neg, add(a, b))), "-(a + b)");
  EXPECT_EQ(text(mul(unary(UnaryOp::neg, a), b)), "-a * b");
  EXPECT_EQ(text(unary(UnaryOp::bit_not, unary(UnaryOp::neg, a))), "~-a");
  EXPECT_EQ(text(binary(BinaryOp::shl, add(a, b), c)), "a + b << c");
  EXPECT_EQ(text(add(a, binary(BinaryOp::shl, b, c))), "a + (b << c)");
  EXPECT_EQ(text(binary(BinaryOp::bit_or, a, binary(BinaryOp::bit_xor, b, binary(BinaryOp::bit_and, a, c)))),
            "a | b ^ a & c");
  EXPECT_EQ(text(binary(BinaryOp::bit_and, binary(BinaryOp::bit_or, a, b), c)), "(a | b) & c");
  EXPECT_EQ(text(binary(BinaryOp::lt, binary(BinaryOp::bit_or, a, b), c)), "a | b < c");
}

TEST_F(PrintExpr, ComparisonsAreNotChained) {
  ExprRef less = binary(BinaryOp::lt, a, b);
  EXPECT_EQ(text(binary(BinaryOp::eq, less, p)), "(a < b) == p");
  EXPECT_EQ(text(binary(BinaryOp::eq, p, less)), "p == (a < b)");
}

TEST_F(PrintExpr, LogicalOperators) {
  EXPECT_EQ(text(binary(BinaryOp::logical_or, p, binary(BinaryOp::logical_and, q, r))), "p or q and r");
  EXPECT_EQ(text(binary(BinaryOp::logical_and, binary(BinaryOp::logical_or, p, q), r)), "(p or q) and r");
  EXPECT_EQ(text(binary(BinaryOp::logical_and, p, binary(BinaryOp::logical_and, q, r))), "p and (q and r)");
  EXPECT_EQ(text(unary(UnaryOp::logical_not, binary(BinaryOp::eq, a, b))), "not a == b");
  EXPECT_EQ(text(binary(BinaryOp::eq, unary(UnaryOp::logical_not, p), q)), "(not p) == q");
  EXPECT_EQ(text(unary(UnaryOp::logical_not, binary(BinaryOp::logical_and, p, q))), "not (p and q)");
  EXPECT_EQ(text(unary(UnaryOp::logical_not, unary(UnaryOp::logical_not, p))), "not not p");
  EXPECT_EQ(text(binary(BinaryOp::logical_and, unary(UnaryOp::logical_not, p), q)), "not p and q");
}

TEST_F(PrintExpr, FunctionsNeedNoParentheses) {
  EXPECT_EQ(text(binary(BinaryOp::ceil_div, add(a, b), mul(b, c))), "ceildiv(a + b, b * c)");
  EXPECT_EQ(text(mul(binary(BinaryOp::min, a, b), c)), "min(a, b) * c");
  EXPECT_EQ(text(cast(DType::f32, add(a, b))), "f32(a + b)");
}

TEST_F(PrintExpr, ALiteralShowsItsTypeWhereNothingElseDoes) {
  EXPECT_EQ(text(i64(5)), "5");
  EXPECT_EQ(text(typed_int(DType::i32, -5)), "i32(-5)");
  EXPECT_EQ(text(typed_literal(DType::f32, 1)), "1.0");
  EXPECT_EQ(text(typed_literal(DType::f16, 1)), "f16(1.0)");
  EXPECT_EQ(text(typed_literal(DType::f64, 0.1)), "f64(0.1)");
  EXPECT_EQ(text(bool_literal(true)), "true");
  EXPECT_EQ(typed_text(typed_literal(DType::f16, 1)), "1.0");
  EXPECT_EQ(text(add(ref("x", DType::i8), int_literal(-3))), "x + -3");
  ExprRef both = make_select(p, typed_literal(DType::f16, 1), typed_literal(DType::f16, 0), {}, diags);
  EXPECT_EQ(text(both), "select(p, f16(1.0), f16(0.0))");
  EXPECT_EQ(text(load(tile("A", DType::f32, {4}), {typed_int(DType::u8, 3)})), "A[u8(3)]");
  EXPECT_EQ(text(make_call(Intrinsic::pow, {typed_literal(DType::f16, 2), ref("x", DType::f16)}, {}, diags)),
            "pow(2.0, x)");
}

TEST_F(PrintExpr, TheEndsOfTheIntegers) {
  EXPECT_EQ(text(i64(std::numeric_limits<std::int64_t>::min())), "-9223372036854775808");
  EXPECT_EQ(text(typed_int(DType::u64, -1)), "u64(18446744073709551615)");
  EXPECT_EQ(text(binary(BinaryOp::bit_and, ref("x", DType::u64), typed_int(DType::u64, -1))),
            "x & u64(18446744073709551615)");
  EXPECT_EQ(text(binary(BinaryOp::bit_and, ref("x", DType::u64), typed_int(DType::u64, 1))), "x & 1");
}

TEST_F(PrintExpr, FloatsHaveTheFewestDigitsThatReadBack) {
  auto shown = [](DType type, double value) { return typed_text(typed_literal(type, value)); };
  EXPECT_EQ(shown(DType::f32, 0.1), "0.1");
  EXPECT_EQ(shown(DType::f64, 0.1), "0.1");
  EXPECT_EQ(shown(DType::f64, 0.1F), "0.10000000149011612");
  EXPECT_EQ(shown(DType::f16, 0.1), "0.1");
  EXPECT_EQ(shown(DType::bf16, 3.140625), "3.14");
  EXPECT_EQ(shown(DType::f32, 100), "100.0");
  EXPECT_EQ(shown(DType::f32, 123456.5), "123456.5");
  EXPECT_EQ(shown(DType::f32, -0.0), "-0.0");
  EXPECT_EQ(shown(DType::f32, 1e10), "1e10");
  EXPECT_EQ(shown(DType::f32, 1e20), "1e20");
  EXPECT_EQ(shown(DType::f32, 1.5e-5), "1.5e-5");
  EXPECT_EQ(shown(DType::f32, 0.00025), "0.00025");
  EXPECT_EQ(shown(DType::f32, 1234567936), "1234568000.0");
  EXPECT_EQ(shown(DType::f32, 1.25e-7), "1.25e-7");
  EXPECT_EQ(shown(DType::f32, std::numeric_limits<float>::max()), "3.4028235e38");
  EXPECT_EQ(shown(DType::f64, std::numeric_limits<double>::max()), "1.7976931348623157e308");
  EXPECT_EQ(shown(DType::f64, 5e-324), "5e-324");
  EXPECT_EQ(shown(DType::f32, HUGE_VAL), "inf");
  EXPECT_EQ(shown(DType::f32, -HUGE_VAL), "-inf");
  EXPECT_EQ(shown(DType::f16, NAN), "nan");
  EXPECT_EQ(shown(DType::f16, -NAN), "nan");
}

TEST_F(PrintExpr, EveryCodeOfASmallFormatReadsBack) {
  for (DType type : {DType::e2m1, DType::e4m3, DType::e5m2, DType::f16, DType::bf16}) {
    for (std::uint64_t code = 0; code < (std::uint64_t{1} << dtype_bits(type)); ++code) {
      double value = decode_float(type, code);
      if (!std::isfinite(value)) continue;
      std::string shown = typed_text(typed_literal(type, value));
      ASSERT_EQ(encode_float(type, round_to(type, std::stod(shown))), code) << shown;
      ASSERT_TRUE(shown.find_first_of(".e") != std::string::npos) << shown;
    }
  }
}

TEST_F(PrintExpr, WeakFloatsKeepTheirDigits) {
  EXPECT_EQ(text(float_literal(0.1)), "0.1");
  EXPECT_EQ(text(float_literal(1.0 / 3)), "0.3333333333333333");
}

TEST_F(PrintExpr, RegionsStandInFull) {
  Buffer g = buffer("G", DType::f32, {ref("M"), a}, Scope::global);
  Buffer s = tile("S", DType::f32, {8, 8});
  auto shown = [](const Buffer& buffer, std::vector<Range> ranges) {
    return region_text(Region{buffer, std::move(ranges), {}});
  };
  EXPECT_EQ(shown(s, {{i64(0), i64(8)}, {i64(0), i64(8)}}), "S");
  EXPECT_EQ(shown(s, {{i64(0), i64(4)}, {i64(4), i64(4)}}), "S[0:4, 4:8]");
  EXPECT_EQ(shown(s, {{i64(-1), i64(4)}, {i64(0), i64(8)}}), "S[-1 : 3, :]");
  EXPECT_EQ(shown(s, {{b, i64(1)}, {i64(0), i64(8)}}), "S[b, :]");
  EXPECT_EQ(shown(s, {{b, i64(1)}, {c, i64(1)}}), "S[b : b + 1, c : c + 1]");
  EXPECT_EQ(shown(s, {{add(mul(b, i64(4)), i64(2)), i64(4)}, {i64(0), i64(8)}}), "S[b * 4 + 2 : b * 4 + 2 + 4, :]");
  EXPECT_EQ(shown(s, {{i64(std::numeric_limits<std::int64_t>::max()), i64(4)}, {i64(0), i64(8)}}),
            "S[9223372036854775807 : -9223372036854775805, :]");
  EXPECT_EQ(shown(g, {{b, c}, {i64(0), a}}), "G[b : b + c, :]");
  EXPECT_EQ(shown(g, {{i64(0), c}, {b, add(a, c)}}), "G[0:c, b : b + (a + c)]");
  EXPECT_EQ(shown(g, {{i64(2), c}, {i64(0), i64(1)}}), "G[2 : 2 + c, 0]");
}

TEST_F(PrintExpr, StringsAreEscaped) {
  EXPECT_EQ(string_text("a \"b\" \\ \n\x01"), R"("a \"b\" \\ \n\x01")");
  EXPECT_EQ(string_text("\xc3\xa9\xff"), R"("\xc3\xa9\xff")");
}

}  // namespace
}  // namespace plait::ir
