#include <cmath>
#include <limits>

#include "unit/cpu/run.h"

// Every expression twice: in scalar code and in lanes, with a tail.
namespace plait::test {
namespace {

struct Line {
  std::string result, expr;
};

/// Computes each line's expression of A[i] and B[i] in lanes and in scalar code.
void expect_elementwise(const std::string& type, const std::vector<Line>& lines, double tolerance = 0) {
  std::string params, scalar, vector;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const std::string number = std::to_string(n);
    params += ", S" + number + ": out " + lines[n].result + "[N], V" + number + ": out " + lines[n].result + "[N]";
    scalar += "    S" + number + "[i] = " + lines[n].expr + "\n";
    vector += "    V" + number + "[i] = " + lines[n].expr + "\n";
  }
  const std::string text = "kernel k(A: in " + type + "[N], B: in " + type + "[N]" + params + "):\n  grid b = 1\n" +
                           "  for i in range(N):\n" + scalar + "  for i in parallel(N):\n" + vector;
  SCOPED_TRACE(text);
  expect_as_interpreted(text, {{"N", 43}}, tolerance);
}

void expect_elementwise(const std::string& type, const std::string& result, const std::vector<std::string>& exprs,
                        double tolerance = 0) {
  std::vector<Line> lines;
  for (const auto& expr : exprs) lines.push_back({result, expr});
  expect_elementwise(type, lines, tolerance);
}

TEST(Expr, IntegerArithmetic) {
  for (const char* type : {"i1", "i2", "i4", "i8", "i16", "i32", "i64", "u1", "u2", "u4", "u8", "u16", "u32", "u64"}) {
    expect_elementwise(
        type, type,
        {"A[i] + B[i]", "A[i] - B[i]", "A[i] * B[i]", "min(A[i], B[i])", "max(A[i], B[i])", "A[i] & B[i]",
         "A[i] | B[i]", "A[i] ^ B[i]", "A[i] << B[i]", "A[i] >> B[i]", "~A[i]", "-A[i]", "abs(A[i])"});
  }
}

TEST(Expr, IntegerComparisons) {
  for (const char* type : {"i1", "i4", "i8", "i32", "i64", "u4", "u8", "u64"}) {
    expect_elementwise(type, "bool",
                       {"A[i] == B[i]", "A[i] != B[i]", "A[i] < B[i]", "A[i] <= B[i]", "A[i] > B[i]", "A[i] >= B[i]",
                        "A[i] < B[i] and B[i] != 0", "A[i] < B[i] or B[i] != 0", "not (A[i] == B[i])"});
  }
}

TEST(Expr, DivisionIsThatOfC) {
  for (const char* type : {"i4", "i8", "i32", "i64", "u8", "u64"}) {
    const std::string divisor = "select(B[i] == 0, 3, B[i])";
    expect_elementwise(type, type, {"A[i] / " + divisor, "A[i] % " + divisor, "ceildiv(A[i], " + divisor + ")"});
  }
  for (const char* type : {"i8", "i32", "i64"}) {
    std::vector<std::string> exprs;
    for (const std::string divisor : {"1", "-1", "2", "-3", "7"}) {
      for (const char* op : {"A[i] / ", "A[i] % "}) exprs.push_back(op + divisor);
      exprs.push_back("ceildiv(A[i], " + divisor + ")");
    }
    expect_elementwise(type, type, exprs);
  }
}

TEST(Expr, MostNegativeByMinusOneWraps) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in i32[3], B: in i32[3], Q: out i32[3], R: out i32[3]):
  grid b = 1
  for i in parallel(3):
    Q[i] = A[i] / B[i]
    R[i] = A[i] % B[i]
)");
  Call call(kernel, {});
  const double lowest = std::numeric_limits<std::int32_t>::min();
  call.set("A", {lowest, lowest, 7}).set("B", {-1, 2, -1});
  expect_runs(kernel, call);
  EXPECT_EQ(call.get("Q"), (std::vector<double>{lowest, lowest / 2, -7}));
  EXPECT_EQ(call.get("R"), (std::vector<double>{0, 0, 0}));
}

TEST(Expr, FloatArithmeticRoundsAfterEachOperation) {
  for (const char* type : {"f64", "f32", "tf32", "f16", "bf16", "e4m3", "e5m2", "e2m1"}) {
    expect_elementwise(type, type,
                       {"A[i] + B[i]", "A[i] - B[i]", "A[i] * B[i]", "A[i] / B[i]", "A[i] * B[i] + A[i]",
                        "min(A[i], B[i])", "max(A[i], B[i])", "-A[i]", "abs(A[i])", "fma(A[i], B[i], A[i])",
                        "floor(A[i])", "ceil(A[i])", "round(A[i])", "trunc(A[i])", "sqrt(abs(A[i]))"});
  }
}

TEST(Expr, FloatComparisons) {
  for (const char* type : {"f64", "f32", "f16", "e4m3"}) {
    expect_elementwise(type, "bool",
                       {"A[i] == B[i]", "A[i] != B[i]", "A[i] < B[i]", "A[i] <= B[i]", "A[i] > B[i]", "A[i] >= B[i]",
                        "isnan(A[i] / (B[i] - B[i]))", "isinf(A[i] / (B[i] - B[i]))"});
  }
}

TEST(Expr, MathFunctions) {
  const std::vector<std::string> exprs = {"exp(A[i])",
                                          "exp2(A[i])",
                                          "log(abs(A[i]) + 1)",
                                          "log2(abs(A[i]) + 1)",
                                          "rsqrt(abs(A[i]) + 1)",
                                          "sin(A[i])",
                                          "cos(A[i])",
                                          "tanh(A[i])",
                                          "erf(A[i])",
                                          "sigmoid(A[i])",
                                          "pow(abs(A[i]) + 1, B[i] / 4)"};
  expect_elementwise("f32", "f32", exprs, 1e-6);
  expect_elementwise("f64", "f64", exprs, 1e-14);
  expect_elementwise("bf16", "bf16", exprs, 0.01);
}

TEST(Expr, CastsBetweenAllTypes) {
  const std::vector<std::string> types = {"bool", "i1",   "i4",   "i8",   "i32", "i64",  "u2",   "u8",  "u16",
                                          "u64",  "e2m1", "e4m3", "e5m2", "f16", "bf16", "tf32", "f32", "f64"};
  for (const auto& from : types) {
    std::vector<Line> lines;
    for (const auto& to : types) lines.push_back({to, to + "(A[i])"});
    expect_elementwise(from, lines);
  }
}

TEST(Expr, CastsWithRoundingAndSaturation) {
  std::vector<Line> lines;
  for (const std::string mode : {"nearest_even", "toward_zero", "down", "up"}) {
    for (const std::string to : {"i8", "u4", "f16", "bf16", "e4m3", "e5m2"}) {
      lines.push_back({to, to + "(A[i] * 37.3, round=" + mode + ")"});
      lines.push_back({to, to + "(A[i] * 1e5, round=" + mode + ", saturate=true)"});
    }
  }
  expect_elementwise("f32", lines);
}

TEST(Expr, Bitcasts) {
  expect_elementwise("f32", "i32", {"bitcast(i32, A[i]) ^ bitcast(i32, B[i])"});
  expect_elementwise("f16", "u16", {"bitcast(u16, A[i])"});
  expect_elementwise("u8", "e4m3", {"bitcast(e4m3, A[i] & 0x77)"});
  expect_elementwise("i64", "f64", {"bitcast(f64, A[i] & 0xffff)"});
}

TEST(Expr, UniformAndVaryingOperandsMix) {
  expect_as_interpreted(R"(
kernel k(A: in f32[N], S: in f32[4], C: out f32[N], D: out i64[N]):
  grid b = 1
  for i in parallel(N):
    a = S[1] * 2
    t = i * 3 + N
    C[i] = a + A[i] * S[t % 4]
    D[i] = select(N > 10, t - i, i) + (N - i) * 5 - select(i > 3, i * i, N)
)",
                        {{"N", 21}});
}

TEST(Expr, SelectAndLogicEvaluateOnlyWhatTheyNeed) {
  // Indices out of bounds and zero divisors stand where they are not evaluated.
  expect_as_interpreted(R"(
kernel k(A: in i32[N], C: out i32[N], D: out i32[N], E: out bool[N]):
  grid b = 1
  for i in parallel(N):
    C[i] = select(i + 1 < N, A[i + 1], -1)
    D[i] = select(A[i] == 0, 0, 100 / select(A[i] == 0, 0, A[i]))
    E[i] = i > 0 and A[i - 1] > 0 or i == 0 and A[0] > 0
  for i in range(N):
    D[i] += select(i + 1 < N, A[i + 1], -1)
    E[i] = E[i] and (i == 0 or A[i - 1] > 0)
)",
                        {{"N", 21}});
  // The read under `select` has the same address in every lane, and no lane needs it.
  expect_as_interpreted(R"(
kernel k(A: in i32[N], C: out i32[16]):
  grid b = 1
  for i in parallel(16):
    C[i] = select(i > 100, A[N], i32(i))
)",
                        {{"N", 0}});
}

TEST(Expr, NanGoesThroughMinAndMax) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f32[9], B: in f32[9], L: out f32[9], G: out f32[9]):
  grid b = 1
  for i in parallel(9):
    L[i] = min(A[i], B[i])
    G[i] = max(A[i], B[i])
)");
  Call call(kernel, {});
  const double nan = std::nan("");
  call.set("A", {1, nan, 2, 1, nan, 2, 1, nan, 2}).set("B", {2, 1, nan, 2, 1, nan, 2, 1, nan});
  expect_runs(kernel, call);
  for (const char* name : {"L", "G"}) {
    const auto out = call.get(name);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(std::isnan(out[i]), i % 3 != 0) << i;
  }
  EXPECT_EQ(call.get("L")[3], 1);
  EXPECT_EQ(call.get("G")[3], 2);
}

}  // namespace
}  // namespace plait::test
