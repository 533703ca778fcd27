#include "sample_kernel.h"

namespace plait::ir {
namespace {

class PrintKernel : public SampleKernel {};

constexpr std::string_view kSample = R"(kernel sample(A: in f16[M, N] strides [lda, 1],
              C: out f32[M, N],
              H: inout i32[256],
              alpha: f32 = 1.0):
  grid bx = ceildiv(N, 64), by = ceildiv(M, 32)
  threads 128
  option fast_math
  require N % 8 == 0, "N is a \"multiple\" of 8"
  require M >= 1
  S = shared f16[32, 64] layout swizzle(128)
  T = shared f16[64, 32] layout strided(1, 64)
  U = shared f32[32, 32] layout row_major pad 8
  v = fragment f32[32]
  R = shared i32[32] layout column_major
  l = local u4[8]
  copy(A[by * 32 : by * 32 + 32, bx * 64 : bx * 64 + 64], S)
  copy(A[by * 32 : by * 32 + 32, bx * 64 : bx * 64 + 64], S, rows=R, valid=(M - by, 64), pad=-99.0, cache=evict_first)
  copy(U[16:32, :], C[by : by + 16, 0:32], rows=R[0:16], cache=evict_last)
  copy(A[by * 32 : by * 32 + 32, bx * 64 : bx * 64 + 64], S, rows=R, row_side=dst, valid=[3])
  transpose(S, T)
  clear(U)
  fill(S, -0.0)
  gemm(S, T, U)
  gemm(T, S, U, trans_A=true, trans_B=true, clear_accum=true, policy=square)
  atomic_add(C[by : by + 16, 0:32], U[16:32, :])
  reduce_sum(U, v, dim=1)
  reduce_max(U, v, dim=0, clear=false)
  reduce_argmin(U, H, dim=1)
  cumsum(v, v, dim=0)
  cumsum(U, U, dim=1, reverse=true)
  for i, j in parallel(32, 32):
    U[i, j] = U[i, j] * alpha
    atomic_add(H[3], 1)
    atomic_max(H[j], H[i])
  for k in pipelined(8, stages=3):
    C[0, k] = 1.5
    C[0, k] = 1.5
  for k in pipelined(8, order=[1, 0], stage=[0, 1]):
    C[0, k] = 1.5
    C[0, k] = 1.5
  for k in range(2, 8):
    C[0, k] = 1.5
    C[0, k] = 1.5
  for k in unrolled(0, 8, 2):
    C[0, k] = 1.5
    C[0, k] = 1.5
  for k, w in persistent(4, 4):
    pass
  x = f16(M)
  flag = M > 0
  while flag:
    if M < 9:
      break
    else:
      continue
  if M > 0:
    pass
  elif M < 9:
    print("x = {}, {}", x, 1)
  else:
    print("none")
  assert M > 0, "M\n"
  assert M < 9
  task(latency=500, ii=20):
    l[0] = 3
  task(ii=7):
    pass
)";

TEST_F(PrintKernel, EveryStatement) { EXPECT_EQ(print(sample()), kSample); }

TEST_F(PrintKernel, AShortHeaderTakesOneLine) {
  Kernel k;
  k.name = "tiny";
  k.params = {{ParamKind::in, buffer("A", DType::bf16, {i64(4)}, Scope::global), nullptr, nullptr},
              {ParamKind::scalar, nullptr, var("n", DType::i32, VarKind::scalar), nullptr}};
  EXPECT_EQ(print(k), "kernel tiny(A: in bf16[4], n: i32):\n");
}

TEST_F(PrintKernel, AStatementIsIndentedAsAsked) {
  StmtRef s = make_stmt(While{bool_literal(true), {make_stmt(Break{}, {})}}, {});
  EXPECT_EQ(print(*s, 4), "    while true:\n      break\n");
}

TEST_F(PrintKernel, EqualKernelsAreEqualWhateverTheirVariables) {
  Kernel a = sample(), b = sample();
  EXPECT_NE(a.dims[0], b.dims[0]);
  EXPECT_TRUE(equal(a, b));
}

/// Every single change of a kernel makes another one.
TEST_F(PrintKernel, EachChangeMakesAKernelUnequal) {
  Kernel a = sample();
  auto differs = [&](const char* what, auto change) {
    Kernel b = sample();
    change(b);
    EXPECT_FALSE(equal(a, b)) << what;
    EXPECT_FALSE(equal(b, a)) << what;
  };
  differs("name", [](Kernel& k) { k.name = "other"; });
  differs("threads", [](Kernel& k) { k.threads.reset(); });
  differs("option", [](Kernel& k) { k.options.fast_math = false; });
  differs("grid", [](Kernel& k) { k.grid.pop_back(); });
  differs("require", [](Kernel& k) { k.requires_[1].message = "m"; });
  differs("default", [](Kernel& k) { k.params[3].default_value = nullptr; });
  differs("direction", [](Kernel& k) { k.params[1].kind = ParamKind::inout; });
  differs("dims", [](Kernel& k) { std::swap(k.dims[0], k.dims[1]); });
  differs("buffer", [](Kernel& k) { k.params[1].buffer = k.params[2].buffer; });
  for (std::size_t i = 0; i < a.body.size(); ++i) {
    differs("statement", [&](Kernel& k) { k.body.erase(k.body.begin() + static_cast<std::ptrdiff_t>(i)); });
    for (std::size_t j = i + 1; j < a.body.size(); ++j) {
      differs("order", [&](Kernel& k) { std::swap(k.body[i], k.body[j]); });
    }
  }
}

TEST_F(PrintKernel, NamesCountButIdentityDoesNot) {
  auto lets = [&](const std::string& first, const std::string& second, bool use_first) {
    Var x = var(first), y = var(second);
    Kernel k;
    k.body = {make_stmt(Let{x, i64(1)}, {}), make_stmt(Let{y, i64(1)}, {}),
              make_stmt(Assert{binary(BinaryOp::eq, var_ref(use_first ? x : y), i64(1)), ""}, {})};
    return k;
  };
  EXPECT_TRUE(equal(lets("x", "y", true), lets("x", "y", true)));
  EXPECT_FALSE(equal(lets("x", "y", true), lets("x", "z", true)));
  EXPECT_FALSE(equal(lets("x", "x", true), lets("x", "x", false)));
}

TEST_F(PrintKernel, LocationsAndWeaknessDoNotCount) {
  auto source = std::make_shared<const SourceFile>("a.tile", "x");
  auto with = [&](const ExprRef& e, const Loc& loc) {
    Kernel k;
    k.loc = loc;
    k.body = {make_stmt(Print{"{}", {e}}, loc)};
    return k;
  };
  EXPECT_TRUE(equal(with(i64(1), {}), with(int_literal(1, {source, 1, 1, 1}), {source, 1, 1, 1})));
  EXPECT_FALSE(equal(with(i64(1), {}), with(typed_int(DType::i32, 1), {})));
  EXPECT_TRUE(equal(with(float_literal(NAN), {}), with(float_literal(-NAN), {})));
}

}  // namespace
}  // namespace plait::ir
