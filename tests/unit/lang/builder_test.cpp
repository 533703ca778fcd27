#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "plait/program.hpp"
#include "roundtrip.h"

namespace plait {
namespace {

using testing::HasSubstr;

/// The example of the language reference, with names for what C++ leaves unnamed.
Kernel matmul_relu(int block_M = 128, int block_N = 128, int block_K = 64) {
  KernelBuilder b("matmul_relu");
  auto [M, N, K] = b.dims("M", "N", "K");
  auto A = b.input("A", f16, {M, K}), B = b.input("B", f16, {K, N});
  auto C = b.output("C", f16, {M, N});
  auto [bx, by] = b.grid(ceildiv(N, block_N), ceildiv(M, block_M));
  auto As = b.shared(f16, {block_M, block_K}, {.name = "A_s"}), Bs = b.shared(f16, {block_K, block_N}, {.name = "B_s"});
  auto Cl = b.fragment(f32, {block_M, block_N}, {.name = "C_l"});
  b.clear(Cl);
  b.pipelined(ceildiv(K, block_K), {.stages = 3, .name = "k"}, [&](Var k) {
    b.copy(A(by * block_M, k * block_K), As);
    b.copy(B(k * block_K, bx * block_N), Bs);
    b.gemm(As, Bs, Cl);
  });
  b.parallel({block_M, block_N}, [&](Var i, Var j) { Cl(i, j) = max(Cl(i, j), 0); });
  b.copy(Cl, C(by * block_M, bx * block_N));
  return b.build();
}

/// The same as docs/design.md shows it: nothing has a name but what C++ cannot know.
Kernel plain_matmul_relu(int block_M = 128, int block_N = 128, int block_K = 64) {
  KernelBuilder b("matmul_relu");
  auto [M, N, K] = b.dims("M", "N", "K");
  auto A = b.input("A", f16, {M, K}), B = b.input("B", f16, {K, N});
  auto C = b.output("C", f16, {M, N});
  auto [bx, by] = b.grid(ceildiv(N, block_N), ceildiv(M, block_M));
  auto As = b.shared(f16, {block_M, block_K}), Bs = b.shared(f16, {block_K, block_N});
  auto Cl = b.fragment(f32, {block_M, block_N});
  b.clear(Cl);
  b.pipelined(ceildiv(K, block_K), {.stages = 3}, [&](Var k) {
    b.copy(A(by * block_M, k * block_K), As);
    b.copy(B(k * block_K, bx * block_N), Bs);
    b.gemm(As, Bs, Cl);
  });
  b.parallel({block_M, block_N}, [&](Var i, Var j) { Cl(i, j) = max(Cl(i, j), 0); });
  b.copy(Cl, C(by * block_M, bx * block_N));
  return b.build();
}

TEST(Builder, NamesWhatHasNone) {
  Kernel built = plain_matmul_relu();
  EXPECT_THAT(built.text(), HasSubstr("shared_buffer_1 = shared f16[64, 128]"));
  EXPECT_THAT(built.text(), HasSubstr("for i in pipelined(ceildiv(K, 64), stages=3):"));
  test::expect_round_trip(*built.ir());
}

TEST(Builder, MatmulEqualsTheTextForm) {
  auto text = test::load(R"(
kernel matmul_relu(A: in f16[M, K], B: in f16[K, N], C: out f16[M, N];
                   block_M = 128, block_N = 128, block_K = 64):
  grid bx = ceildiv(N, block_N), by = ceildiv(M, block_M)
  A_s = shared f16[block_M, block_K]
  B_s = shared f16[block_K, block_N]
  C_l = fragment f32[block_M, block_N]
  clear(C_l)
  for k in pipelined(ceildiv(K, block_K), stages=3):
    copy(A[by * block_M, k * block_K], A_s)
    copy(B[k * block_K, bx * block_N], B_s)
    gemm(A_s, B_s, C_l)
  for i, j in parallel(block_M, block_N):
    C_l[i, j] = max(C_l[i, j], 0)
  copy(C_l, C[by * block_M, bx * block_N])
)");
  ASSERT_TRUE(text.ok()) << text.diagnostics().render();
  Kernel built = matmul_relu();
  EXPECT_TRUE(ir::equal(*text, *built.ir())) << ir::print(*text) << built.text();
  test::expect_round_trip(*built.ir());
}

Kernel softmax(DType dtype = f32, int block_M = 4, int block_N = 1024) {
  KernelBuilder b("softmax");
  auto [M, N] = b.dims("M", "N");
  auto X = b.input("X", dtype, {M, N}), Y = b.output("Y", dtype, {M, N});
  auto [bm] = b.grid({"bm", ceildiv(M, block_M)});
  auto x = b.fragment(f32, {block_M, block_N}, {.name = "x"});
  auto row_max = b.fragment(f32, {block_M}, {.name = "row_max"});
  auto row_sum = b.fragment(f32, {block_M}, {.name = "row_sum"});
  auto last_max = b.fragment(f32, {block_M}, {.name = "last_max"});
  auto shift = [&](const Value& i) { return select(row_max(i) == -INFINITY, 0.0, row_max(i)); };
  b.fill(row_max, -INFINITY);
  b.clear(row_sum);
  b.pipelined(ceildiv(N, block_N), {.stages = 2, .name = "j"}, [&](Var j) {
    b.copy(X(bm * block_M, j * block_N), x, {.pad = -INFINITY});
    b.copy(row_max, last_max);
    b.reduce_max(x, row_max, {.dim = 1, .clear = false});
    b.parallel({block_M, block_N}, {.names = {"i", "c"}}, [&](Var i, Var c) { x(i, c) = exp(x(i, c) - shift(i)); });
    b.parallel(block_M, [&](Var i) { row_sum(i) *= exp(last_max(i) - shift(i)); });
    b.reduce_sum(x, row_sum, {.dim = 1, .clear = false});
  });
  b.pipelined(ceildiv(N, block_N), {.stages = 2, .name = "j"}, [&](Var j) {
    b.copy(X(bm * block_M, j * block_N), x, {.pad = -INFINITY});
    b.parallel({block_M, block_N}, {.names = {"i", "c"}},
               [&](Var i, Var c) { x(i, c) = exp(x(i, c) - row_max(i)) / row_sum(i); });
    b.copy(x, Y(bm * block_M, j * block_N));
  });
  return b.build();
}

TEST(Builder, SoftmaxEqualsTheTextForm) {
  std::string source = test::read_file(PLAIT_SOURCE_DIR "/kernels/softmax.tile");
  auto text = test::load(source, {{"dtype", "bf16"}});
  ASSERT_TRUE(text.ok()) << text.diagnostics().render();
  Kernel built = softmax(bf16);
  EXPECT_TRUE(ir::equal(*text, *built.ir())) << ir::print(*text) << built.text();
}

/// Fails unless the built kernel is the one that the text describes.
void expect_same(const Kernel& built, const std::string& source) {
  auto text = test::load(source);
  ASSERT_TRUE(text.ok()) << text.diagnostics().render();
  EXPECT_TRUE(ir::equal(*text, *built.ir())) << "text:\n" << ir::print(*text) << "built:\n" << built.text();
  test::expect_round_trip(*built.ir());
}

TEST(Builder, HeaderEqualsTheTextForm) {
  KernelBuilder b("k");
  auto [lda, K, M] = b.dims("lda", "K", "M");
  auto A = b.input("A", e4m3, {M, K}, {.strides = {lda, 1}});
  auto S = b.inout("S", f32, {M / 2, ceildiv(K, 32)});
  auto alpha = b.scalar("alpha", f32, 0.5);
  auto n = b.scalar("n", i32);
  auto [x, y, z] = b.grid({"x", M}, 2, K * 2);
  b.threads(128);
  b.require(M % 2 == 0 && n > 3, "even");
  b.fast_math();
  b.print("{} {}", {x + y + z, alpha});
  expect_same(b.build(), R"(
kernel k(A: in e4m3[M, K] strides [lda, 1], S: inout f32[M / 2, ceildiv(K, 32)], alpha: f32 = 0.5, n: i32):
  grid x = M, by = 2, bz = K * 2
  threads 128
  require M % 2 == 0 and n > 3, "even"
  option fast_math
  print("{} {}", x + by + bz, alpha)
)");
}

TEST(Builder, ExpressionsEqualTheTextForm) {
  KernelBuilder b("k");
  auto M = b.dim("M");
  auto A = b.input("A", f32, {M});
  auto [bx] = b.grid(1);
  auto x = b.let("x", -(M + 1) * 2 % 3 - ((M << 2 >> 1 & 7) | (M ^ bx)) + ~M);
  auto y = b.let("y", !((M > 3 && bx < 2) || M == bx) && x != 2);
  b.let("z", min(M, max(x, ceildiv(M, 3))) - (4 - x) / 2);
  b.let("w", select(y, A(0), exp(A(1)) + pow(A(x), 2) + fma(A(M - 1), 2, 3)));
  b.let("v", isnan(A(0)) || isinf(A(0)) || A(0) >= 1.5 || A(0) <= -1);
  b.let("c", f16(A(0), {.round = Round::toward_zero, .saturate = true}));
  b.let("d", bitcast(u32, A(0)) + u32(M));
  b.let("e", sin(cos(tanh(erf(sigmoid(abs(sqrt(rsqrt(A(0))))))))));
  b.let("f", floor(A(0)) + ceil(A(0)) + round(A(0)) + trunc(A(0)) + log(A(0)) + log2(A(0)) + exp2(A(0)));
  auto constant = b.let("constant", 7);
  b.let("g", constant * M);
  b.let("h", u64(M) + 18446744073709551615U);
  expect_same(b.build(), R"(
kernel k(A: in f32[M]):
  grid bx = 1
  x = -(M + 1) * 2 % 3 - (M << 2 >> 1 & 7 | M ^ bx) + ~M
  y = not (M > 3 and bx < 2 or M == bx) and x != 2
  z = min(M, max(x, ceildiv(M, 3))) - (4 - x) / 2
  w = select(y, A[0], exp(A[1]) + pow(A[x], 2) + fma(A[M - 1], 2, 3))
  v = isnan(A[0]) or isinf(A[0]) or A[0] >= 1.5 or A[0] <= -1
  c = f16(A[0], round=toward_zero, saturate=true)
  d = bitcast(u32, A[0]) + u32(M)
  e = sin(cos(tanh(erf(sigmoid(abs(sqrt(rsqrt(A[0]))))))))
  f = floor(A[0]) + ceil(A[0]) + round(A[0]) + trunc(A[0]) + log(A[0]) + log2(A[0]) + exp2(A[0])
  g = 7 * M
  h = u64(M) + u64(18446744073709551615)
)");
}

TEST(Builder, LoopsAndBranchesEqualTheTextForm) {
  KernelBuilder b("k");
  auto M = b.dim("M");
  auto A = b.inout("A", f32, {M});
  auto [bx] = b.grid(M);
  auto S = b.local(i64, {8}, {.name = "S"});
  b.range({2, M, 3}, [&](Var i) { b.unrolled(8, [&](Var j) { S(j) = i; }); });
  b.vectorized({0, 8}, {.names = {"v"}}, [&](Var v) { S(v) = 1; });
  b.pipelined(3, {.order = {0}, .stage = {1}}, [&](Var) { S(0) = 2; });
  b.pipelined({1, M}, [&](Var k) { S(0) += k; });
  b.persistent({M, 4}, {.names = {"p", "q"}}, [&](Var p, Var q) { S(1) = p * q; });
  b.while_(S(0) < 3, [&] {
    S(0) += 1;
    b.if_(S(0) == 1, [&] { b.continue_(); });
    b.elif_(S(0) == 2, [&] { b.break_(); });
    b.else_([&] { b.print("{}", {S(0)}); });
    b.if_(S(1) == 1, [&] { S(1) -= 1; });
    b.if_(S(2) == 1, [&] { S(2) *= 3; });
  });
  b.if_(true, [&] { S(3) /= 2; });
  b.elif_(M > 4, [&] { S(4) = 1; });
  b.if_(false, [&] { S(4) = 1; });
  b.else_([&] { S(5) = 2; });
  b.if_(M > 1, [&] { S(6) = 1; });
  b.elif_(1 > 0, [&] { S(6) = 2; });
  b.else_([&] { S(6) = 3; });
  b.assert_(S(0) > 0, "positive");
  b.task({.latency = 500, .ii = 64}, [&] { S(7) ^= 2; });
  expect_same(b.build(), R"(
kernel k(A: inout f32[M]):
  grid bx = M
  S = local i64[8]
  for i in range(2, M, 3):
    for j in unrolled(8):
      S[j] = i
  for v in vectorized(8):
    S[v] = 1
  for i in pipelined(3, order=[0], stage=[1]):
    S[0] = 2
  for i in pipelined(1, M):
    S[0] += i
  for p, q in persistent(M, 4):
    S[1] = p * q
  while S[0] < 3:
    S[0] += 1
    if S[0] == 1:
      continue
    elif S[0] == 2:
      break
    else:
      print("{}", S[0])
    if S[1] == 1:
      S[1] -= 1
    if S[2] == 1:
      S[2] *= 3
  S[3] /= 2
  S[5] = 2
  if M > 1:
    S[6] = 1
  else:
    S[6] = 2
  assert S[0] > 0, "positive"
  task(latency=500, ii=64):
    S[7] ^= 2
)");
}

TEST(Builder, OperationsEqualTheTextForm) {
  KernelBuilder b("k");
  auto [M, N] = b.dims("M", "N");
  auto A = b.input("A", f32, {M, N});
  auto C = b.output("C", f32, {M, N});
  auto H = b.inout("H", i32, {64});
  auto [bx] = b.grid(M);
  auto S = b.shared(f32, {8, 8}, {.name = "S", .layout = swizzle(128), .pad = 8});
  auto T = b.fragment(f32, {8, 8}, {.name = "T", .layout = column_major});
  auto s = b.fragment(f32, {8}, {.name = "s", .layout = strided({2})});
  auto i = b.fragment(i32, {8}, {.name = "i", .layout = row_major});
  auto R = b.shared(i32, {16}, {.name = "R"});
  b.copy(A(bx * 8, 0), S);
  b.copy(A(slice(bx * 8, bx * 8 + 8), slice(0, 8)), S);
  b.copy(S(3, all), S(slice(0, 1), all));
  b.copy(A(0, 0), S, {.rows = R(slice(0, 8)), .pad = -1});
  b.copy(S, C(1, 0), {.rows = R(8), .valid = {M - bx, 4}, .cache = Cache::evict_last});
  b.copy(A(0, 0), S, {.rows = R(slice(0, 8)), .row_side = RowSide::src, .cache = Cache::evict_first});
  b.fill(S, 0.5);
  b.gemm(S, S, T, {.trans_A = true, .trans_B = true, .clear_accum = true, .policy = Policy::square});
  b.reduce_sum(S, s);
  b.reduce_max(S, s, {.dim = 0, .clear = false});
  b.reduce_min(S, s);
  b.reduce_abssum(S, s);
  b.reduce_absmax(S, s, {.dim = -2});
  b.reduce_bitand(i, R(slice(0, 1)));
  b.reduce_bitor(i, R(slice(0, 1)));
  b.reduce_bitxor(i, R(slice(0, 1)));
  b.reduce_argmax(S, i);
  b.reduce_argmin(S, i, {.dim = 1});
  b.cumsum(S, T, {.reverse = true});
  b.transpose(S, T);
  b.atomic_add(C(0, 0), S);
  b.parallel(8, [&](Var j) {
    b.atomic_max(H(j), i(j));
    b.atomic_add(H(63 - j), 1);
  });
  b.atomic_min(H(8), i);
  expect_same(b.build(), R"(
kernel k(A: in f32[M, N], C: out f32[M, N], H: inout i32[64]):
  grid bx = M
  S = shared f32[8, 8] layout swizzle(128) pad 8
  T = fragment f32[8, 8] layout column_major
  s = fragment f32[8] layout strided(2)
  i = fragment i32[8] layout row_major
  R = shared i32[16]
  copy(A[bx * 8, 0], S)
  copy(A[bx * 8 : bx * 8 + 8, 0:8], S)
  copy(S[3, :], S[0:1, :])
  copy(A[0, 0], S, rows=R[0:8], pad=-1)
  copy(S, C[1, 0], rows=R[8], valid=(M - bx, 4), cache=evict_last)
  copy(A[0, 0], S, rows=R[0:8], row_side=src, cache=evict_first)
  fill(S, 0.5)
  gemm(S, S, T, trans_A=true, trans_B=true, clear_accum=true, policy=square)
  reduce_sum(S, s)
  reduce_max(S, s, dim=0, clear=false)
  reduce_min(S, s)
  reduce_abssum(S, s)
  reduce_absmax(S, s, dim=-2)
  reduce_bitand(i, R[0:1])
  reduce_bitor(i, R[0:1])
  reduce_bitxor(i, R[0:1])
  reduce_argmax(S, i)
  reduce_argmin(S, i, dim=1)
  cumsum(S, T, reverse=true)
  transpose(S, T)
  atomic_add(C[0, 0], S)
  for j in parallel(8):
    atomic_max(H[j], i[j])
    atomic_add(H[63 - j], 1)
  atomic_min(H[8], i)
)");
}

// ---- Errors
// --------------------------------------------------------------------------------------------------------------

/// A kernel with the usual parameters whose body `f` writes.
struct Fixture {
  KernelBuilder b{"k"};
  Var M = b.dim("M");
  Buffer A = b.inout("A", f32, {M});
  Var bx = b.grid(1)[0];
  Buffer S = b.shared(f32, {8}, {.name = "S"});

  /// The text of the Error that build() throws.
  std::string error() {
    try {
      b.build();
    } catch (const Error& e) {
      EXPECT_EQ(e.status(), PLAIT_REJECTED);
      return e.what();
    }
    return "built";
  }
};

std::string here(unsigned line) { return "builder_test.cpp:" + std::to_string(line) + ":"; }

TEST(BuilderErrors, NameThePlaceOfTheStatement) {
  Fixture f;
  f.S(0) = f32(f.A(0)) % 2;  // The operator has no place of its own.
  unsigned line = __LINE__ - 1;
  f.b.copy(f.A(0), f.A(1));
  f.b.gemm(f.S, f.S(0), f.S);
  std::string text = f.error();
  EXPECT_THAT(text, HasSubstr(here(line)));
  EXPECT_THAT(text, HasSubstr("`%` is defined on integers, not on f32 [operand-type]"));
  EXPECT_THAT(text, HasSubstr(here(line + 2)));
  EXPECT_THAT(text, HasSubstr("neither A nor A gives the extents of the tile [open-extent]"));
  EXPECT_THAT(text, HasSubstr(here(line + 3)));
}

TEST(BuilderErrors, ExpressionsTakeThePlaceOfTheirStatement) {
  Fixture f;
  f.b.assert_(f.M + 1 > 2);
  unsigned line = __LINE__ - 1;
  Kernel kernel = f.b.build();
  const auto& assertion = std::get<ir::Assert>(kernel.ir()->body.back()->node);
  EXPECT_EQ(assertion.cond->loc.line, static_cast<int>(line));
  EXPECT_EQ(std::get<ir::Binary>(assertion.cond->node).a->loc.line, static_cast<int>(line));
}

TEST(BuilderErrors, ValuesLeaveTheirBlock) {
  Fixture f;
  std::optional<Var> kept;
  std::optional<Buffer> inner;
  f.b.range(4, [&](Var i) {
    kept = i;
    inner = f.b.local(f32, {4}, {.name = "inner"});
  });
  f.S(0) = f32(*kept);
  f.b.clear(*inner);
  std::string text = f.error();
  EXPECT_THAT(text, HasSubstr("`i` is used outside of the block that defines it [builder-use]"));
  EXPECT_THAT(text, HasSubstr("`inner` is used outside of the block that defines it [builder-use]"));
}

TEST(BuilderErrors, TwoBuilders) {
  Fixture f, g;
  f.b.let(f.M + g.M);
  f.S(0) = f32(g.bx);
  f.b.clear(g.S);
  std::string text = f.error();
  EXPECT_THAT(text, HasSubstr("an expression joins values of two builders [builder-use]"));
  EXPECT_THAT(text, HasSubstr("a value of another builder is used [builder-use]"));
  EXPECT_THAT(text, HasSubstr("`S` is a buffer of another builder [builder-use]"));
  EXPECT_THAT(g.error(), HasSubstr("an expression joins values of two builders [builder-use]"));
}

TEST(BuilderErrors, CallsBehindBuild) {
  Fixture f;
  f.b.build();
  EXPECT_THROW(f.b.clear(f.S), Error);
  EXPECT_THROW(f.S(0) = 1, Error);
  try {
    f.b.build();
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("the kernel is built already [builder-use]"));
    EXPECT_THAT(e.json(), HasSubstr("\"rule\": \"builder-use\""));
  }
}

TEST(BuilderErrors, Branches) {
  Fixture f;
  f.b.else_([] {});
  f.b.if_(f.M > 1, [] {});
  f.b.clear(f.S);
  f.b.elif_(f.M > 2, [] {});
  f.b.if_(f.M, [] {});
  std::string text = f.error();
  EXPECT_THAT(text, HasSubstr("elif_ or else_ does not follow an if_ [builder-use]"));
  EXPECT_THAT(text, HasSubstr("the condition of if has type i64, not bool [type-mismatch]"));
}

TEST(BuilderErrors, Names) {
  KernelBuilder b("1st kernel");
  auto M = b.dim("in");
  auto N = b.dim("N");
  auto A = b.input("N", f32, {N});
  auto [bx] = b.grid({"f32", N});
  b.local(f32, {1}, {.name = "a-b"});
  b.local(f32, {1}, {.name = "twice"});
  b.local(f32, {1}, {.name = "twice"});
  try {
    b.build();
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("`1st kernel` cannot be the name of a kernel [identifier]"));
    EXPECT_THAT(e.what(), HasSubstr("`in` cannot be the name of a parameter or dim [identifier]"));
    EXPECT_THAT(e.what(), HasSubstr("`N` is already defined [duplicate-name]"));
    EXPECT_THAT(e.what(), HasSubstr("`f32` cannot be a name [identifier]"));
    EXPECT_THAT(e.what(), HasSubstr("`a-b` cannot be a name [identifier]"));
    EXPECT_THAT(e.what(), Not(HasSubstr("twice")));
  }
}

TEST(BuilderErrors, Headers) {
  KernelBuilder b("k");
  auto [M, unbound] = b.dims("M", "unbound");
  auto n = b.scalar("n", i64);
  auto A = b.input("A", f32, {M});
  EXPECT_THAT([&] { b.build(); }, testing::ThrowsMessage<Error>(HasSubstr("kernel `k` has no grid [grid-statement]")));

  KernelBuilder c("k");
  auto [P, Q] = c.dims("P", "Q");
  auto X = c.input("X", f32, {P});
  c.grid(1);
  EXPECT_THAT([&] { c.build(); }, testing::ThrowsMessage<Error>(HasSubstr("dim `Q` is bound by no parameter")));

  KernelBuilder d("k");
  auto size = d.scalar("size", i64);
  auto Y = d.input("Y", f32, {size});
  d.input("Z", f32, {4}, {.strides = {4, 1}});
  auto [bx] = d.grid(2);
  d.clear(Y);
  d.grid(2);
  d.threads(0);
  d.require(bx > 0);
  d.range(3, [&](Var) { d.threads(4); });
  d.parallel({3, 4}, [](Var) {});
  d.pipelined(3, {.stages = -1}, [](Var) {});
  d.task({.latency = -5}, [] {});
  EXPECT_THAT([&] { d.build(); },
              testing::ThrowsMessage<Error>(testing::AllOf(
                  HasSubstr("the shape of `Y` uses `size`, which is not a dim [dim-binding]"),
                  HasSubstr("`Z` has 2 strides for 1 dimensions [alloc-clause]"),
                  HasSubstr("a kernel has one grid [grid-statement]"), HasSubstr("threads is 0 [attribute-value]"),
                  HasSubstr("the condition uses `bx`, which is not known at the call [require-condition]"),
                  HasSubstr("threads does not stand inside a loop or branch [kernel-statement]"),
                  HasSubstr("a parallel loop over 2 axes has a body with 1 variables and 0 names [loop-form]"),
                  HasSubstr("stages is -1 [attribute-value]"), HasSubstr("latency is -5 [attribute-value]"))));
}

TEST(BuilderErrors, LiteralsAloneThrowAtOnce) {
  EXPECT_THAT([] { Value x = Value(1) / 0; }, testing::ThrowsMessage<Error>(HasSubstr("divides by the literal zero")));
}

TEST(BuilderErrors, ExpressionsThatDouble) {
  Fixture f;
  Value x = f.M + 1;
  for (int i = 0; i < 60; ++i) x = x * x;
  f.b.let(x);
  EXPECT_THAT(f.error(), HasSubstr("[expansion-limit]"));
}

TEST(BuilderErrors, ExceptionsOfALambdaLeaveTheBuilderUsable) {
  Fixture f;
  EXPECT_THROW(f.b.range(3, [&](Var) { throw std::runtime_error("mine"); }), std::runtime_error);
  f.b.clear(f.S);
  EXPECT_EQ(f.error(), "built");
}

}  // namespace
}  // namespace plait
