#include <cmath>
#include <limits>

#include "unit/cpu/run.h"

namespace plait::test {
namespace {

std::string reduction(const std::string& op, const std::string& type, const std::string& result,
                      const std::string& shape, const std::string& out, int dim, const std::string& more = "") {
  return "kernel k(A: in " + type + "[" + shape + "], C: inout " + result + "[" + out +
         "]):\n  grid b = 1\n  S = shared " + type + "[" + shape + "]\n  T = fragment " + result + "[" + out +
         "]\n  copy(A, S)\n  copy(C, T)\n  " + op + "(S, T, dim=" + std::to_string(dim) + more + ")\n  copy(T, C)\n";
}

TEST(Reduce, IntegersExactly) {
  for (const char* op : {"reduce_sum", "reduce_max", "reduce_min", "reduce_abssum", "reduce_absmax", "reduce_bitand",
                         "reduce_bitor", "reduce_bitxor"}) {
    SCOPED_TRACE(op);
    for (const char* clear : {"", ", clear=false"}) {
      expect_as_interpreted(reduction(op, "i32", "i32", "7, 45", "7", 1, clear));
      expect_as_interpreted(reduction(op, "i8", "i32", "7, 45", "45", 0, clear));
    }
    expect_as_interpreted(reduction(op, "u8", "u16", "3, 5, 33", "3, 33", 1));
    expect_as_interpreted(reduction(op, "i4", "i8", "3, 5, 6", "1, 5, 6", 0));
  }
}

TEST(Reduce, Floats) {
  for (const char* op : {"reduce_sum", "reduce_max", "reduce_min", "reduce_abssum", "reduce_absmax"}) {
    SCOPED_TRACE(op);
    for (const int n : {1, 3, 8, 31, 96, 100, 120, 127}) {
      const std::string shape = "4, " + std::to_string(n);
      expect_as_interpreted(reduction(op, "f32", "f32", shape, "4", 1), {}, 1e-6);
      expect_as_interpreted(reduction(op, "f32", "f32", shape, std::to_string(n), 0), {}, 1e-6);
    }
    expect_as_interpreted(reduction(op, "f64", "f64", "5, 37", "5, 1", 1, ", clear=false"), {}, 1e-14);
    expect_as_interpreted(reduction(op, "f16", "f32", "5, 37", "5", 1), {}, 1e-6);
    expect_as_interpreted(reduction(op, "bf16", "bf16", "5, 37", "37", 0), {}, 0.01);
  }
}

TEST(Reduce, WholeVectorAndSlices) {
  expect_as_interpreted(R"(
kernel k(A: in i32[576], C: out i32[1], D: out i32[4]):
  grid b = 1
  S = shared i32[768]
  T = shared i32[4, 768]
  r = fragment i32[1]
  q = fragment i32[4]
  clear(S)
  copy(A, S[0:576])
  reduce_absmax(S[0:576], r)
  copy(r, C)
  clear(T)
  copy(S, T[2, 0:768])
  copy(S[0:50], T[1, 100:150])
  reduce_sum(T[0:4, 3:200], q)
  reduce_max(T[2:3, 0:768], q[3:4], dim=1)
  copy(q, D)
)");
}

TEST(Reduce, OneToFortyEight) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(C: out i32[1]):
  grid b = 1
  threads 48
  S = shared i32[48]
  r = fragment i32[1]
  for i in parallel(48):
    S[i] = i32(i) + 1
  reduce_sum(S, r)
  copy(r, C)
)");
  Call call(kernel, {});
  expect_runs(kernel, call);
  EXPECT_EQ(call.get("C")[0], 1176);
}

TEST(Reduce, NanWins) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f32[40], C: out f32[2], D: out i32[2]):
  grid b = 1
  S = shared f32[1, 40]
  r = fragment f32[1]
  p = fragment i32[1]
  copy(A, S[0, 0:40])
  reduce_max(S, r)
  copy(r, C[0:1])
  reduce_min(S, r)
  copy(r, C[1:2])
  reduce_argmax(S, p)
  copy(p, D[0:1])
  reduce_argmin(S, p)
  copy(p, D[1:2])
)");
  for (const std::size_t at : {0U, 5U, 33U, 39U}) {
    Call call(kernel, {});
    auto a = numbers(ir::DType::f32, 40);
    a[at] = std::numeric_limits<double>::quiet_NaN();
    call.set("A", a);
    expect_runs(kernel, call);
    EXPECT_TRUE(std::isnan(call.get("C")[0]) && std::isnan(call.get("C")[1])) << at;
    EXPECT_EQ(call.get("D"), (std::vector<double>(2, static_cast<double>(at))));
  }
}

TEST(Reduce, ArgumentsOfExtremes) {
  for (const char* op : {"reduce_argmax", "reduce_argmin"}) {
    SCOPED_TRACE(op);
    for (const char* type : {"f32", "f16", "i8", "u4", "i64"}) {
      expect_as_interpreted(reduction(op, type, "i32", "5, 37", "5", 1));
      expect_as_interpreted(reduction(op, type, "i64", "37, 5", "1, 5", 0));
    }
  }
}

TEST(Cumsum, BothDimensionsAndDirections) {
  for (const char* reverse : {"", ", reverse=true"}) {
    for (const int dim : {0, 1}) {
      expect_as_interpreted(reduction("cumsum", "f32", "f32", "6, 21", "6, 21", dim, reverse), {}, 1e-6);
      expect_as_interpreted(reduction("cumsum", "i8", "i32", "6, 21", "6, 21", dim, reverse));
      expect_as_interpreted(reduction("cumsum", "f16", "f16", "6, 21", "6, 21", dim, reverse), {}, 0.01);
    }
  }
  expect_as_interpreted(R"(
kernel k(A: in i64[30], C: out i64[30]):
  grid b = 1
  S = shared i64[30]
  copy(A, S)
  cumsum(S, S)
  copy(S, C)
)");
}

TEST(Cumsum, OverAPartOfItsSource) {
  expect_as_interpreted(R"(
kernel k(A: in i32[4, 30], I: in i32[1], C: out i32[4, 30]):
  grid b = 1
  S = shared i32[4, 30]
  n = i64(I[0]) % 5 + 5
  copy(A, S)
  cumsum(S[0:4, 0:20], S[0:4, 3:23])
  cumsum(S[0:4, n : n + 10], S[0:4, 3:13], dim=1)
  cumsum(S[0:2, n : n + 10], S[1:3, n : n + 10], dim=0)
  copy(S, C)
)");
}

std::string product(const std::string& type, const std::string& other, const std::string& result, bool trans_a,
                    bool trans_b, bool clear) {
  const std::string a = trans_a ? "24, 19" : "19, 24";
  const std::string b = trans_b ? "37, 24" : "24, 37";
  const auto flag = [](bool set) { return set ? "true" : "false"; };
  return "kernel k(A: in " + type + "[" + a + "], B: in " + other + "[" + b + "], C: inout " + result +
         "[19, 37]):\n  grid g = 1\n" + "  A_s = shared " + type + "[" + a + "]\n  B_s = shared " + other + "[" + b +
         "]\n  C_l = fragment " + result +
         "[19, 37]\n  copy(A, A_s)\n  copy(B, B_s)\n  copy(C, C_l)\n  gemm(A_s, B_s, C_l, trans_A=" + flag(trans_a) +
         ", trans_B=" + flag(trans_b) + ", clear_accum=" + flag(clear) + ")\n  copy(C_l, C)\n";
}

TEST(Gemm, EveryTypeBitForBit) {
  for (const char* type : {"f32", "tf32", "f16", "bf16", "e4m3", "e5m2", "e2m1"})
    expect_as_interpreted(product(type, type, "f32", false, false, false));
  expect_as_interpreted(product("e4m3", "e5m2", "f32", false, false, false));
  expect_as_interpreted(product("f64", "f64", "f64", false, false, false));
  for (const char* type : {"i8", "u8", "i4", "u4", "i1", "u1"})
    expect_as_interpreted(product(type, type, "i32", false, false, false));
}

TEST(Gemm, TransposesAndClearing) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      expect_as_interpreted(product("f32", "f32", "f32", a, b, a == b));
      expect_as_interpreted(product("i8", "i8", "i32", a, b, a != b));
    }
  }
}

TEST(Gemm, SlicesAndVersions) {
  expect_as_interpreted(R"(
kernel k(A: in f32[2, 16, 24], B: in f32[24, 40], C: out f32[16, 40]):
  grid g = 1
  A_s = shared f32[2, 16, 24] pad 1
  B_s = shared f32[24, 40]
  C_l = fragment f32[16, 40] pad 2
  copy(A, A_s)
  copy(B, B_s)
  clear(C_l)
  for v in range(2):
    gemm(A_s[v, 0:16, 0:24], B_s[0:24, 0:17], C_l[0:16, 0:17])
    gemm(A_s[v, 0:16, 3:24], B_s[0:21, 17:40], C_l[0:16, 17:40])
  copy(C_l, C)
)");
}

TEST(Gemm, ThreeHundreds) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f16[16, 16], B: in f16[16, 16], C: out f32[16, 16]):
  grid g = 1
  A_s = shared f16[16, 16]
  B_s = shared f16[16, 16]
  C_l = fragment f32[16, 16]
  copy(A, A_s)
  copy(B, B_s)
  gemm(A_s, B_s, C_l, clear_accum=true)
  copy(C_l, C)
)");
  Call call(kernel, {});
  call.set("A", std::vector<double>(256, 300)).set("B", std::vector<double>(256, 300));
  expect_runs(kernel, call);
  EXPECT_EQ(call.get("C"), std::vector<double>(256, 1440000));
}

TEST(AtomicTile, AddsMaxesAndMinsWithClipping) {
  for (const char* type : {"i32", "i64", "u32", "u64", "f16", "bf16", "f32", "f64"}) {
    SCOPED_TRACE(type);
    const std::string t = type;
    expect_as_interpreted(
        "kernel k(A: in " + t + "[8, 12], C: inout " + t + "[13, 21], D: inout " + t + "[13, 21], E: inout " + t +
        "[13, 21]):\n  grid x = 2, y = 2\n  S = shared " + t + "[8, 12]\n  copy(A, S)\n" +
        "  atomic_add(C[y * 8, x * 12], S)\n  atomic_max(D[y * 8, x * 12], S)\n  atomic_min(E[y * 8, x * 12], S)\n");
  }
}

}  // namespace
}  // namespace plait::test
