// One program for each way to break a rule of rules_lang.def, with the text that the author gets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "roundtrip.h"

namespace plait {
namespace {

using testing::HasSubstr;

struct Case {
  std::string name;
  std::string body;  ///< statements of a kernel, or a whole file when it holds a `kernel`
  std::vector<std::string> expected;
  lang::Bindings bindings = {};
};

std::string program(const std::string& body) {
  if (body.find("kernel ") != std::string::npos) return body;
  return "kernel k(A: in f32[M, N], C: out f32[M, N], alpha: f32 = 1.0; b = 8):\n  grid bx = 1\n" + body;
}

class Rules : public testing::TestWithParam<Case> {};

TEST_P(Rules, AreReported) {
  auto kernel = test::load(program(GetParam().body), GetParam().bindings);
  ASSERT_FALSE(kernel.ok()) << ir::print(*kernel);
  std::string text = kernel.diagnostics().render();
  for (const std::string& expected : GetParam().expected) EXPECT_THAT(text, HasSubstr(expected));
}

/// Keeps GoogleTest from printing the bytes of a case.
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::string case_name(const testing::TestParamInfo<Case>& param) { return param.param.name; }

const Case kNames[] = {
    {"UnknownName",
     "  S = shared f32[8]\n  S[0] = alhpa\n",
     {"test.tile:4:10: error: unknown name `alhpa` [unknown-name]", "fix: did you mean `alpha`?"}},
    {"UnknownNameWithoutNeighbour",
     "  x = zzzz + 1\n",
     {":3:7: error: unknown name `zzzz` [unknown-name]", "fix: define the name, or correct its spelling"}},
    {"UnknownNameInOperation", "  clear(Cs)\n", {":3:9: error: unknown name `Cs` [unknown-name]"}},
    {"UnknownNameIndexed", "  x = Q[0]\n", {":3:7: error: unknown name `Q` [unknown-name]"}},
    {"NameEndsWithItsBlock", "  if M > 3:\n    x = M + 1\n  y = x\n", {":5:7: error: unknown name `x` [unknown-name]"}},
    {"LoopVariableEndsWithItsLoop",
     "  for i in range(4):\n    pass\n  y = i + 1\n",
     {":5:7: error: unknown name `i` [unknown-name]"}},
    {"TypeUnknown",
     "kernel k(A: in dtipe[M]; dtype: type = f16):\n  grid b = 1\n",
     {"error: unknown type `dtipe` [unknown-name]", "fix: "}},
    {"TypeIsAScalar", "  S = shared alpha[8]\n", {"error: `alpha` is a scalar, not a type [unknown-name]"}},
    {"FunctionIsNoValue",
     "def f(x):\n  return x\nkernel k(A: in f32[M]):\n  grid b = 1\n  y = f + 1\n",
     {":5:7: error: `f` is a function, not a value [unknown-name]", "fix: call it: f(...)"}},
    {"UnknownFunction",
     "  x = sqtr(alpha)\n",
     {":3:7: error: unknown function `sqtr` [unknown-function]", "did you mean `sqrt`?"}},
    {"UnknownOperation",
     "  cpoy(A, C)\n",
     {":3:3: error: unknown function `cpoy` [unknown-function]", "did you mean `copy`?"}},
    {"BufferIsNoFunction",
     "  x = A(0, 0)\n",
     {"error: `A` is a buffer and cannot be called [unknown-function]", "fix: index it: A[...]"}},
    {"LetTwice",
     "  x = M + 1\n  x = M + 2\n",
     {":4:3: error: `x` is already defined [duplicate-name]", "test.tile:3:3: note: `x` is a scalar defined here"}},
    {"LetHidesParameter", "  alpha = M + 2\n", {":3:3: error: `alpha` is already defined [duplicate-name]"}},
    {"LoopVariableHides",
     "  i = M + 1\n  for i in range(4):\n    pass\n",
     {":4:7: error: `i` is already defined [duplicate-name]"}},
    {"LoopVariablesTwice", "  for i, i in parallel(4, 4):\n    pass\n", {":3:10: error: `i` is already defined"}},
    {"BufferTwice",
     "  S = shared f32[4]\n  S = shared f32[4]\n",
     {":4:3: error: `S` is already defined [duplicate-name]", "note: `S` is a buffer defined here"}},
    {"DimIsAParameterToo",
     "kernel k(M: in f32[M]):\n  grid b = 1\n",
     {"error: `M` is already defined [duplicate-name]"}},
    {"FunctionNamedLikeBuiltin",
     "def max(a, b):\n  return a\nkernel k(A: in f32[M]):\n  grid b = 1\n",
     {":1:5: error: `max` is the name of a built-in function, operation or type [duplicate-name]"}},
    {"FunctionTwice",
     "def f(a):\n  return a\ndef f(a):\n  return a\nkernel k(A: in f32[M]):\n  grid b = 1\n",
     {":3:5: error: function `f` is already defined [duplicate-name]"}},
};
INSTANTIATE_TEST_SUITE_P(Names, Rules, testing::ValuesIn(kNames), case_name);

const Case kHeaders[] = {
    {"UnknownBinding",
     "  pass\n",
     {"error: kernel `k` has no compile-time parameter `blok` (-D blok=4) [compile-param]",
      "fix: its compile-time parameters are `b`"},
     {{"blok", "4"}}},
    {"UnknownBindingNear",
     "kernel k(A: in f32[M]; block_M = 4):\n  grid b = 1\n",
     {"has no compile-time parameter `blockM`", "did you mean `block_M`?"},
     {{"blockM", "4"}}},
    {"BindingOfNone",
     "kernel k(A: in f32[M]):\n  grid b = 1\n",
     {"fix: the kernel has no compile-time parameters"},
     {{"M", "4"}}},
    {"BindingOfWrongKind",
     "  pass\n",
     {"error: -D b=1.5: `1.5` is not an int literal [compile-param]", "fix: `b` takes an integer such as 128"},
     {{"b", "1.5"}}},
    {"BindingIsNoType",
     "kernel k(A: in dtype[M]; dtype: type = f16):\n  grid b = 1\n",
     {"`float32` is not a type literal", "takes a type such as f16"},
     {{"dtype", "float32"}}},
    {"BindingIsNoBool",
     "kernel k(A: in f32[M]; flag = true):\n  grid b = 1\n",
     {"`1` is not a bool literal", "takes true or false"},
     {{"flag", "1"}}},
    {"BindingTooLarge", "  pass\n", {"is not an int literal [compile-param]"}, {{"b", "99999999999999999999"}}},
    {"BindingEmpty", "  pass\n", {"is not an int literal [compile-param]"}, {{"b", ""}}},
    {"BindingWithTail", "  pass\n", {"is not an int literal [compile-param]"}, {{"b", "4 "}}},
    {"BindingMissing",
     "kernel k(A: in f32[M]; n: int, e: float):\n  grid b = 1\n",
     {"error: compile-time parameter `n` has no value [compile-param]", "fix: give -D n=", "`e` has no value"}},
    {"DefaultOfWrongKind",
     "kernel k(A: in f32[M]; n: int = 1.5):\n  grid b = 1\n",
     {"error: the default of `n` is a float, not an int [compile-param]"}},
    {"DefaultIsNoLiteral", "kernel k(A: in f32[M]; n = A[0]):\n  grid b = 1\n", {"[unknown-name]"}},
    {"DimUnbound",
     "kernel k(A: in f32[2 * D]):\n  grid b = 1\n",
     {":1:24: error: `D` is bound by no parameter [dim-binding]", "fix: let the bare name stand"}},
    {"DimIsAScalar",
     "kernel k(n: i64, A: in f32[n]):\n  grid b = 1\n",
     {"error: the shape of `A` uses `n`, which is not a dim [dim-binding]"}},
    {"ExtentNegative",
     "kernel k(A: in f32[0 - 4]):\n  grid b = 1\n",
     {"error: `A` has a negative extent or stride, -4 [dim-binding]"}},
    {"ScalarDefaultIsNoLiteral",
     "kernel k(A: in f32[M], x: i64 = M):\n  grid b = 1\n",
     {"error: the default of `x` is not a literal [scalar-default]"}},
    {"ScalarDefaultOfWrongType", "kernel k(A: in f32[M], x: i32 = 0.5):\n  grid b = 1\n", {"[type-mismatch]"}},
    {"StridesOfWrongRank",
     "kernel k(A: in f32[M, N] strides [lda]):\n  grid b = 1\n",
     {"error: `A` has 1 strides for 2 dimensions [alloc-clause]"}},
    {"ThreadsOutOfRange", "  threads 0\n", {":3:3: error: threads is 0 [attribute-value]"}},
    {"ThreadsTwice", "  threads 64\n  threads 64\n", {":4:3: error: threads is given twice [kernel-statement]"}},
    {"ThreadsInALoop",
     "  for i in range(3):\n    threads 64\n",
     {":4:5: error: threads does not stand inside a loop or branch [kernel-statement]"}},
    {"ThreadsNotConstant",
     "  threads M\n",
     {":3:11: error: threads must be an integer literal [not-constant]", "use literals and compile-time parameters"}},
    {"RequireOfALet",
     "  x = A[0, 0] > 1\n  require x, \"no\"\n",
     {":4:3: error: the condition uses `x`, which is not known at the call [require-condition]", "fix: use assert"}},
    {"RequireOfAGridAxis", "  require bx == 0\n", {"the condition uses `bx`, which is not known at the call"}},
    {"RequireIsNoBool", "  require M\n", {"error: the condition of require has type i64, not bool [type-mismatch]"}},
    {"GridOfAnElement",
     "kernel k(A: in i64[M]):\n  grid b = A[0]\n",
     {":2:12: error: a grid extent uses `A`, which is not known at the call [grid-statement]"}},
    {"OptionUnknown",
     "  option fast_maht\n",
     {":3:3: error: unknown option `fast_maht` [attribute-value]", "did you mean `fast_math`?"}},
};
INSTANTIATE_TEST_SUITE_P(Headers, Rules, testing::ValuesIn(kHeaders), case_name);

const Case kStatements[] = {
    {"AllocNotLiteral",
     "  S = shared f32[M]\n",
     {":3:18: error: extent 0 of `S` is not an integer literal [alloc-extent]"}},
    {"AllocZero", "  S = shared f32[b - 8]\n", {"error: extent 0 of `S` is 0 [alloc-extent]", "at least 1"}},
    {"AllocHuge", "  S = shared f32[1 << 30, 1 << 30]\n", {"error: `S` has more than 2^40 elements [alloc-extent]"}},
    {"AllocFloat", "  S = shared f32[8.0]\n", {"error: extent 0 of `S` is not an integer literal [alloc-extent]"}},
    {"LayoutUnknown",
     "  S = shared f32[8] layout row_mayor\n",
     {"error: unknown layout [alloc-clause]", "did you mean `row_major`?"}},
    {"SwizzleOfWrongSpan",
     "  S = shared f32[8] layout swizzle(48)\n",
     {"error: swizzle(48) of `S`: a swizzle spans 32, 64 or 128 bytes [alloc-clause]"}},
    {"StridedOfWrongRank",
     "  S = shared f32[8, 8] layout strided(8)\n",
     {"error: strided layout of `S` has 1 strides for 2 dimensions [alloc-clause]"}},
    {"StridedNegative", "  S = shared f32[8] layout strided(-1)\n", {"error: stride -1 of `S` is out of range"}},
    {"PadNegative", "  S = shared f32[8] pad -1\n", {"error: pad -1 of `S` is not between 0 and"}},
    {"StridesOfABuffer",
     "  S = shared f32[8] strides [1]\n",
     {"error: `S` is an on-chip buffer and has no strides clause [alloc-clause]", "fix: write layout strided(...)"}},
    {"BufferAsAWhole",
     "  S = shared f32[8]\n  S = M + 1\n",
     {":4:3: error: `S` is a buffer and cannot be assigned as a whole [store-target]", "or use fill or copy"}},
    {"TileAssigned",
     "  S = shared f32[8]\n  S[0:4] = 1\n",
     {":4:3: error: a tile cannot be assigned [store-target]", "use copy or fill"}},
    {"ScalarIndexed", "  alpha[0] = 1\n", {"error: `alpha` is a scalar and cannot be indexed [not-a-buffer]"}},
    {"ScalarInOperation",
     "  clear(alpha)\n",
     {":3:9: error: clear works on buffers, but `alpha` is a scalar [not-a-buffer]"}},
    {"ExpressionInOperation", "  copy(A[0:8, 0:8] + 1, C)\n", {"[not-a-"}},
    {"BufferAsValue",
     "  x = A + 1\n",
     {":3:7: error: `A` is a buffer, not a value [not-a-value]", "fix: index the buffer"}},
    {"TypeAsValue", "  x = f16 + 1\n", {"error: `f16` is a type, not a value [not-a-value]", "with `f16(x)`"}},
    {"TileAsValue", "  x = A[0:4, 0] + 1\n", {":3:7: error: a tile is not a value [not-a-value]"}},
    {"StatementAsValue", "  x = copy(A, C)\n", {"error: `copy` is a statement and has no value [not-a-value]"}},
    {"ValueUnused", "  sqrt(alpha)\n", {":3:3: error: the value of `sqrt` is not used [function-form]"}},
    {"IfIsNoBool", "  if M:\n    pass\n", {":3:6: error: the condition of if has type i64, not bool [type-mismatch]"}},
    {"WhileIsNoBool", "  while 1:\n    pass\n", {"error: the condition of while has type i64, not bool"}},
    {"AssertIsNoBool", "  assert M\n", {"error: the condition of assert has type i64, not bool"}},
    {"IntegerTooLarge",
     "  x = 18446744073709551615 - 1\n",
     {"error: 18446744073709551615 does not fit in i64 [type-mismatch]", "write u64(18446744073709551615)"}},
    {"PrintTooFew", "  print(\"{} {}\", M)\n", {"error: the text has 2 `{}` for 1 arguments [print-format]"}},
    {"TaskOfNegativeCost", "  task(latency=-1):\n    pass\n", {"error: latency is -1 [attribute-value]"}},
    {"TaskOfUnknownCost",
     "  task(latencie=1):\n    pass\n",
     {"error: `task` has no parameter `latencie` [call-form]", "did you mean `latency`?"}},
};
INSTANTIATE_TEST_SUITE_P(Statements, Rules, testing::ValuesIn(kStatements), case_name);

const Case kLoops[] = {
    {"TooManyVariables",
     "  for i, j in range(4):\n    pass\n",
     {":3:3: error: 2 variables for a range loop over 1 axis [loop-form]"}},
    {"TooFewVariables",
     "  for i in parallel(4, 4):\n    pass\n",
     {":3:3: error: 1 variable for a parallel loop over 2 axes [loop-form]", "as many variables as extents"}},
    {"TooManyBounds", "  for i in range(1, 2, 3, 4):\n    pass\n", {"error: too many arguments for `range`"}},
    {"NoBounds", "  for i in range():\n    pass\n", {"error: `range` lacks `begin` [call-form]"}},
    {"StagesOfARange",
     "  for i in range(4, stages=2):\n    pass\n",
     {"error: `range` has no parameter `stages` [call-form]"}},
    {"StagesTwice",
     "  for i in pipelined(4, stages=2, num_stages=2):\n    pass\n",
     {"error: num_stages is another name of stages, which is given already [call-form]"}},
    {"StagesNegative", "  for i in pipelined(4, stages=-1):\n    pass\n", {"error: stages is -1 [attribute-value]"}},
    {"StagesNotConstant", "  for i in pipelined(4, stages=M):\n    pass\n", {"stages must be an integer literal"}},
    {"OrderAlone",
     "  for i in pipelined(4, order=[0]):\n    pass\n",
     {"error: order and stage are given together [call-form]"}},
    {"OrderIsNoList",
     "  for i in pipelined(4, order=0, stage=[0]):\n    pass\n",
     {"error: order is a list of integers [attribute-value]"}},
    {"BoundIsAFloat", "  for i in range(4.0):\n    pass\n", {"[type-mismatch]"}},
    {"StepWithoutEnd", "  for i in range(4, step=2):\n    pass\n", {"error: range has a step but no end [call-form]"}},
};
INSTANTIATE_TEST_SUITE_P(Loops, Rules, testing::ValuesIn(kLoops), case_name);

const Case kOperations[] = {
    {"TooFewOperands",
     "  copy(A)\n",
     {":3:3: error: `copy` lacks `dst` [call-form]", "fix: write copy(src, dst, rows="}},
    {"TooManyOperands", "  clear(C, 1)\n", {"error: too many arguments for `clear`, which takes 1 by position"}},
    {"UnknownAttribute",
     "  S = shared f32[8, 8]\n  gemm(S, S, S, trans_a=true)\n",
     {":4:17: error: `gemm` has no parameter `trans_a` [call-form]", "did you mean `trans_A`?"}},
    {"AttributeTwice",
     "  S = shared f32[8, 8]\n  gemm(S, S, S, trans_A=true, trans_A=true)\n",
     {"error: `trans_A` of `gemm` is given twice [call-form]"}},
    {"FlagIsNoBool",
     "  S = shared f32[8, 8]\n  gemm(S, S, S, trans_A=1)\n",
     {"error: trans_A must be true or false [attribute-value]"}},
    {"PolicyUnknown",
     "  S = shared f32[8, 8]\n  gemm(S, S, S, policy=row)\n",
     {"error: policy cannot be `row` [attribute-value]", "did you mean `rows`?"}},
    {"CacheUnknown",
     "  copy(A, C, cache=keep)\n",
     {"error: cache cannot be `keep` [attribute-value]", "fix: it is one of `evict_first` and `evict_last`"}},
    {"DimOutOfRange",
     "  S = shared f32[8, 8]\n  s = shared f32[8]\n  reduce_sum(S, s, dim=2)\n",
     {":5:3: error: dim=2 is not a dimension of a 2-D tile [attribute-value]", "fix: dim is between 0 and 1"}},
    {"DimNotConstant",
     "  S = shared f32[8, 8]\n  s = shared f32[8]\n  reduce_sum(S, s, dim=M)\n",
     {"error: dim must be an integer literal [not-constant]"}},
    {"ClearOfArgmax",
     "  S = shared f32[8, 8]\n  s = shared i32[8]\n  reduce_argmax(S, s, clear=false)\n",
     {"error: `reduce_argmax` has no parameter `clear` [call-form]"}},
    {"RowSideWithoutRows", "  copy(A, C, row_side=src)\n", {"error: row_side is given without rows [call-form]"}},
    {"RowSideUnknown",
     "  R = shared i32[8]\n  S = shared f32[8, 8]\n  copy(A[0, 0], S, rows=R, row_side=left)\n",
     {"error: row_side cannot be `left` [attribute-value]"}},
    {"FillOfATile", "  S = shared f32[8]\n  fill(S, A)\n", {"error: `A` is a buffer, not a value [not-a-value]"}},
    {"RoundUnknown",
     "  x = f16(alpha, round=nearest)\n",
     {"error: round cannot be `nearest` [attribute-value]", "fix: "}},
    {"BitcastWithoutType",
     "  x = bitcast(alpha, alpha)\n",
     {"error: the first argument of bitcast is a type [attribute-value]"}},
    {"SelectLacksOne", "  x = select(M > 1, 2)\n", {"error: `select` lacks `b` [call-form]"}},
    {"MinOfOne", "  x = min(M)\n", {"error: `min` lacks `b` [call-form]", "fix: write min(a, b)"}},
};
INSTANTIATE_TEST_SUITE_P(Operations, Rules, testing::ValuesIn(kOperations), case_name);

const Case kFunctions[] = {
    {"Recursion",
     "def f(x):\n  return g(x)\ndef g(x):\n  return f(x)\nkernel k(A: in f32[M]):\n  grid b = 1\n  y = f(A[0])\n",
     {":4:10: error: `f` calls itself: f -> g -> f [recursion]", "note: in the call of `g` here",
      "test.tile:7:7: note: in the call of `f` here"}},
    {"ErrorInsideNamesTheCall",
     "def f(x):\n  return x + nope\nkernel k(A: in f32[M]):\n  grid b = 1\n  y = f(A[0])\n",
     {":2:14: error: unknown name `nope` [unknown-name]", "test.tile:5:7: note: in the call of `f` here"}},
    {"FunctionDoesNotSeeTheCaller",
     "def f(x):\n  return x + scale\nkernel k(A: in f32[M]; scale = 2.0):\n  grid b = 1\n  y = f(A[0])\n",
     {":2:14: error: unknown name `scale`"}},
    {"TooFewArguments",
     "def f(x, y):\n  return x\nkernel k(A: in f32[M]):\n  grid b = 1\n  y = f(A[0])\n",
     {":5:7: error: `f` lacks `y` [call-form]", "fix: write f(x, y)"}},
    {"StoreInAnExpression",
     "def f(x):\n  x[0] = 1\n  return x[0]\nkernel k(A: out f32[M]):\n  grid b = 1\n  y = f(A)\n",
     {":2:3: error: `f` is used in an expression and cannot store [function-form]"}},
    {"LoopInAnExpression",
     "def f(x):\n  for i in range(3):\n    pass\n  return x\nkernel k(A: in f32[M]):\n  grid b = 1\n  y = f(A[0])\n",
     {":2:3: error: `f` is used in an expression, so its body holds only lets, static ifs and a return"}},
    {"DynamicIfInAnExpression",
     "def f(x):\n  if x > 1:\n    return x\n  return 1\nkernel k(A: in f32[M]):\n  grid b = 1\n  y = f(A[0])\n",
     {":2:6: error: `f` is used in an expression, so this condition must be known", "fix: use select(cond, a, b)"}},
    {"NoReturn",
     "def f(x):\n  y = x\nkernel k(A: in f32[M]):\n  grid b = 1\n  y = f(A[0])\n",
     {":5:7: error: `f` returns no value [function-form]"}},
    {"BehindReturn",
     "def f(x):\n  return x\n  y = x\nkernel k(A: in f32[M]):\n  grid b = 1\n  y = f(A[0])\n",
     {":3:3: error: a statement behind a return is never reached"}},
    {"ResultUnused",
     "def f(x):\n  return x\nkernel k(A: in f32[M]):\n  grid b = 1\n  f(A[0])\n",
     {":5:3: error: the value of `f` is not used [function-form]"}},
    {"KindOfArgument",
     "def f(x, n: int):\n  return x * n\nkernel k(A: in f32[M]):\n  grid b = 1\n  y = f(1, M)\n",
     {":5:12: error: parameter `n` takes an int literal [call-form]"}},
};
INSTANTIATE_TEST_SUITE_P(Functions, Rules, testing::ValuesIn(kFunctions), case_name);

// ---- Several errors, none told twice
// -------------------------------------------------------------------------------------

std::vector<std::string> rules_of(const std::string& body) {
  auto kernel = test::load(program(body));
  std::vector<std::string> out;
  if (kernel.ok()) return out;
  for (const Diagnostic& d : kernel.diagnostics().list()) {
    out.push_back(std::to_string(d.loc.line) + " " + std::string(rule_name(d.rule)));
  }
  return out;
}

TEST(SeveralErrors, AreReportedAtOnceAndOnceEach) {
  EXPECT_THAT(rules_of("  x = nope\n  y = x + 1\n  z = y * x\n  S = shared f32[M]\n  clear(S)\n  S[x] = y\n"
                       "  for i in range(x):\n    S[i] = zip(z)\n  copy(A, S, pad=y, cahce=evict_last)\n"),
              testing::ElementsAre("3 unknown-name", "6 alloc-extent", "10 unknown-function", "11 call-form"));
}

TEST(SeveralErrors, InOneFunctionCalledTwiceAreReportedOnce) {
  EXPECT_THAT(rules_of("def f(x):\n  return x + nope\nkernel k(A: in f32[M]):\n  grid b = 1\n  y = f(A[0])\n"
                       "  z = f(A[1])\n"),
              testing::ElementsAre("2 unknown-name"));
}

TEST(SeveralErrors, StopAtFifty) {
  std::string body;
  for (int i = 0; i < 200; ++i) body += "  x" + std::to_string(i) + " = nope" + std::to_string(i) + "\n";
  EXPECT_EQ(rules_of(body).size(), 50U);
}

TEST(KernelChoice, NamesTheKernels) {
  const std::string two = "kernel one(A: in f32[M]):\n  grid b = 1\nkernel two(A: in f32[M]):\n  grid b = 1\n";
  EXPECT_THAT(test::load(two).diagnostics().render(),
              HasSubstr("test.tile: error: the file has several kernels: `one` and `two` [unknown-kernel]"));
  EXPECT_THAT(test::load(two, {}, "tow").diagnostics().render(), HasSubstr("did you mean `two`?"));
  EXPECT_TRUE(test::load(two, {}, "two").ok());
  EXPECT_THAT(test::load("def f(x):\n  return x\n").diagnostics().render(), HasSubstr("the file has no kernel"));
}

}  // namespace
}  // namespace plait
