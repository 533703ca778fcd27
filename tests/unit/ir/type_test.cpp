#include "ir/type.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/numeric.h"
#include "ir/stmt.h"

namespace plait::ir {
namespace {

TEST(Type, NamesReadBackAsTheirType) {
  EXPECT_EQ(all_dtypes().size(), 23U);
  for (DType type : all_dtypes()) EXPECT_EQ(dtype_from_name(dtype_name(type)), type);
  EXPECT_EQ(dtype_from_name("f8"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
}

TEST(Type, ClassesAndWidths) {
  EXPECT_TRUE(is_bool(DType::bool_));
  EXPECT_FALSE(is_integer(DType::bool_));
  EXPECT_TRUE(is_signed_integer(DType::i1));
  EXPECT_TRUE(is_integer(DType::u64) && !is_signed_integer(DType::u64));
  EXPECT_TRUE(is_float(DType::e2m1) && !is_float(DType::u4));
  EXPECT_EQ(dtype_bits(DType::bool_), 8);
  EXPECT_EQ(dtype_bits(DType::tf32), 32);
  EXPECT_EQ(dtype_bits(DType::e2m1), 4);
}

TEST(Type, CommonTypeExamples) {
  EXPECT_EQ(common_type(DType::i32, DType::i64), DType::i64);
  EXPECT_EQ(common_type(DType::u8, DType::i16), DType::i16);
  EXPECT_EQ(common_type(DType::u8, DType::i8), std::nullopt);
  EXPECT_EQ(common_type(DType::u64, DType::i64), std::nullopt);
  EXPECT_EQ(common_type(DType::f16, DType::f32), DType::f32);
  EXPECT_EQ(common_type(DType::f16, DType::bf16), std::nullopt);
  EXPECT_EQ(common_type(DType::e4m3, DType::e5m2), std::nullopt);
  EXPECT_EQ(common_type(DType::f16, DType::tf32), DType::tf32);
  EXPECT_EQ(common_type(DType::i32, DType::f32), std::nullopt);
  EXPECT_EQ(common_type(DType::bool_, DType::i32), std::nullopt);
  EXPECT_EQ(common_type(DType::bool_, DType::bool_), DType::bool_);
}

/// Values of a type of at most 16 bits as numbers; NaN left out.
std::set<double> values_of(DType type) {
  std::set<double> values;
  for (std::uint64_t code = 0; code < (std::uint64_t{1} << dtype_bits(type)); ++code) {
    double value = is_float(type) ? decode_float(type, code)
                                  : static_cast<double>(int_to_int(type, static_cast<std::int64_t>(code)));
    if (value == value) values.insert(value);
  }
  return values;
}

TEST(Type, CommonTypeHoldsAllValuesOfBoth) {
  std::vector<std::pair<DType, std::set<double>>> small;
  for (DType type : all_dtypes()) {
    if (dtype_bits(type) <= 16 && !is_bool(type)) small.emplace_back(type, values_of(type));
  }
  for (const auto& [a, in_a] : small) {
    for (const auto& [b, in_b] : small) {
      if (is_float(a) != is_float(b)) continue;
      bool a_holds_b = std::includes(in_a.begin(), in_a.end(), in_b.begin(), in_b.end());
      bool b_holds_a = std::includes(in_b.begin(), in_b.end(), in_a.begin(), in_a.end());
      std::optional<DType> expected = a == b      ? std::optional(a)
                                      : a_holds_b ? std::optional(a)
                                      : b_holds_a ? std::optional(b)
                                                  : std::nullopt;
      EXPECT_EQ(common_type(a, b), expected) << dtype_name(a) << " " << dtype_name(b);
    }
  }
}

TEST(Tables, TokensAndNames) {
  EXPECT_EQ(unary_op_token(UnaryOp::logical_not), "not");
  EXPECT_EQ(binary_op_token(BinaryOp::ceil_div), "ceildiv");
  EXPECT_EQ(binary_op_token(BinaryOp::shr), ">>");
  EXPECT_TRUE(is_comparison(BinaryOp::eq) && is_comparison(BinaryOp::ge));
  EXPECT_FALSE(is_comparison(BinaryOp::shr) || is_comparison(BinaryOp::logical_and));
  EXPECT_EQ(intrinsic_name(Intrinsic::rsqrt), "rsqrt");
  EXPECT_EQ(intrinsic_arity(Intrinsic::fma), 3);
  EXPECT_EQ(scope_name(Scope::fragment), "fragment");
  EXPECT_EQ(loop_kind_name(LoopKind::serial), "range");
}

TEST(Tables, EveryOperationIsFoundByItsName) {
  for (OpKind kind : {OpKind::copy, OpKind::gemm, OpKind::reduce_argmin, OpKind::atomic_min}) {
    EXPECT_EQ(op_from_name(op_info(kind).name), kind);
    EXPECT_EQ(op_info(kind).kind, kind);
  }
  EXPECT_EQ(op_from_name("clear"), std::nullopt);
  EXPECT_EQ(op_info(OpKind::gemm).effects, (std::vector{Effect::read, Effect::read, Effect::update}));
  EXPECT_EQ(op_info(OpKind::copy).effects, (std::vector{Effect::read, Effect::write}));
  EXPECT_EQ(op_info(OpKind::transpose).unit, Unit::dma);
}

TEST(Tables, StaticShapeOfAnOnChipBuffer) {
  BufferDecl buffer;
  buffer.name = "S";
  buffer.scope = Scope::shared;
  buffer.shape = {std::make_shared<const Expr>(Expr{DType::i64, {}, IntLit{8}}),
                  std::make_shared<const Expr>(Expr{DType::i64, {}, IntLit{3}})};
  EXPECT_EQ(static_shape(buffer), (std::vector<std::int64_t>{8, 3}));
}

}  // namespace
}  // namespace plait::ir
