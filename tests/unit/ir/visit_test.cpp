#include "ir/visit.h"

#include "fixture.h"

namespace plait::ir {
namespace {

class VisitTest : public IrTest {
 protected:
  static std::vector<std::string> visited(const ExprRef& e) {
    std::vector<std::string> out;
    walk(e, [&](const Expr& node) { out.push_back(print(node)); });
    return out;
  }
};

TEST_F(VisitTest, WalkMeetsParentsFirst) {
  Buffer a = tile("A", DType::f32, {4});
  ExprRef c = ref("c", DType::bool_), x = ref("x", DType::f32), i = ref("i");
  ExprRef e = make_select(c, make_call(Intrinsic::exp, {x}, {}, diags), load(a, {i}), {}, diags);
  EXPECT_EQ(visited(e), (std::vector<std::string>{"select(c, exp(x), A[i])", "c", "exp(x)", "x", "A[i]", "i"}));
  EXPECT_EQ(visited(unary(UnaryOp::neg, make_bitcast(DType::i32, cast(DType::f32, i), {}, diags))).size(), 4U);
  EXPECT_TRUE(visited(nullptr).empty());
}

TEST_F(VisitTest, WalkMeetsNestedStatements) {
  StmtRef leaf = make_stmt(Break{}, {});
  StmtRef branch = make_stmt(If{ref("c", DType::bool_), {leaf}, {leaf, leaf}}, {});
  Body body = {make_stmt(For{LoopKind::serial, {}, {}, {make_stmt(While{ref("w", DType::bool_), {branch}}, {})}}, {}),
               make_stmt(Task{1, 2, {leaf}}, {})};
  int count = 0;
  walk(body, [&](const Stmt&) { ++count; });
  EXPECT_EQ(count, 8);
}

TEST_F(VisitTest, EachStatementGivesItsOwnExpressions) {
  Buffer a = tile("A", DType::f32, {4});
  auto roots = [](const StmtNode& node) {
    std::string out;
    for_each_expr(Stmt{{}, node}, [&](const ExprRef& e) { out += (out.empty() ? "" : " ") + print(*e); });
    return out;
  };
  ExprRef x = ref("x", DType::f32), i = ref("i"), c = ref("c", DType::bool_);
  Region region{a, {{i, i64(2)}}, {}};
  EXPECT_EQ(roots(For{LoopKind::serial, {{var("k"), i64(0), ref("n"), i64(1)}}, {}, {make_stmt(Let{var("y"), x}, {})}}),
            "0 n 1");
  EXPECT_EQ(roots(While{c, {}}), "c");
  EXPECT_EQ(roots(If{c, {}, {}}), "c");
  EXPECT_EQ(roots(Let{var("y"), x}), "x");
  EXPECT_EQ(roots(Alloc{a}), "");
  EXPECT_EQ(roots(Store{a, {i}, x}), "i x");
  EXPECT_EQ(roots(AtomicElement{AtomicOp::add, a, {i}, x}), "i x");
  EXPECT_EQ(roots(TileOp{OpKind::fill, {region}, FillAttrs{x}}), "i 2 x");
  CopyAttrs attrs;
  attrs.rows = Region{a, {{ref("r"), i64(3)}}, {}};
  attrs.valid = {ref("v")};
  EXPECT_EQ(roots(TileOp{OpKind::copy, {region, region}, attrs}), "i 2 i 2 r 3 v");
  attrs.pad = x;
  EXPECT_EQ(roots(TileOp{OpKind::copy, {region, region}, attrs}), "i 2 i 2 r 3 v x");
  EXPECT_EQ(roots(TileOp{OpKind::gemm, {region}, GemmAttrs{}}), "i 2");
  EXPECT_EQ(roots(Assert{c, ""}), "c");
  EXPECT_EQ(roots(Print{"{}", {x}}), "x");
  EXPECT_EQ(roots(Break{}) + roots(Continue{}) + roots(Task{}), "");
}

TEST_F(VisitTest, AnUnchangedRewriteIsTheSamePointer) {
  ExprRef e = add(mul(ref("x"), int_literal(2)), ref("y"));
  EXPECT_EQ(rewrite(e, [](const ExprRef&) { return nullptr; }), e);
  EXPECT_EQ(substitute(e, {}), e);
  EXPECT_EQ(rewrite(nullptr, [](const ExprRef& x) { return x; }), nullptr);
}

TEST_F(VisitTest, SubstituteReachesEveryOperand) {
  Var x = var("x", DType::f32), i = var("i");
  Buffer a = tile("A", DType::f32, {4});
  ExprRef c = binary(BinaryOp::lt, var_ref(x), float_literal(1));
  ExprRef e = make_select(c, make_call(Intrinsic::exp, {unary(UnaryOp::neg, var_ref(x))}, {}, diags),
                          cast(DType::f32, make_bitcast(DType::i32, load(a, {var_ref(i)}), {}, diags)), {}, diags);
  VarMap map = {{x.get(), ref("y", DType::f32)}, {i.get(), i64(3)}};
  EXPECT_EQ(text(substitute(e, map)), "select(y < 1.0, exp(-y), f32(bitcast(i32, A[3])))");
  EXPECT_EQ(text(e), "select(x < 1.0, exp(-x), f32(bitcast(i32, A[i])))");
}

TEST_F(VisitTest, ASharedSubtreeIsRewrittenOnce) {
  ExprRef e = ref("x");
  for (int depth = 0; depth < 60; ++depth) e = add(e, e);
  int calls = 0;
  ExprRef same = rewrite(e, [&](const ExprRef&) {
    ++calls;
    return nullptr;
  });
  EXPECT_EQ(same, e);
  EXPECT_EQ(calls, 61);
}

TEST_F(VisitTest, IdenticalComparesFormTypesAndVariables) {
  Var x = var("x");
  EXPECT_TRUE(identical(add(var_ref(x), i64(1)), add(var_ref(x), i64(1))));
  EXPECT_FALSE(identical(add(var_ref(x), i64(1)), add(var_ref(x), i64(2))));
  EXPECT_FALSE(identical(var_ref(x), ref("x")));
  EXPECT_FALSE(identical(typed_int(DType::i32, 1), i64(1)));
  EXPECT_TRUE(identical(int_literal(1), i64(1)));
  EXPECT_FALSE(identical(typed_literal(DType::f32, 0.0), typed_literal(DType::f32, -0.0)));
  EXPECT_TRUE(identical(nullptr, nullptr));
  EXPECT_FALSE(identical(nullptr, i64(1)));
}

}  // namespace
}  // namespace plait::ir
