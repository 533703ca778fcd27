#include "unit/cpu/run.h"

namespace plait::test {
namespace {

/// Through an on-chip tile of `tile` elements from `from` to `to`, in tiles over the tensor.
std::string through(const std::string& from, const std::string& chip, const std::string& to, int rows, int columns) {
  const std::string r = std::to_string(rows);
  const std::string c = std::to_string(columns);
  return "kernel k(A: in " + from + "[M, N], C: out " + to + "[M, N]):\n  grid x = ceildiv(N, " + c +
         "), y = ceildiv(M, " + r + ")\n  S = shared " + chip + "[" + r + ", " + c + "]\n  copy(A[y * " + r + ", x * " +
         c + "], S)\n  copy(S, C[y * " + r + ", x * " + c + "])\n";
}

TEST(Copy, EveryTypeInAndOut) {
  for (const char* type : {"bool", "i1", "u2", "i4", "u4", "i8", "u8", "i16", "i32", "i64", "u64", "e2m1", "e4m3",
                           "e5m2", "f16", "bf16", "tf32", "f32", "f64"}) {
    SCOPED_TRACE(type);
    expect_as_interpreted(through(type, type, type, 4, 24), {{"M", 5}, {"N", 39}});
  }
}

TEST(Copy, ConvertsOnTheWay) {
  for (const char* type : {"f64", "f16", "bf16", "e4m3", "e5m2", "e2m1"}) {
    SCOPED_TRACE(type);
    expect_as_interpreted(through("f32", type, "f32", 3, 40), {{"M", 5}, {"N", 83}});
    expect_as_interpreted(through(type, "f32", type, 3, 40), {{"M", 5}, {"N", 83}});
  }
  expect_as_interpreted(through("i8", "i32", "i64", 3, 40), {{"M", 5}, {"N", 83}});
}

TEST(Copy, EdgesOfEveryKind) {
  const std::string text = through("f32", "f32", "f32", 8, 16);
  for (const std::int64_t m : {0, 1, 7, 8, 9}) {
    for (const std::int64_t n : {0, 1, 15, 16, 17, 40}) expect_as_interpreted(text, {{"M", m}, {"N", n}});
  }
}

TEST(Copy, PadsWithTheGivenValueOnEverySide) {
  expect_as_interpreted(R"(
kernel k(A: in f32[20, 20], C: out f32[32, 32], D: out f32[16, 16]):
  grid b = 1
  S = shared f32[32, 32]
  copy(A[-3, -5], S, pad=-99)
  copy(S, C)
  copy(A[30, 2], S, pad=1.5)
  copy(S[0:16, 0:16], D)
  T = shared f32[64]
  copy(A[21, -1], S[1, 0:32], pad=7)
  copy(S[1, 0:32], C[5, 0])
)");
}

TEST(Copy, SixtyOfSixtyFour) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f32[60, 60], C: out f32[64, 64]):
  grid b = 1
  S = shared f32[64, 64]
  copy(A[0, 0], S, pad=-99)
  copy(S, C)
)");
  Call call(kernel, {});
  const auto a = numbers(ir::DType::f32, 3600);
  call.set("A", a);
  expect_runs(kernel, call);
  const auto c = call.get("C");
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = 0; j < 64; ++j) EXPECT_EQ(c[i * 64 + j], i < 60 && j < 60 ? a[i * 60 + j] : -99);
  }
}

TEST(Copy, OneDimensional) {
  for (const std::int64_t n : {0, 61, 63, 64, 1000}) {
    expect_as_interpreted(R"(
kernel k(A: in f32[N], C: out f32[N]):
  grid x = ceildiv(N, 256)
  S = shared f32[256]
  copy(A[x * 256], S)
  copy(S, C[x * 256])
)",
                          {{"N", n}});
  }
}

TEST(Copy, DimensionsOfExtentOne) {
  expect_as_interpreted(R"(
kernel k(A: in f16[2, M, 3, N], C: out f16[3, 2, M, N]):
  grid b = 2, h = 3, y = ceildiv(M, 8)
  S = shared f16[8, 20]
  copy(A[b, y * 8 : y * 8 + 8, h, 0:20], S)
  copy(S, C[h, b, y * 8, 0])
)",
                        {{"M", 19}, {"N", 17}});
  expect_as_interpreted(R"(
kernel k(A: in f32[10, 12], C: out f32[12], D: out f32[10]):
  grid b = 1
  row = shared f32[12]
  column = shared f32[10]
  one = shared f32[1]
  copy(A[3, 0:12], row)
  copy(row, C)
  copy(A[0:10, 4], column)
  copy(column, D)
  copy(A[2, 5], one)
  copy(one, C[7])
)");
}

TEST(Copy, StridedTensors) {
  expect_as_interpreted(R"(
kernel k(A: in f32[M, N] strides [lda, 1], B: in f32[M, N] strides [1, ldb], C: out f32[M, N] strides [ldc, 2],
         D: out f16[N, M] strides [1, ldd]):
  grid x = ceildiv(N, 16), y = ceildiv(M, 8)
  S = shared f32[8, 16] pad 3
  T = shared f32[8, 16]
  copy(A[y * 8, x * 16], S)
  copy(B[y * 8, x * 16], T)
  for i, j in parallel(8, 16):
    S[i, j] += T[i, j]
  copy(S, C[y * 8, x * 16])
  transposed = shared f32[16, 8]
  transpose(S, transposed)
  copy(transposed, D[x * 16, y * 8])
)",
                        {{"M", 11}, {"N", 21}, {"lda", 30}, {"ldb", 13}, {"ldc", 50}, {"ldd", 40}});
}

TEST(Copy, ValidExtents) {
  expect_as_interpreted(R"(
kernel k(A: in f32[20, 40], n: in i32[1], C: out f32[16, 32], D: inout f32[16, 32], E: out f32[16, 32]):
  grid b = 1
  S = shared f32[16, 32]
  T = shared f32[16, 32]
  m = i64(n[0]) % 17
  copy(A[2, 3], S, valid=(m, 29), pad=5)
  copy(S, C)
  copy(S, D, valid=(7, m))
  copy(S, T, valid=[m], pad=-1)
  copy(T, E)
)");
}

TEST(Copy, GatherAndScatterRows) {
  expect_as_interpreted(R"(
kernel k(A: in f32[30, N], R: in i32[12], C: out f32[12, 20], D: inout f32[30, 20], E: out f32[1, 20]):
  grid b = 1
  rows = shared i32[12]
  S = shared f32[12, 20]
  for i in parallel(12):
    rows[i] = select(i == 5, -1, select(i == 7, 40, i32(i * 5 % 12)))
  copy(A[1, 2], S, rows=rows, pad=3)
  copy(S, C)
  copy(S, D[2, 0], rows=rows)
  one = shared f32[1, 20]
  copy(A[0, 0], one, rows=rows[3:4], pad=9)
  copy(one, E)
  copy(A[0, 0], one, rows=rows[5:6], pad=9)
  copy(one, D[29, 0])
)",
                        {{"N", 21}});
}

TEST(Copy, RowsOverTheirOwnMap) {
  expect_as_interpreted(R"(
kernel k(A: in i32[30, 4], C: out i32[8, 4]):
  grid b = 1
  S = shared i32[8, 4]
  for i in parallel(8):
    S[i, 2] = i32(20 - 2 * i)
  copy(A[0, 0], S, rows=S[0:8, 2:3])
  copy(S, C)
)");
}

TEST(Copy, RowsWithValid) {
  expect_as_interpreted(R"(
kernel k(A: in f16[30, 24], C: out f16[12, 20], D: inout f16[30, 20]):
  grid b = 1
  rows = shared i32[12]
  S = shared f16[12, 20]
  for i in parallel(12):
    rows[i] = i32(29 - i * 2)
  copy(A[0, 0], S, rows=rows, valid=(9, 13), pad=3)
  copy(S, C)
  copy(S, D[0, 0], rows=rows, valid=(5, 17))
)");
}

TEST(Copy, InsideOneBufferReadsBeforeItWrites) {
  expect_as_interpreted(R"(
kernel k(A: inout f32[40, 16], C: out f32[8, 16], D: out f32[8, 16]):
  grid b = 1
  S = shared f32[8, 16]
  copy(A[0, 0], S)
  copy(S[0:7, 0:16], S[1:8, 0:16])
  copy(S, C)
  copy(S[1:8, 0:16], S[0:7, 0:16])
  copy(S, D)
  copy(A[0:30, 0:16], A[3:33, 0:16])
)");
}

TEST(Copy, OnChipLayoutsAndPaddingDoNotChangeTheResult) {
  for (const char* clause : {"", " pad 4", " layout column_major", " layout swizzle(64)", " layout row_major pad 1"}) {
    SCOPED_TRACE(clause);
    expect_as_interpreted(
        std::string("kernel k(A: in f32[20, 20], C: out f32[16, 16]):\n  grid b = 1\n  S = shared f32[16, 16]") +
        clause +
        "\n  T = fragment f32[16, 8]\n  copy(A[2, 2], S)\n  copy(S[0:16, 8:16], T)\n  copy(T, S[0:16, 0:8])\n  copy(S, "
        "C)\n");
  }
}

TEST(Fill, WholeAndSlices) {
  expect_as_interpreted(R"(
kernel k(C: out f16[9, 21], D: out i4[9, 21], E: out bool[9, 21], F: out u8[30]):
  grid b = 1
  S = shared f16[9, 21]
  T = shared i4[9, 21]
  U = shared bool[9, 21]
  fill(S, 1.5)
  clear(S[2:5, 3:20])
  fill(T, -3)
  clear(T[1, 0:21])
  fill(U, true)
  fill(F, 200)
  copy(S, C)
  copy(T, D)
  copy(U, E)
)");
}

TEST(Transpose, AllShapes) {
  for (const char* type : {"f32", "f16", "i8", "f64", "u4"}) {
    SCOPED_TRACE(type);
    const std::string t = type;
    expect_as_interpreted("kernel k(A: in " + t + "[M, N], C: out " + t +
                              "[N, M]):\n  grid x = ceildiv(N, 24), y = ceildiv(M, 20)\n" + "  S = shared " + t +
                              "[20, 24]\n  T = shared " + t + "[24, 20]\n" +
                              "  copy(A[y * 20, x * 24], S)\n  transpose(S, T)\n  copy(T, C[x * 24, y * 20])\n",
                          {{"M", 43}, {"N", 29}});
  }
}

}  // namespace
}  // namespace plait::test
