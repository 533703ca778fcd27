// Programs that use every construct: what they become, and that their print means the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "roundtrip.h"

namespace plait {
namespace {

using testing::HasSubstr;

struct Program {
  std::string name, body, printed;  ///< `printed`: lines that the kernel's text holds
  lang::Bindings bindings = {};
};
void PrintTo(const Program& p, std::ostream* out) { *out << p.name; }

class RoundTrip : public testing::TestWithParam<Program> {};

TEST_P(RoundTrip, PrintMeansTheSame) {
  const Program& p = GetParam();
  std::string text = p.body;
  if (text.find("kernel ") == std::string::npos) {
    text =
        "kernel k(A: in f32[M, N], C: out f32[M, N], H: inout i32[64], alpha: f32 = 0.5, n: i32 = -3; b = 8):\n"
        "  grid bx = ceildiv(M, b), by = N\n" +
        text;
  }
  auto kernel = test::load(text, p.bindings);
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics().render();
  EXPECT_THAT(ir::print(*kernel), HasSubstr(p.printed));
  test::expect_round_trip(*kernel);
}

const Program kPrograms[] = {
    {"Header",
     "kernel k(A: in e4m3[M, K] strides [lda, 1], S: in f32[M / 2, ceildiv(K, 32)], x: u64 = "
     "u64(18446744073709551615), "
     "flag: bool = true, h: bf16 = 0.1):\n  grid a = 1, c = M, d = K * 2\n  threads 128\n  option fast_math\n"
     "  require M % 2 == 0 and lda >= K, \"even \\\"M\\\"\"\n",
     "x: u64 = u64(18446744073709551615)"},
    {"Literals",
     "  t = local f64[4]\n  t[0] = 0.1\n  t[1] = 1e300\n  t[2] = f64(f32(0.1))\n  t[3] = -inf\n"
     "  s = local f16[2]\n  s[0] = 65504\n  s[1] = nan\n  u = local u64[2]\n  u[0] = u64(18446744073709551615)\n"
     "  u[1] = 0x1f + 0b101 + 1_000\n  i = local i64[1]\n  i[0] = -9223372036854775808\n",
     "i[0] = -9223372036854775808"},
    {"LiteralLetsAreConstants", "  half = b / 2\n  S = shared f32[half]\n  S[0] = 1\n  third = 0.25\n  S[1] = third\n",
     "S = shared f32[4]\n  S[0] = 1.0\n  S[1] = 0.25\n"},
    {"Casts",
     "  x = f16(alpha, round=toward_zero, saturate=true)\n  y = i8(alpha, round=up)\n  z = u4(n, saturate=true)\n"
     "  w = bitcast(u32, alpha)\n  v = bool(n)\n  q = f32(x) * alpha + f32(y)\n",
     "x = f16(alpha, round=toward_zero, saturate=true)"},
    {"Operators",
     "  x = -(M + 1) * 2 % 3 - (N << 2 >> 1 & 7 | M ^ N)\n  y = not (M > 3 and N < 2 or M == N) and x != 2\n"
     "  z = min(M, max(N, ceildiv(M, 3)))\n  w = select(y, alpha, exp(alpha) + pow(alpha, 2) + fma(alpha, 2, 3))\n"
     "  v = isnan(w) or isinf(w)\n  u = ~(M - (N - 1)) - (1 - M) / (N / 2)\n",
     "x = -(M + 1) * 2 % 3 - (N << 2 >> 1 & 7 | M ^ N)"},
    {"Loops",
     "  S = local f32[8]\n  for i in range(2, M, 3):\n    for j in unrolled(8):\n      S[j] = 0\n"
     "  for v in vectorized(0, 8):\n    S[v] = 1\n  for k in pipelined(3, order=[0], stage=[1]):\n    S[0] = 2\n"
     "  for k in pipelined(1, N, num_stages=2):\n    S[0] = 3\n  for p, q in persistent(M, N):\n    S[1] = 4\n"
     "  for k in range(0, 3):\n    pass\n",
     "for k in pipelined(1, N, stages=2):"},
    {"Control",
     "  S = local i64[1]\n  S[0] = 0\n  while S[0] < 3:\n    S[0] += 1\n    if S[0] == 1:\n      continue\n"
     "    elif S[0] == 2:\n      break\n    else:\n      print(\"{} \\n\", S[0])\n  assert S[0] > 0, \"positive\"\n"
     "  task(latency=500, ii=64):\n    S[0] *= 2\n  if M > 3:\n    x = 1 + M\n  else:\n    if N > 3:\n      x = 2 + M\n"
     "    y = M\n  x = M * 7\n",
     "elif S[0] == 2:"},
    {"StaticIf",
     "  if b == 8 and not false:\n    x = M + 1\n  elif nothing:\n    y = M\n  z = x\n  if b > 100:\n    y = nope\n",
     "x = M + 1\n  z = x\n"},
    {"StaticIfBehindDynamic",
     "  S = local f32[1]\n  if M > 3:\n    S[0] = 1\n  elif b == 8:\n    S[0] = 2\n  else:\n    S[0] = 3\n",
     "else:\n    S[0] = 2.0\n"},
    {"ShortCircuit", "  if b == 9 and nope:\n    pass\n  if b == 8 or nope:\n    x = M + 2\n", "x = M + 2"},
    {"Types",
     "kernel k(A: in dtype[M]; dtype: type = f32, acc: type = dtype):\n  grid b = 1\n  S = shared acc[8]\n"
     "  if dtype == f16 and acc != f64:\n    S[0] = acc(1.0)\n  else:\n    S[0] = 2\n  y = bitcast(i16, dtype(S[0]))\n",
     "S[0] = 1.0\n  y = bitcast(i16, S[0])\n",
     {{"dtype", "f16"}}},
    {"Bindings",
     "kernel k(A: in f32[M]; f: float = 1, g = 0.5, i: int, t = true):\n  grid b = 1\n  S = local f32[4]\n  S[0] = f\n"
     "  S[1] = g\n  S[2] = f32(i)\n  S[3] = select(t, 1, 2)\n",
     "S[0] = 3.0\n  S[1] = -0.00025\n  S[2] = -16.0\n  S[3] = 2.0\n",
     {{"f", "3"}, {"g", "-2.5e-4"}, {"i", "-0x10"}, {"t", "false"}}},
    {"Buffers",
     "  S = shared f16[b, 2 * b] layout swizzle(128) pad 8\n  T = fragment e5m2[4] layout column_major\n"
     "  U = local i4[2, 2] layout strided(3, 1)\n  V = shared bool[1] layout row_major\n",
     "S = shared f16[8, 16] layout swizzle(128) pad 8"},
    {"Regions",
     "  S = shared f32[8, 8]\n  r = bx * 8\n  copy(A[r, by], S)\n  copy(A[r : r + 8, 0:8], S)\n"
     "  copy(A[(bx + 1) * 8 - 8 : (bx + 1) * 8, by * 8 : by * 8 + 8], S)\n  copy(S[2:, :4], C[r, 0])\n"
     "  copy(S[3, :], S[0:1, :])\n  copy(A[r : r + 8, 3], S[:, 0:1])\n  copy(A[0 : 8, N - 8 : N], S)\n",
     "copy(A[(bx + 1) * 8 - 8 : (bx + 1) * 8 - 8 + 8, by * 8 : by * 8 + 8], S)"},
    {"CopyAttributes",
     "  S = shared f32[8, 8]\n  R = shared i32[16]\n  copy(A[0, 0], S, rows=R[0:8], pad=-1)\n"
     "  copy(S, C[1, 0], rows=R[8], valid=(M - bx, 4), cache=evict_last)\n  copy(A[0, 0], S, rows=R[0:8], "
     "row_side=src)\n"
     "  copy(S, C[0, 0], valid=M, cache=evict_first)\n",
     "copy(S, C[1:9, 0:8], rows=R[8:16], valid=(M - bx, 4), cache=evict_last)"},
    {"Operations",
     "  S = shared f32[8, 8]\n  T = fragment f32[8, 8]\n  s = fragment f32[8]\n  i = fragment i32[8]\n  fill(S, 0.5)\n"
     "  clear(T)\n  fill(T, -0.0)\n  gemm(S, S, T, trans_A=true, trans_B=true, clear_accum=true, policy=square)\n"
     "  reduce_sum(S, s)\n  reduce_max(S, s, dim=0, clear=false)\n  reduce_absmax(S, s, dim=-2)\n"
     "  reduce_argmin(S, i, dim=1)\n  cumsum(S, T, reverse=true)\n  transpose(S, T)\n  atomic_add(C[0, 0], S)\n"
     "  gemm(S[0:4, :], S, T[0:4, :])\n",
     "reduce_absmax(S, s, dim=0)"},
    {"Atomics",
     "  S = shared i32[64]\n  clear(S)\n  atomic_add(H, S)\n  for i in parallel(64):\n    atomic_max(H[i], S[i])\n"
     "    atomic_add(H[63 - i], 1)\n  atomic_min(H[0:8], S[8:16])\n  atomic_min(H[8], S[8:16])\n",
     "atomic_max(H[i], S[i])"},
    {"UpdatesOfElements",
     "  S = local i32[2]\n  S[0] = 7\n  S[0] += n\n  S[0] -= 1\n  S[0] *= 2\n  S[0] /= 3\n  S[0] &= 5\n  S[0] |= 1\n"
     "  S[0] ^= n\n",
     "S[0] = S[0] ^ n"},
};
INSTANTIATE_TEST_SUITE_P(Programs, RoundTrip, testing::ValuesIn(kPrograms),
                         [](const auto& param) { return param.param.name; });

const Program kInlined[] = {
    {"Substitution",
     "def square(x):\n  return x * x\ndef gelu(x, scale = 0.5):\n  y = square(x) * scale\n  return y + x\n"
     "kernel k(A: inout f32[M]):\n  grid b = 1\n  A[0] = gelu(A[1], scale=2.0)\n  A[1] = square(square(A[2] + 1))\n",
     "A[0] = A[1] * A[1] * 2.0 + A[1]"},
    {"LocalsGetFreshNames",
     "def twice(T, n: int):\n  t = local f32[n]\n  for i in range(n):\n    t[i] = T[i]\n    x = t[i] + 1\n    T[i] = "
     "x\n"
     "kernel k(A: inout f32[M]):\n  grid b = 1\n  x = M + 1\n  twice(A, 4)\n  twice(A, n=4)\n  t = x\n",
     "t_1 = local f32[4]"},
    {"NestedStatementFunctions",
     "def store(T, i, v):\n  T[i] = v\ndef both(T, v):\n  store(T, 0, v)\n  store(T, 1, v + 1)\n"
     "kernel k(A: inout f32[M]):\n  grid b = 1\n  both(A, 2.0)\n",
     "A[0] = 2.0\n  A[1] = 3.0\n"},
    {"ArgumentsAreComputedOnce",
     "def swap_add(T, v):\n  T[0] = v\n  T[1] = v\nkernel k(A: inout f32[M]):\n  grid b = 1\n  swap_add(A, A[0] + 1)\n",
     "v = A[0] + 1.0\n  A[0] = v\n  A[1] = v\n"},
    {"Tiles",
     "def load(src, dst, scale):\n  copy(src, dst)\n  for i, j in parallel(8, 8):\n    dst[i, j] *= scale\n"
     "def first(T):\n  return T[0, 0] + T[1, 2]\n"
     "kernel k(A: in f32[M, N], C: out f32[M, N]):\n  grid b = 1\n  S = shared f32[8, 8]\n  B = shared f32[16, 8]\n"
     "  load(A[b * 8, 0], S, 2)\n  load(A[0 : 8, b * 8 : b * 8 + 8], B[8:, :], 0.5)\n  x = first(B[8:16, :])\n"
     "  y = first(B)\n",
     "x = B[8, 0] + B[9, 2]"},
    {"TilesOfTiles",
     "def part(T, S):\n  copy(T[4:8, :], S)\n  copy(T[2, 0], S)\n"
     "kernel k(A: in f32[M, N]):\n  grid b = 1\n  S = shared f32[4, 8]\n  part(A[b * 8 : b * 8 + 8, 8:16], S)\n",
     "copy(A[b * 8 + 4 : b * 8 + 4 + 4, 8:16], S)"},
    {"TilesOfWholeDimensions",
     "def part(T, S):\n  copy(T[4:, 6:], S)\n  copy(T[:8, 2], S[:, 0:1])\n"
     "kernel k(A: in f32[M, N]):\n  grid b = 1\n  S = shared f32[8, 2]\n  B = shared f32[12, 8]\n  part(B[:, :], S)\n"
     "  part(B[0:12, :], S)\n",
     "copy(B[4:12, 6:8], S)"},
    {"Elements",
     "def bump(cell, by):\n  atomic_add(cell, by)\n"
     "kernel k(H: inout i32[M]):\n  grid b = 1\n  bump(H[b], 1)\n",
     "atomic_add(H[b], 1)"},
    {"TypesAndStatics",
     "def convert(x, T: type, exact: bool = false):\n  if exact:\n    return T(x)\n  else:\n    return T(x, "
     "saturate=true)\n"
     "kernel k(A: in f32[M]):\n  grid b = 1\n  x = convert(A[0], i8)\n  y = convert(A[0], f16, exact=true)\n",
     "x = i8(A[0], saturate=true)\n  y = f16(A[0])\n"},
    {"StaticIfPicksStatements",
     "def act(T, kind: int):\n  if kind == 1:\n    fill(T, 1)\n  elif kind == 2:\n    fill(T, 2)\n"
     "kernel k(A: in f32[M]):\n  grid b = 1\n  S = shared f32[4]\n  act(S, 2)\n  act(S, 3)\n",
     "fill(S, 2.0)\n"},
    {"RequireInAFunction",
     "def whole(n, by):\n  require n % by == 0, \"whole tiles\"\n"
     "kernel k(A: in f32[M]):\n  grid b = 1\n  whole(M, 16)\n",
     "require M % 16 == 0, \"whole tiles\"\n"},
};
INSTANTIATE_TEST_SUITE_P(Functions, RoundTrip, testing::ValuesIn(kInlined),
                         [](const auto& param) { return param.param.name; });

// ---- Limits
// --------------------------------------------------------------------------------------------------------------

std::string doubling(int levels, const std::string& first, const std::string& step) {
  std::string out = first;
  for (int i = 1; i <= levels; ++i) {
    std::string n = std::to_string(i), before = "step" + std::to_string(i - 1);
    std::string text = step;
    for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@')) text.replace(at, 1, before);
    out += "def step" + n + "(x):\n" + text;
  }
  return out + "kernel k(A: inout f32[M]):\n  grid b = 1\n";
}

std::string refused(const std::string& text) {
  auto kernel = test::load(text);
  return kernel.ok() ? "accepted" : kernel.diagnostics().render();
}

TEST(Limits, ExpressionsThatDouble) {
  std::string text =
      doubling(60, "def step0(x):\n  return x + x\n", "  return @(x) + @(x)\n") + "  A[0] = step60(A[1])\n";
  EXPECT_THAT(refused(text), HasSubstr("the kernel grows beyond 1000000 nodes here [expansion-limit]"));
}

TEST(Limits, SharedExpressionsThatDouble) {
  std::string text =
      doubling(60, "def step0(x):\n  return x + x\n", "  y = @(x)\n  return y * y\n") + "  A[0] = step60(A[1])\n";
  EXPECT_THAT(refused(text), HasSubstr("[expansion-limit]"));
}

TEST(Limits, StatementsThatDouble) {
  std::string text = doubling(60, "def step0(x):\n  pass\n", "  @(x)\n  @(x)\n") + "  step60(A)\n";
  EXPECT_THAT(refused(text), HasSubstr("[expansion-limit]"));
}

TEST(Limits, TilesThatGrow) {
  std::string text = doubling(60, "def step0(x):\n  clear(x)\n", "  @(x[x[0] + x[1] : 8])\n  @(x)\n");
  EXPECT_THAT(refused(text + "  S = shared i32[8]\n  step60(S)\n"), HasSubstr("[expansion-limit]"));
}

TEST(Limits, LongChainsOfCalls) {
  std::string text = doubling(2000, "def step0(x):\n  return x\n", "  return @(x)\n") + "  A[0] = step2000(A[1])\n";
  EXPECT_THAT(refused(text), HasSubstr("[expansion-limit]"));
}

/// What the parser accepts is within the limits, and so is its print.
TEST(Limits, AsDeepAsTheParser) {
  std::string text = "kernel k(A: inout i64[M]):\n  grid b = 1\n", indent = "  ";
  for (int i = 0; i < 99; ++i) {
    text +=
        indent + (i % 2 == 0 ? "for v" + std::to_string(i) + " in range(2):\n" : "if M > " + std::to_string(i) + ":\n");
    indent += "  ";
  }
  std::string sum = "M";
  for (int i = 0; i < 195; ++i) sum += " + v0";
  auto kernel = test::load(text + indent + "A[0] = " + sum + "\n");
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics().render();
  test::expect_round_trip(*kernel);
}

TEST(Limits, DeepExpressions) {
  std::string sum = "x";
  for (int i = 0; i < 150; ++i) sum = "(" + sum + " + 1)";
  std::string text = "def f(x):\n  return " + sum + "\nkernel k(A: inout f32[M]):\n  grid b = 1\n";
  EXPECT_EQ(refused(text + "  A[0] = f(A[1])\n"), "accepted");
  EXPECT_THAT(refused(text + "  A[0] = f(f(f(f(A[1]))))\n"), HasSubstr("[expansion-limit]"));
}

TEST(Limits, DeepBlocks) {
  std::string body = "def f(x):\n";
  for (int i = 0; i < 60; ++i) body += std::string(2 + 2 * i, ' ') + "for at" + std::to_string(i) + " in range(2):\n";
  body += std::string(122, ' ') + "x[0] = 1\n";
  std::string nested = "def g(x):\n";
  for (int i = 0; i < 60; ++i) nested += std::string(2 + 2 * i, ' ') + "for at" + std::to_string(i) + " in range(2):\n";
  nested += std::string(122, ' ') + "f(x)\n";
  std::string kernel = "kernel k(A: inout f32[M]):\n  grid b = 1\n";
  EXPECT_EQ(refused(body + kernel + "  f(A)\n"), "accepted");
  EXPECT_THAT(refused(body + nested + kernel + "  g(A)\n"),
              HasSubstr("blocks nest deeper than 99 levels here [expansion-limit]"));
}

}  // namespace
}  // namespace plait
