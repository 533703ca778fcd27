#include <cmath>

#include "helpers.h"

namespace plait::syntax {
namespace {

const Kernel& kernel_of(const File& file) { return std::get<Kernel>(file.items.at(0).node); }

template <typename T>
const T& as(const StmtRef& stmt) {
  return std::get<T>(stmt->node);
}
template <typename T>
const T& as(const ExprRef& expr) {
  return std::get<T>(expr->node);
}

TEST(Tree, Parameters) {
  File file = parsed(
      "kernel f(A: in f16[M, 2 * K] strides [lda, 1], x: f32 = -1.5, out: out T[M]; n = 3, T: type = f16, k: int):\n  "
      "grid g = M, h = 2\n");
  const Kernel& k = kernel_of(file);
  ASSERT_EQ(k.params.size(), 3U);
  EXPECT_EQ(k.name, "f");
  EXPECT_EQ(k.params[0].mode, "in");
  EXPECT_EQ(k.params[0].dtype, "f16");
  EXPECT_EQ(k.params[0].shape.size(), 2U);
  ASSERT_EQ(k.params[0].clauses.size(), 1U);
  EXPECT_EQ(as<List>(k.params[0].clauses[0].value).items.size(), 2U);
  EXPECT_EQ(k.params[1].mode, "");
  EXPECT_EQ(as<Unary>(k.params[1].default_value).op, "-");
  EXPECT_EQ(k.params[2].name, "out");
  EXPECT_EQ(k.params[2].mode, "out");
  ASSERT_EQ(k.compile_params.size(), 3U);
  EXPECT_EQ(k.compile_params[0].kind, "");
  EXPECT_EQ(as<IntLit>(k.compile_params[0].default_value).value, 3U);
  EXPECT_EQ(k.compile_params[1].kind, "type");
  EXPECT_EQ(k.compile_params[2].default_value, nullptr);
  EXPECT_EQ(as<Grid>(k.body.at(0)).axes.at(1).first, "h");
}

TEST(Tree, NamesOfContextAreFree) {
  EXPECT_EQ(
      errors_of(
          "kernel f(out: out f32[M], inout: inout f32[M], type: f32; pad = 1, layout: int, strides: type, int = 2):\n"
          "  grid float = 1\n  x = shared f32[pad] layout layout pad pad\n  copy(out, inout, pad=pad)\n"),
      "no error");
}

TEST(Tree, Statements) {
  File file =
      parsed(in_kernel("  s = shared f16[8, n] layout swizzle(128) pad 8 strides (9, 1)\n"
                       "  A[0] += 2\n"
                       "  for i, j in parallel(8, n):\n    break\n"
                       "  if A[0] > 1:\n    pass\n  elif true:\n    pass\n  else:\n    continue\n"
                       "  task(latency=500):\n    print(\"x {}\", 1)\n"
                       "  assert false, \"why\"\n"));
  const Block& body = kernel_of(file).body;
  const auto& alloc = as<Alloc>(body.at(1));
  EXPECT_EQ(alloc.name, "s");
  EXPECT_EQ(alloc.scope, "shared");
  EXPECT_EQ(alloc.dtype, "f16");
  EXPECT_EQ(alloc.shape.size(), 2U);
  ASSERT_EQ(alloc.clauses.size(), 3U);
  EXPECT_EQ(alloc.clauses[0].keyword, "layout");
  EXPECT_EQ(alloc.clauses[2].keyword, "strides");
  const auto& store = as<Assign>(body.at(2));
  EXPECT_EQ(store.op, "+");
  EXPECT_EQ(as<Name>(as<Index>(store.target).base).id, "A");
  const auto& loop = as<For>(body.at(3));
  EXPECT_EQ(loop.vars, (std::vector<std::string>{"i", "j"}));
  EXPECT_EQ(loop.var_locs.at(1).column, 10);
  EXPECT_EQ(loop.kind, "parallel");
  const auto& chain = as<If>(body.at(4));
  EXPECT_EQ(chain.branches.size(), 2U);
  EXPECT_EQ(chain.else_body.size(), 1U);
  const auto& task = as<Task>(body.at(5));
  EXPECT_EQ(task.args.at(0).name, "latency");
  const auto& print = as<Call>(as<CallStmt>(task.body.at(0)).call);
  EXPECT_EQ(print.callee, "print");
  EXPECT_EQ(as<StrLit>(print.args.at(0).value).value, "x {}");
  EXPECT_EQ(as<Assert>(body.at(6)).message, "why");
}

TEST(Tree, Comments) {
  File file = parsed("# a\n\ndef f():  # b\n  # c\n  return 1  # d\n  # e\n# g\n");
  const Item& item = file.items.at(0);
  EXPECT_EQ(item.leading, (std::vector<std::string>{" a", ""}));
  EXPECT_EQ(item.trailing, " b");
  const StmtRef& stmt = std::get<Function>(item.node).body.at(0);
  EXPECT_EQ(stmt->leading, (std::vector<std::string>{" c"}));
  EXPECT_EQ(stmt->trailing, " d");
  EXPECT_EQ(stmt->following, (std::vector<std::string>{" e"}));
  EXPECT_EQ(file.closing, (std::vector<std::string>{" g"}));
}

TEST(Tree, Literals) {
  EXPECT_EQ(as<IntLit>(expr_tree("18446744073709551615")).value, ~std::uint64_t{0});
  EXPECT_EQ(as<IntLit>(expr_tree("0xFf_ff")).value, 0xffffU);
  EXPECT_EQ(as<IntLit>(expr_tree("0b1_01")).value, 5U);
  EXPECT_EQ(as<IntLit>(expr_tree("1_000")).value, 1000U);
  EXPECT_EQ(as<IntLit>(expr_tree("0")).value, 0U);
  EXPECT_EQ(as<FloatLit>(expr_tree("1_0.5e-1")).value, 1.05);
  EXPECT_EQ(as<FloatLit>(expr_tree("1E2")).value, 100);
  EXPECT_EQ(as<FloatLit>(expr_tree("4.9e-324")).value, 4.9e-324);
  EXPECT_EQ(as<FloatLit>(expr_tree("inf")).value, HUGE_VAL);
  EXPECT_TRUE(std::isnan(as<FloatLit>(expr_tree("nan")).value));
  EXPECT_TRUE(as<BoolLit>(expr_tree("true")).value);
}

TEST(Tree, EscapesInStrings) {
  File file = parsed(in_kernel("  require true, \"\\n\\t\\r\\\\\\\"\\x41 \xc3\xa9\"\n"));
  EXPECT_EQ(as<Require>(kernel_of(file).body.at(1)).message, "\n\t\r\\\"A \xc3\xa9");
}

TEST(Tree, PrecedenceFromWeakToStrong) {
  std::vector<std::string> ops = {"or", "and", "==", "|", "^", "&", "<<", "+", "*"};
  for (std::size_t i = 0; i + 1 < ops.size(); ++i) {
    EXPECT_EQ(as<Binary>(expr_tree("a " + ops[i] + " b " + ops[i + 1] + " c")).op, ops[i]);
    EXPECT_EQ(as<Binary>(expr_tree("a " + ops[i + 1] + " b " + ops[i] + " c")).op, ops[i]);
  }
  EXPECT_EQ(as<Unary>(expr_tree("not a == b")).op, "not");
  EXPECT_EQ(as<Binary>(expr_tree("not a and b")).op, "and");
  EXPECT_EQ(as<Binary>(expr_tree("-a * b")).op, "*");
  EXPECT_EQ(as<Binary>(as<Binary>(expr_tree("a - b - c")).a).op, "-");
  EXPECT_EQ(as<Binary>(expr_tree("a - b + c")).op, "+");
}

TEST(Tree, Locations) {
  ExprRef e = expr_tree("foo(a, bb[1])  +  c");
  EXPECT_EQ(e->loc.line, 2);
  EXPECT_EQ(e->loc.column, 10);
  EXPECT_EQ(e->loc.length, 19);
  const auto& call = as<Call>(as<Binary>(e).a);
  EXPECT_EQ(as<Binary>(e).a->loc.length, 13);
  EXPECT_EQ(call.args.at(1).loc.column, 17);
  EXPECT_EQ(call.args.at(1).loc.length, 5);
  EXPECT_EQ(as<Binary>(e).b->loc.column, 28);
  EXPECT_EQ(e->loc.str(), "t.tile:2:10");
}

TEST(Tree, ColumnsCountBytes) {
  File file = parsed(in_kernel("  require x, \"\xc3\xa9\"\n  print(\"\xe2\x82\xac\", abc)\n"));
  const auto& print = as<Call>(as<CallStmt>(kernel_of(file).body.at(2)).call);
  EXPECT_EQ(print.args.at(1).loc.column, 16);
  EXPECT_EQ(print.args.at(1).loc.length, 3);
}

TEST(Tree, LinesJoinInsideBrackets) {
  ExprRef e = expr_tree("f(a,\n# comment\n\n\t b\n)");
  EXPECT_EQ(as<Call>(e).args.at(1).loc.line, 5);
  EXPECT_EQ(as<Call>(e).args.at(1).loc.column, 3);
}

}  // namespace
}  // namespace plait::syntax
