// Programs and schedules that were carried out wrongly once: what the random ones found, made small.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plan/check.h"
#include "random/schedules/trial.h"
#include "roundtrip.h"

namespace plait::test {
namespace {

using Dims = std::map<std::string, std::int64_t>;

/// The schedule gives the bytes of the serial one, or is refused with these words.
void expect_same(const std::string& program, const Dims& dims, const std::string& schedule,
                 const std::string& refused = {}, const machine::Device& device = gpu()) {
  auto kernel = load(program);
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics().render();
  auto read = plan::parse(std::make_shared<const SourceFile>("test.schedule", schedule));
  ASSERT_TRUE(read.ok()) << read.diagnostics().render();
  ScheduledProgram made(std::move(*kernel), dims, 1, device);
  const Scheduled of = made.scheduled();
  ASSERT_EQ(plan::check(*read, of.kernel, of.graphs, of.device).render(), "");
  const ScheduledProgram::Finding serial = made.run_serial();
  ASSERT_EQ(serial.problem, "");
  ASSERT_EQ(serial.refused, "");
  const ScheduledProgram::Finding found = made.run(*read);
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.refused, refused);
}

/// C = A·Bᵀ by tiles of `rows` x `columns` x 16; `body` stands in the loop behind the copies at lines 7 and 8.
std::string product(int rows, int columns, const std::string& body) {
  return fmt::format(
      "kernel k(A: in bf16[M, K], B: in bf16[N, K], C: out bf16[M, N]):\n"
      "  grid bx = ceildiv(N, {1}), by = ceildiv(M, {0})\n"
      "  A_s = shared bf16[{0}, 16]\n  B_s = shared bf16[{1}, 16]\n  acc = fragment f32[{0}, {1}]\n  clear(acc)\n"
      "  for k in pipelined(ceildiv(K, 16), stages=1):\n    copy(A[by * {0}, k * 16], A_s)\n"
      "    copy(B[bx * {1}, k * 16], B_s)\n{2}  copy(acc, C[by * {0}, bx * {1}])\n",
      rows, columns, body);
}

const char* const kLoop =
    "loop k@7: planner hand\n  copy@8: role load, unit tma, stage 0, order 0\n"
    "  copy@9: role load, unit tma, stage 0, order 1\n";

/// Three slices take turns at two places: the first slice of a tile has the place of the last one of the tile before.
TEST(Found, SlicesOfAStoreThatAreNoMultipleOfTheirPlaces) {
  expect_same(product(64, 48, "    gemm(A_s, B_s, acc, trans_B=true)\n"), {{"M", 256}, {"N", 96}, {"K", 16}},
              "schedule k device h200\nplace:\n  work persistent\n"
              "loop k@7: planner hand\n  copy@8: unit tma, stage 0, order 0\n  copy@9: unit tma, stage 0, order 1\n"
              "  gemm@10: unit tensor, stage 0, order 2\n");
}

/// In the part of a loop that fills the pipeline a condition on the iteration is a literal, which texts do not keep.
TEST(Found, AConditionThatIsALiteralWhileThePipelineFills) {
  expect_same(product(64, 16,
                      "    gemm(A_s, B_s, acc, trans_B=true)\n    if k > 0:\n"
                      "      for i, j in parallel(64, 16):\n        acc[i, j] += 1.0\n    if k < 9:\n"
                      "      for i, j in parallel(64, 16):\n        acc[i, j] *= 0.5\n"),
              {{"M", 64}, {"N", 16}, {"K", 64}},
              "schedule k device h200\nloop k@7: planner hand\n  copy@8: unit tma, stage 0, order 0\n"
              "  copy@9: unit tma, stage 0, order 1\n  gemm@10: unit tensor, stage 0, order 4\n"
              "  each@12: unit cuda, stage 1, order 2\n  each@15: unit cuda, stage 1, order 3\n");
}

/// A named barrier counts one arrival: who passes the turn on before it takes its own may arrive twice.
TEST(Found, ATurnThatIsPassedOnBeforeItIsTaken) {
  const std::string two = "    gemm(A_s, B_s, acc, trans_B=true)\n    gemm(A_s, B_s, acc, trans_B=true)\n";
  const std::string place =
      "schedule k device h200\nplace:\n  work persistent\n  role load: warps 4\n  role math: warps 4, replicas 2 over "
      "rows\n";
  const std::string rest =
      "  gemm@10: role math, unit tensor, stage 0, order 2\n  gemm@11: role math, unit tensor, stage 0, order 3\n"
      "  ring {A_s, B_s}: depth 2\n";
  const Dims dims = {{"M", 256}, {"N", 32}, {"K", 128}};
  expect_same(product(128, 16, two), dims, place + kLoop + rest + "  token gemm@10 -> gemm@11\n",
              "a token of gemm@, which a turn issues before gemm@, has no placement yet");
  expect_same(product(128, 16, two), dims, place + kLoop + rest + "  token gemm@11 -> gemm@10\n");
  expect_same(product(128, 16,
                      "    gemm(A_s, B_s, acc, trans_B=true)\n    if k < 3:\n"
                      "      gemm(A_s, B_s, acc, trans_B=true)\n"),
              dims,
              place + kLoop +
                  "  gemm@10: role math, unit tensor, stage 0, order 2\n"
                  "  gemm@12: role math, unit tensor, stage 0, order 3\n  ring {A_s, B_s}: depth 2\n"
                  "  token gemm@12 -> gemm@12\n",
              "a token of gemm@, which stands under a condition, has no placement yet");
}

/// Replicas that take turns cannot meet all together in the loop: they meet before it over what was written there.
TEST(Found, AMeetingInALoopOfTurns) {
  expect_same(
      "kernel k(A: in bf16[M, 16], B: in bf16[L, 16], C: out f32[M, 16]):\n"
      "  grid bx = ceildiv(M, 128)\n  A_s = shared bf16[128, 16]\n  B_s = shared bf16[16, 16]\n"
      "  acc = fragment f32[128, 16]\n  clear(acc)\n  copy(A[bx * 128, 0], A_s)\n"
      "  for i, j in parallel(128, 16):\n    A_s[i, j] = bf16(f32(A_s[i, j]) * 0.5)\n"
      "  for k in pipelined(ceildiv(L, 16), stages=2):\n    copy(B[k * 16, 0], B_s)\n"
      "    gemm(A_s, B_s, acc, trans_B=true)\n  copy(acc, C[bx * 128, 0])\n",
      {{"M", 128}, {"L", 64}},
      "schedule k device h200\nplace:\n  role load: warps 4\n  role math: warps 4, replicas 2 over rows\n"
      "loop k@10: planner hand\n  copy@11: role load, unit tma, stage 0, order 0\n"
      "  gemm@12: role math, unit tensor, stage 0, order 1\n  ring {B_s}: depth 2\n  token gemm@12 -> gemm@12\n");
}

/// Tiles of one loop that are read at different times: the loader must not wait for a slot of one while the reader
/// waits for the next item of the other.
TEST(Found, TilesThatAreReadStagesApart) {
  const std::string program =
      "kernel k(A: in bf16[M, K], B: in bf16[N, K], C: out f32[M, N], D: out f32[M, N]):\n"
      "  grid bx = ceildiv(N, 16), by = ceildiv(M, 64)\n"
      "  A_s = shared bf16[64, 16]\n  B_s = shared bf16[16, 16]\n  E_s = shared bf16[16, 16]\n"
      "  acc = fragment f32[64, 16]\n  acc2 = fragment f32[64, 16]\n  r = fragment f32[64]\n  clear(acc)\n  "
      "clear(acc2)\n"
      "  for k in pipelined(ceildiv(K, 16), stages=1):\n"
      "    copy(A[by * 64, k * 16], A_s)\n    copy(B[bx * 16, k * 16], B_s)\n    gemm(A_s, B_s, acc, trans_B=true)\n"
      "    copy(B[bx * 16, k * 16], E_s)\n    for i, j in parallel(64, 16):\n      acc2[i, j] += f32(E_s[0, j])\n"
      "  copy(acc, C[by * 64, bx * 16])\n  copy(acc2, D[by * 64, bx * 16])\n";
  for (std::int64_t trips = 0; trips <= 8; ++trips) {
    SCOPED_TRACE(trips);
    expect_same(program, {{"M", 64}, {"N", 16}, {"K", 16 * trips}},
                "schedule k device h200\nloop k@11: planner hand\n  copy@12: unit tma, stage 0, order 0\n"
                "  copy@13: unit tma, stage 0, order 1\n  gemm@14: unit tensor, stage 0, order 2\n"
                "  copy@15: unit tma, stage 4, order 3\n  each@16: unit cuda, stage 4, order 4\n");
  }
}

/// A ring that two stages read: where there are fewer iterations than stages, each stage finds its item all the same.
TEST(Found, ARingThatTwoStagesRead) {
  const std::string program =
      "kernel k(A: in bf16[M, K], B: in bf16[N, K], E: in f32[K], C: out f32[M, N], D: out f32[M, N]):\n"
      "  grid bx = ceildiv(N, 16), by = ceildiv(M, 64)\n"
      "  A_s = shared bf16[64, 16]\n  B_s = shared bf16[16, 16]\n  e_s = shared f32[16]\n"
      "  S = fragment f32[64, 16]\n  acc = fragment f32[64, 16]\n  acc2 = fragment f32[64, 16]\n  clear(acc)\n  "
      "clear(acc2)\n"
      "  for k in pipelined(ceildiv(K, 16), stages=1):\n    copy(E[k * 16], e_s)\n"
      "    copy(A[by * 64, k * 16], A_s)\n    copy(B[bx * 16, k * 16], B_s)\n    gemm(A_s, B_s, acc, trans_B=true)\n"
      "    w = e_s[3]\n    for i, j in parallel(64, 16):\n      acc2[i, j] += w\n"
      "    for i, j in parallel(64, 16):\n      acc[i, j] += e_s[j]\n"
      "  copy(acc, C[by * 64, bx * 16])\n  copy(acc2, D[by * 64, bx * 16])\n";
  for (std::int64_t trips = 0; trips <= 7; ++trips) {
    SCOPED_TRACE(trips);
    expect_same(program, {{"M", 64}, {"N", 16}, {"K", 16 * trips}},
                "schedule k device h200\nplace:\n  work persistent\nloop k@11: planner hand\n"
                "  copy@12: unit tma, stage 0, order 0\n  copy@13: unit tma, stage 0, order 1\n"
                "  copy@14: unit tma, stage 0, order 2\n  gemm@15: unit tensor, stage 0, order 5\n"
                "  let@16: unit cuda, stage 3, order 3\n  each@17: unit cuda, stage 3, order 4\n"
                "  each@19: unit cuda, stage 0, order 6\n  versions e_s: 4\n");
  }
}

/// The schedule names what stands in a `task` or an `else`, which have no place of their own.
TEST(Found, PlacesOfWhatStandsInATask) {
  expect_same(
      product(64, 16,
              "    gemm(A_s, B_s, acc, trans_B=true)\n    task(latency=500, ii=64):\n"
              "      for i, j in parallel(64, 16):\n        acc[i, j] *= 0.5\n    if k == 1:\n      pass\n    else:\n"
              "      for i, j in parallel(64, 16):\n        acc[i, j] += 1.0\n"),
      {{"M", 64}, {"N", 16}, {"K", 64}},
      "schedule k device h200\nloop k@7: planner hand\n  copy@8: unit tma, stage 0, order 0\n"
      "  copy@9: unit tma, stage 0, order 1\n  gemm@10: unit tensor, stage 0, order 2\n"
      "  each@12: unit cuda, stage 0, order 3\n  each@17: unit cuda, stage 0, order 4\n");
}

/// What stands under a condition uses lets of the loop; loads may stand in a task.
TEST(Found, LetsAndLoadsOfWhatStandsInsideOthers) {
  expect_same(
      "kernel k(A: in bf16[M, K], B: in bf16[N, K], W: in f32[16], C: out bf16[M, N]):\n"
      "  grid bx = ceildiv(N, 16), by = ceildiv(M, 64)\n"
      "  A_s = shared bf16[64, 16]\n  B_s = shared bf16[16, 16]\n  acc = fragment f32[64, 16]\n  clear(acc)\n"
      "  for k in pipelined(ceildiv(K, 16), stages=1):\n    w = W[k % 16]\n"
      "    copy(A[by * 64, k * 16], A_s)\n    copy(B[bx * 16, k * 16], B_s)\n"
      "    gemm(A_s, B_s, acc, trans_B=true)\n    if k < bx + 2:\n"
      "      for i, j in parallel(64, 16):\n        acc[i, j] += w\n"
      "  for m in pipelined(ceildiv(K, 16), stages=1):\n    task(latency=500, ii=64):\n"
      "      copy(A[by * 64, m * 16], A_s)\n      copy(B[bx * 16, m * 16], B_s)\n"
      "      gemm(A_s, B_s, acc, trans_B=true)\n  copy(acc, C[by * 64, bx * 16])\n",
      {{"M", 64}, {"N", 16}, {"K", 64}},
      "schedule k device h200\nloop k@7: planner hand\n  copy@9: unit tma, stage 0, order 0\n"
      "  copy@10: unit tma, stage 0, order 1\n  gemm@11: unit tensor, stage 0, order 3\n"
      "  each@13: unit cuda, stage 1, order 2\n"
      "loop m@15: planner hand\n  task@16: unit tensor, stage 0, order 0\n");
}

TEST(Found, AConditionWhoseStatementsHavePlacesApart) {
  expect_same(
      product(64, 16,
              "    S = fragment f32[64, 16]\n    gemm(A_s, B_s, S, trans_B=true, clear_accum=true)\n    if k < 2:\n"
              "      for i, j in parallel(64, 16):\n        S[i, j] *= 0.5\n"
              "      for i, j in parallel(64, 16):\n        acc[i, j] += S[i, j]\n"
              "    for i, j in parallel(64, 16):\n      S[i, j] += 1.0\n"),
      {{"M", 64}, {"N", 16}, {"K", 64}},
      "schedule k device h200\nloop k@7: planner hand\n  copy@8: unit tma, stage 0, order 0\n"
      "  copy@9: unit tma, stage 0, order 1\n  gemm@11: unit tensor, stage 0, order 4\n"
      "  each@13: unit cuda, stage 0, order 5\n  each@15: unit cuda, stage 1, order 2\n"
      "  each@17: unit cuda, stage 1, order 3\n",
      "a condition whose statements have places apart has no placement yet");
}

/// A let that reads a tile is computed in its place, while the slot is there; what follows from it comes behind it.
TEST(Found, LetsThatReadATile) {
  const std::string body =
      "    w = f32(B_s[0, 3])\n    v = w + 1.0\n    gemm(A_s, B_s, acc, trans_B=true)\n"
      "    for i, j in parallel(64, 16):\n      acc[i, j] += v\n";
  const Dims dims = {{"M", 64}, {"N", 16}, {"K", 96}};
  expect_same(product(64, 16, body), dims,
              "schedule k device h200\nloop k@7: planner hand\n  copy@8: unit tma, stage 0, order 0\n"
              "  copy@9: unit tma, stage 0, order 1\n  let@10: unit cuda, stage 0, order 2\n"
              "  gemm@12: unit tensor, stage 0, order 3\n  each@13: unit cuda, stage 0, order 4\n");
  expect_same(product(64, 16, body), dims,
              "schedule k device h200\nloop k@7: planner hand\n  copy@8: unit tma, stage 0, order 0\n"
              "  copy@9: unit tma, stage 0, order 1\n  let@10: unit cuda, stage 0, order 4\n"
              "  gemm@12: unit tensor, stage 0, order 5\n  each@13: unit cuda, stage 1, order 2\n");
}

/// A product of few rows is computed as its transpose, and stored by a nest; schedules speak of what was written.
TEST(Found, AStoreInTheLoopOfAProductOfFewRows) {
  expect_same(
      "kernel k(A: in bf16[M, K], B: in bf16[N, K], C: out f32[L, N]):\n  grid bx = ceildiv(N, 64)\n"
      "  A_s = shared bf16[16, 16]\n  B_s = shared bf16[64, 16]\n  S = fragment f32[16, 64]\n"
      "  for k in pipelined(ceildiv(K, 16), stages=2):\n    copy(A[0, k * 16], A_s)\n    copy(B[bx * 64, k * 16], "
      "B_s)\n"
      "    gemm(A_s, B_s, S, trans_B=true, clear_accum=true)\n    copy(S, C[k * 16, bx * 64])\n",
      {{"M", 16}, {"N", 64}, {"K", 64}, {"L", 64}},
      "schedule k device h200\nloop k@6: planner hand\n  copy@7: unit tma, stage 0, order 0\n"
      "  copy@8: unit tma, stage 0, order 1\n  gemm@9: unit tensor, stage 1, order 2\n"
      "  copy@10: unit cuda, stage 1, order 3\n  versions A_s: 2\n  versions B_s: 2\n");
}

/// Nobody gives back a tile that nobody reads.
TEST(Found, ATileThatNobodyReads) {
  expect_same(product(64, 16,
                      "    E_s = shared bf16[16, 16]\n    copy(B[bx * 16, k * 16], E_s)\n"
                      "    gemm(A_s, B_s, acc, trans_B=true)\n"),
              {{"M", 64}, {"N", 16}, {"K", 96}},
              "schedule k device h200\nloop k@7: planner hand\n  copy@8: unit tma, stage 0, order 0\n"
              "  copy@9: unit tma, stage 0, order 1\n  copy@11: unit tma, stage 0, order 2\n"
              "  gemm@12: unit tensor, stage 0, order 3\n");
}

/// Where memory takes a ring's slots, fewer products are left under way than the schedule says.
TEST(Found, AProductUnderWayOverARingThatLosesItsSlots) {
  expect_same(
      "kernel k(A: in bf16[M, K], B: in bf16[N, K], W: in f32[16], E: in f32[N], C: out bf16[M, N]):\n"
      "  grid bx = ceildiv(N, 64), by = ceildiv(M, 64)\n"
      "  A_s = shared bf16[64, 64]\n  B_s = shared bf16[64, 64]\n  acc = fragment f32[64, 64]\n  clear(acc)\n"
      "  S = fragment f32[64, 64]\n  clear(S)\n  r = fragment f32[64]\n  clear(r)\n  sum = fragment f32[64]\n"
      "  clear(sum)\n  for k in pipelined(ceildiv(K, 64), stages=3):\n    copy(A[by * 64, k * 64], A_s)\n"
      "    copy(B[bx * 64, k * 64], B_s)\n    gemm(A_s, B_s, acc, trans_B=true)\n  copy(acc, C[by * 64, bx * 64])\n",
      {{"M", 6}, {"N", 64}, {"K", 256}},
      "schedule k device h200\nplace:\n  work persistent, order longest_first\n  role load: warps 4\n  role math: "
      "warps 4\n"
      "loop k@13: planner hand\n  copy@14: role load, unit tma, stage 1, order 0\n"
      "  copy@15: role load, unit tma, stage 0, order 1\n"
      "  gemm@16: role math, unit tensor, stage 2, order 2, in flight 1\n  ring {A_s, B_s}: depth 2\n");
}

/// A tile that is loaded once a work item lies in one slot for all stages of the loop that reads it, also while that
/// drains.
TEST(Found, ATileOfTheWorkItemThatALaterStageReads) {
  expect_same(
      "kernel k(A: in bf16[M, K], B: in bf16[N, K], E: in f32[N], C: out f32[M, N]):\n"
      "  grid bx = ceildiv(N, 16), by = ceildiv(M, 64)\n"
      "  A_s = shared bf16[64, 16]\n  B_s = shared bf16[16, 16]\n  e_s = shared f32[16]\n"
      "  acc = fragment f32[64, 16]\n  clear(acc)\n  S = fragment f32[64, 16]\n  copy(E[bx * 16], e_s)\n"
      "  for k in pipelined(ceildiv(K, 16), stages=1):\n    copy(A[by * 64, k * 16], A_s)\n"
      "    copy(B[bx * 16, k * 16], B_s)\n    gemm(A_s, B_s, S, trans_B=true, clear_accum=true)\n"
      "    for i, j in parallel(64, 16):\n      acc[i, j] += S[i, j] * e_s[j]\n  copy(acc, C[by * 64, bx * 16])\n",
      {{"M", 128}, {"N", 64}, {"K", 64}},
      "schedule k device h200\nplace:\n  work persistent\nloop k@10: planner hand\n"
      "  copy@11: unit tma, stage 0, order 0\n  copy@12: unit tma, stage 0, order 1\n"
      "  gemm@13: unit tensor, stage 0, order 3\n  each@14: unit cuda, stage 1, order 2\n");
}

/// Copies on both sides of a let that reads what the first of them loads are no group: it waits for that one.
TEST(Found, ALetThatReadsATileBetweenCopies) {
  expect_same(
      "kernel k(A: in bf16[M, K], B: in bf16[K, N], E: in f32[N], C: out f32[M, N]):\n"
      "  grid bx = ceildiv(N, 64), by = ceildiv(M, 128)\n"
      "  A_s = shared bf16[128, 32]\n  B_s = shared bf16[32, 64]\n  e_s = shared f32[64]\n"
      "  acc = fragment f32[128, 64]\n  clear(acc)\n  S = fragment f32[128, 64]\n  clear(S)\n"
      "  for k in pipelined(ceildiv(K, 32), stages=0):\n    copy(E[bx * 64], e_s)\n"
      "    copy(B[k * 32, bx * 64], B_s)\n    copy(A[by * 128, k * 32], A_s)\n"
      "    gemm(A_s, B_s, S, clear_accum=true)\n    w = e_s[28] * 0.5\n    for i, j in parallel(128, 64):\n"
      "      acc[i, j] += S[i, j] * w\n  copy(acc, C[by * 128, bx * 64])\n",
      {{"M", 128}, {"N", 40}, {"K", 128}},
      "schedule k device a100\nplace:\n  work plain\n  role math: warps 4, replicas 2 over rows\n"
      "loop k@10: planner hand\n  copy@11: role math, unit lsu, stage 0, order 0\n"
      "  copy@12: role math, unit lsu, stage 0, order 1\n  copy@13: role math, unit lsu, stage 0, order 3\n"
      "  gemm@14: role math, unit tensor, stage 0, order 4\n  let@15: role math, unit cuda, stage 0, order 2\n"
      "  each@16: role math, unit cuda, stage 0, order 5\n",
      {}, gpu_without_tma());
}

}  // namespace
}  // namespace plait::test
