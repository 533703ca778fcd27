#include <cmath>
#include <limits>

#include "unit/interp/run.h"

namespace plait::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr double inf = std::numeric_limits<double>::infinity();

/// Runs a kernel with parameters A and B and gives B.
std::vector<double> run_ab(const std::string& text, const Dims& dims, const std::vector<double>& a,
                           const std::vector<double>& b = {}) {
  const ir::Kernel kernel = kernel_of(text);
  Call call(kernel, dims);
  call.set("A", a);
  if (!b.empty()) call.set("B", b);
  expect_runs(kernel, call);
  return call.get("B");
}

TEST(Copy, ClipsAndPadsOnEverySide) {
  const char* text = R"(
kernel k(A: in f32[M, N], B: out f32[4, 6], i: i64, j: i64):
  grid bx = 1
  s = fragment f32[4, 6]
  copy(A[i, j], s, pad=-99)
  copy(s, B)
)";
  const ir::Kernel kernel = kernel_of(text);
  for (const std::int64_t i : {-5, -1, 0, 2, 3}) {
    for (const std::int64_t j : {-7, -2, 0, 1, 9}) {
      Call call(kernel, {{"M", 3}, {"N", 5}});
      call.set("A", iota(15)).set_scalar("i", static_cast<double>(i)).set_scalar("j", static_cast<double>(j));
      expect_runs(kernel, call);
      std::vector<double> want;
      for (std::int64_t r = i; r < i + 4; ++r) {
        for (std::int64_t c = j; c < j + 6; ++c) {
          want.push_back(r < 0 || r >= 3 || c < 0 || c >= 5 ? -99 : static_cast<double>(r * 5 + c));
        }
      }
      EXPECT_EQ(call.get("B"), want) << i << ", " << j;
    }
  }
}

TEST(Copy, DropsWhatLiesOutsideADestination) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f32[2, 2], B: inout f32[3, 3]):
  grid bx = 1
  s = shared f32[2, 2]
  copy(A, s)
  copy(s, B[-1, 2])
  copy(s, B[2, -1])
)",
                     {}, {1, 2, 3, 4}, iota(9, 10)),
              ElementsAre(10, 11, 3, 13, 14, 15, 2, 17, 18));
}

TEST(Copy, ElementsThatAreDroppedNeedNotBeWritten) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f32[2], B: out f32[2]):
  grid bx = 1
  s = shared f32[4]
  copy(A, s[0:2])
  copy(s, B[0:4])
)",
                     {}, {1, 2}),
              ElementsAre(1, 2));
}

TEST(Copy, SourceAndDestinationMayOverlap) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f32[6], B: out f32[6]):
  grid bx = 1
  s = shared f32[6]
  copy(A, s)
  copy(s[0:5], s[1:6])
  copy(s, B)
)",
                     {}, iota(6)),
              ElementsAre(0, 0, 1, 2, 3, 4));
}

TEST(Copy, Converts) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f32[4], B: out f32[4]):
  grid bx = 1
  h = shared f16[4]
  e = shared e4m3[4]
  copy(A, h)
  copy(h, e)
  copy(e, B)
)",
                     {}, {0.1, 1e6, -300, 17}),
              ElementsAre(0.1015625, testing::IsNan(), -288, 16));
}

TEST(Copy, RowsGather) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f32[4, 2], R: in i32[5], B: out f32[5, 2]):
  grid bx = 1
  r = shared i32[5]
  s = shared f32[5, 2]
  r[0] = 3
  r[1] = -1
  r[2] = 0
  r[3] = 9
  r[4] = 3
  copy(A[0, 0], s, rows=r, pad=7)
  copy(s, B)
)",
                     {}, iota(8)),
              ElementsAre(6, 7, 7, 7, 0, 1, 7, 7, 6, 7));
}

TEST(Copy, RowsFarOutside) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f32[4, 2], B: out f32[3, 2]):
  grid bx = 1
  r = shared i64[3]
  s = shared f32[3, 2]
  r[0] = 9223372036854775807
  r[1] = -9223372036854775807
  r[2] = 1
  copy(A[2, 0], s, rows=r)
  copy(s, B)
  copy(s[0:1, 0:2], B[2:3, 0:2], rows=r[0:1])
)",
                     {}, iota(8)),
              ElementsAre(0, 0, 0, 0, 6, 7));
}

TEST(Copy, RowsScatterWithBeginAndClipping) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f32[3, 3], B: inout f32[4, 2]):
  grid bx = 1
  r = shared i64[3]
  s = shared f32[3, 3]
  copy(A, s)
  r[0] = 2
  r[1] = -1
  r[2] = 0
  copy(s, B[1, 0], rows=r)
)",
                     {}, iota(9, 1), std::vector<double>(8, 0)),
              ElementsAre(0, 0, 7, 8, 0, 0, 1, 2));
}

TEST(Copy, RowsOfOneRowAndOfOneColumn) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f32[4, 2], B: out f32[5]):
  grid bx = 1
  r = shared i32[3]
  one = shared f32[1, 2]
  column = shared f32[3, 1]
  r[0] = 2
  r[1] = 3
  r[2] = -4
  copy(A[1, 0], one, rows=r[0:1])
  copy(A[0, 1], column, rows=r, pad=-1)
  B[0] = one[0, 0]
  B[1] = one[0, 1]
  B[2] = column[0, 0]
  B[3] = column[1, 0]
  B[4] = column[2, 0]
)",
                     {}, iota(8)),
              ElementsAre(6, 7, 5, 7, -1));
}

TEST(Copy, ValidExtents) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f32[3, 4], B: inout f32[3, 4], m: i64):
  grid bx = 1
  s = shared f32[3, 4]
  copy(A, s, valid=(2, m + 3), pad=9)
  copy(s, B, valid=[m + 3, 2])
)",
                     {}, iota(12), std::vector<double>(12, -1)),
              ElementsAre(0, 1, -1, -1, 4, 5, -1, -1, 9, 9, -1, -1));
}

TEST(Copy, ValidAlignsRight) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f32[2, 3], B: out f32[2, 3]):
  grid bx = 1
  s = shared f32[2, 3]
  copy(A, s, valid=[2])
  copy(s, B)
)",
                     {}, iota(6, 1)),
              ElementsAre(1, 2, 0, 4, 5, 0));
}

TEST(Copy, ExtentsOfOneStandAnywhere) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f32[2, 3, 2, 2], B: out f32[3, 2]):
  grid bx = 1
  s = shared f32[3, 2]
  copy(A[1:2, 0:3, 1:2, 0:2], s)
  copy(s, B)
)",
                     {}, iota(24)),
              ElementsAre(14, 15, 18, 19, 22, 23));
}

TEST(Tile, FillAndTranspose) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f32[2, 3], B: out i32[4, 3]):
  grid bx = 1
  s = shared f32[2, 3]
  t = shared f32[4, 3]
  copy(A, s)
  fill(t, -1)
  transpose(s, t[0:3, 1:3])
  for i, j in parallel(4, 3):
    B[i, j] = i32(t[i, j])
)",
                     {}, iota(6)),
              ElementsAre(-1, 0, 3, -1, 1, 4, -1, 2, 5, -1, -1, -1));
}

TEST(Tile, Reductions) {
  const std::vector<double> a{1, -7, 3, 2, -2, 5};
  for (const auto& [op, want] : std::vector<std::pair<std::string, std::vector<double>>>{
           {"sum", {-3, 5}},
           {"max", {3, 5}},
           {"min", {-7, -2}},
           {"abssum", {11, 9}},
           {"absmax", {7, 5}},
       }) {
    EXPECT_EQ(run_ab("kernel k(A: in i16[2, 3], B: out i32[2]):\n  grid bx = 1\n  s = shared i16[2, 3]\n"
                     "  r = shared i32[2]\n  copy(A, s)\n  reduce_" +
                         op + "(s, r)\n  copy(r, B)\n",
                     {}, a),
              want)
        << op;
  }
}

TEST(Tile, ReductionAlongTheFirstDimensionKeepsTheOldValue) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f32[2, 3], B: inout f32[1, 3]):
  grid bx = 1
  s = shared f32[2, 3]
  r = shared f32[1, 3]
  copy(A, s)
  copy(B, r)
  reduce_sum(s, r, dim=0, clear=false)
  copy(r, B)
)",
                     {}, iota(6), {100, 200, 300}),
              ElementsAre(103, 205, 307));
}

TEST(Tile, BitReductions) {
  for (const auto& [op, want] :
       std::vector<std::pair<std::string, double>>{{"bitand", 0x10}, {"bitor", 0x17}, {"bitxor", 0x14}}) {
    EXPECT_THAT(run_ab("kernel k(A: in u8[3], B: out u8[1]):\n  grid bx = 1\n  s = shared u8[3]\n"
                       "  r = shared u8[1]\n  copy(A, s)\n  reduce_" +
                           op + "(s, r)\n  copy(r, B)\n",
                       {}, {0x11, 0x12, 0x17}),
                ElementsAre(want))
        << op;
  }
}

TEST(Tile, NaNWinsReductions) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f16[4], B: out f32[6]):
  grid bx = 1
  s = shared f16[4]
  high = shared f16[1]
  low = shared f16[1]
  at = shared i32[1]
  copy(A, s)
  reduce_max(s, high)
  reduce_min(s, low)
  B[0] = high[0]
  B[1] = low[0]
  reduce_argmax(s, at)
  B[2] = f32(at[0])
  reduce_argmin(s, at)
  B[3] = f32(at[0])
  reduce_max(s[2:4], high)
  reduce_argmax(s[2:4], at)
  B[4] = high[0]
  B[5] = f32(at[0])
)",
                     {}, {1, NAN, -inf, 5}),
              ElementsAre(testing::IsNan(), testing::IsNan(), 1, 1, 5, 1));
}

TEST(Tile, ArgMaxTakesTheLowestIndex) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in u8[2, 4], B: out i64[4]):
  grid bx = 1
  s = shared u8[2, 4]
  most = fragment i64[2]
  least = fragment i64[2, 1]
  copy(A, s)
  reduce_argmax(s, most, dim=1)
  reduce_argmin(s, least, dim=1)
  for i in parallel(2):
    B[i] = most[i]
    B[2 + i] = least[i, 0]
)",
                     {}, {3, 200, 200, 3, 5, 5, 5, 5}),
              ElementsAre(1, 0, 0, 0));
}

TEST(Tile, SumsOfNarrowFloatsAreRoundedOnce) {
  // 2048 + 1 is 2048 in f16, so a sum rounded at each step would never leave it.
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f16[9], B: out f16[10]):
  grid bx = 1
  s = shared f16[9]
  r = shared f16[1]
  copy(A, s)
  reduce_sum(s, r)
  cumsum(s, s)
  copy(s, B[0:9])
  copy(r, B[9:10])
)",
                     {}, {2048, 1, 1, 1, 1, 1, 1, 1, 1}),
              ElementsAre(2048, 2048, 2050, 2052, 2052, 2052, 2054, 2056, 2056, 2056));
}

TEST(Tile, CumsumInBothDirections) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in i32[2, 3], B: out i32[4, 3]):
  grid bx = 1
  s = shared i32[2, 3]
  t = shared i32[2, 3]
  copy(A, s)
  cumsum(s, t, dim=0)
  cumsum(s, s, dim=1, reverse=true)
  copy(t, B[0:2, 0:3])
  copy(s, B[2:4, 0:3])
)",
                     {}, iota(6, 1)),
              ElementsAre(1, 2, 3, 5, 7, 9, 6, 5, 3, 15, 11, 6));
}

TEST(Tile, AtomicsOnTilesDropWhatLiesOutside) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in f32[4], B: inout f32[6]):
  grid bx = 2
  s = shared f32[4]
  copy(A, s)
  atomic_add(B[bx * 3 - 2], s)
  atomic_max(B[5:7], s[0:2])
)",
                     {}, {1, 2, 3, 4}, {0, 0, 0, 0, 0, -5}),
              ElementsAre(3, 4 + 1, 2, 3, 4, 1));
}

TEST(Tile, AtomicMinOnElements) {
  EXPECT_THAT(run_ab(R"(
kernel k(A: in i32[4], B: inout i32[2]):
  grid bx = 1
  for i in parallel(4):
    atomic_min(B[i % 2], A[i])
)",
                     {}, {4, -3, 2, 9}, {3, 5}),
              ElementsAre(2, -3));
}

}  // namespace
}  // namespace plait::test
