#include <gmock/gmock.h>

#include "helpers.h"

namespace plait::sim {
namespace {

/// Two steps over k through a ring of two slots, the second product issued while the first runs.
const char* const kGemm = R"(roles gemm(A: in bf16[64, K], B: in bf16[64, K], C: out f32[64, 64]) device h200:
  launch 1
  map A_map = A box [64, 64] swizzle 128
  map B_map = B box [64, 64] swizzle 128
  smem A_s: bf16[2, 64, 64] swizzle 128
  smem B_s: bf16[2, 64, 64] swizzle 128
  mbar full[2] count 1
  mbar empty[2] count 1
  prologue:
    elect:
      mbar_init full
      mbar_init empty
      fence mbar_init
    sync_threads
  role load warps 4:
    elect:
      for k in range(i32(K) / 64):
        wait empty[k % 2] parity k / 2 + 1
        expect full[k % 2] bytes 16384
        tma_load A_s[k % 2, 0, 0] <- A_map[0, 64 * k] on full[k % 2]
        tma_load B_s[k % 2, 0, 0] <- B_map[0, 64 * k] on full[k % 2]
  role math warps 4:
    fragment acc: f32[64, 64] wgmma_acc
    for k in range(i32(K) / 64):
      wait full[k % 2] parity k / 2
      fence wgmma
      for kk in unrolled(4):
        wgmma acc[0, 0] <- A_s[k % 2, 0, 16 * kk], B_s[k % 2, 0, 16 * kk]^T clear k == 0 and kk == 0
      wgmma_commit
      wgmma_await 1
      if k > 0:
        elect:
          arrive empty[(k - 1) % 2]
    wgmma_await 0
    elect:
      arrive empty[(i32(K) / 64 - 1) % 2]
    store C[0, 0] <- acc
)";
const Dims kDims = {{"K", 384}};

TEST(Wgmma, TwoGroupsInFlight) { expect_clean(kGemm, kDims); }

TEST(Wgmma, SlotsAreReleasedBehindTheAwait) {
  expect_found(without(kGemm, "wgmma_await 1"), Rule::sim_race, {20, 21, 28}, "nothing orders", kDims);
  expect_found(without(kGemm, "wgmma_await 1", "wgmma_await 2"), Rule::sim_race, {20, 21, 28}, "nothing orders", kDims);
  expect_found(without(kGemm, "wait full[k % 2] parity k / 2", "elect:\n        wait full[k % 2] parity k / 2"),
               Rule::sim_race, {20, 21, 29}, "nothing orders", kDims);
}

TEST(Wgmma, RegistersAreLockedUntilTheAwait) {
  std::string early = without(kGemm, "wgmma_await 0", "wgmma_await 1");
  expect_found(early, Rule::sim_locked, 37, "of math uses registers of acc that the wgmma at t.roles:28:9 works on",
               kDims);
  expect_found(without(kGemm, "wgmma_commit"), Rule::sim_locked, 37, "uses registers of acc", kDims);
}

TEST(Wgmma, FenceStandsBefore) {
  expect_found(without(kGemm, "fence wgmma"), Rule::sim_wgmma_fence, 28, "no fence wgmma stands before it", kDims);
  std::string touched =
      without(kGemm, "wgmma_await 1", "wgmma_await 0\n      each r, c in acc:\n        acc[r, c] = acc[r, c] * 1.0");
  expect_clean(touched, kDims);
  touched = without(touched, "wait full[k % 2] parity k / 2\n      fence wgmma", "wait full[k % 2] parity k / 2");
  touched =
      without(touched, "fragment acc: f32[64, 64] wgmma_acc", "fragment acc: f32[64, 64] wgmma_acc\n    fence wgmma");
  expect_found(touched, Rule::sim_wgmma_fence, 28, "which other statements used since the last fence wgmma", kDims);
}

TEST(Wgmma, AwaitedBeforeTheEnd) {
  std::string text = without(kGemm, "wgmma_await 0");
  text = without(text, "store C[0, 0] <- acc");
  text = replaced(text, "C: out f32[64, 64]", "C: inout f32[64, 64]");
  Outcome outcome = simulated(text, kDims).outcome;
  EXPECT_THAT(outcome.diagnostics.render(),
              testing::HasSubstr("before wgmma at t.roles:28:9 is complete: no wgmma_await"));
}

TEST(Wgmma, TheWarpsAgree) {
  std::string text = replaced(kGemm, "B_s[k % 2, 0, 16 * kk]^T", "B_s[(k + warp / 2) % 2, 0, 16 * kk]^T");
  expect_found(text, Rule::sim_warpgroup, 28, "with other operands or in another group", kDims);
  text = replaced(kGemm, "clear k == 0 and kk == 0", "clear lane < 16");
  expect_found(text, Rule::sim_warpgroup, 28, "`clear` differs between lanes", kDims);
  text = without(kGemm, "wgmma_commit", "if lane < 31:\n        wgmma_commit");
  expect_found(text, Rule::sim_divergent, 30, "wgmma_commit is run by 31 of the 32 lanes", kDims);
}

TEST(Wgmma, AccumulatorsStartSomewhere) {
  std::string text = replaced(kGemm, "clear k == 0 and kk == 0", "clear k == 1");
  expect_found(text, Rule::sim_unwritten, 28, "uses an element of acc that was never written", kDims);
}

TEST(Wgmma, BoxesAndOperandsStayInTheirTiles) {
  expect_found(replaced(kGemm, "A_s[k % 2, 0, 16 * kk]", "A_s[k % 2, 8, 16 * kk]"), Rule::sim_bounds, 28,
               "is at A_s[0, 8, 0] with 64 x 16 elements, outside of the tile", kDims);
  expect_found(replaced(kGemm, "tma_load A_s[k % 2, 0, 0]", "tma_load A_s[k, 0, 0]"), Rule::sim_bounds, 20,
               "is at A_s[2, 0, 0]", kDims);
}

/// P·V with P in registers, after S = Q·Kᵀ: the order of attention.
const char* const kRegisters = R"(roles attend(Q: in bf16[64, 64], K: in bf16[64, 64], O: out f32[64, 64]) device h200:
  launch 1
  map Q_map = Q box [64, 64] swizzle 128
  map K_map = K box [64, 64] swizzle 128
  smem Q_s: bf16[64, 64] swizzle 128
  smem K_s: bf16[64, 64] swizzle 128
  mbar full[1] count 1
  prologue:
    elect:
      mbar_init full
      fence mbar_init
    sync_threads
  role math warps 4:
    fragment S: f32[64, 64] wgmma_acc
    fragment P: bf16[64, 64] wgmma_a
    fragment acc: f32[64, 64] wgmma_acc
    elect:
      expect full[0] bytes 16384
      tma_load Q_s[0, 0] <- Q_map[0, 0] on full[0]
      tma_load K_s[0, 0] <- K_map[0, 0] on full[0]
    wait full[0] parity 0
    fence wgmma
    for kk in unrolled(4):
      wgmma S[0, 0] <- Q_s[0, 16 * kk], K_s[0, 16 * kk]^T clear kk == 0
    wgmma_commit
    wgmma_await 0
    each r, c in P:
      P[r, c] = bf16(S[r, c] * 0.125)
    fence wgmma
    for kk in unrolled(4):
      wgmma acc[0, 0] <- P[0, 16 * kk], K_s[16 * kk, 0] clear kk == 0
    wgmma_commit
    wgmma_await 0
    store O[0, 0] <- acc
)";

TEST(Wgmma, OperandFromRegisters) {
  Trial trial = simulated(kRegisters);
  ASSERT_EQ(trial.outcome.diagnostics.render(), "");
  std::vector<double> q = elements(trial, 0), k = elements(trial, 1), o = elements(trial, 2);
  for (std::size_t i : {0, 17, 63}) {
    for (std::size_t j : {0, 5, 40}) {
      double want = 0, size = 0;
      for (std::size_t n = 0; n < 64; ++n) {
        double s = 0;
        for (std::size_t d = 0; d < 64; ++d) s += q[i * 64 + d] * k[n * 64 + d];
        want += s * 0.125 * k[n * 64 + j];
        size += std::abs(s * 0.125 * k[n * 64 + j]);
      }
      ASSERT_NEAR(o[i * 64 + j], want, size * 0.004);
    }
  }
  expect_clean(kRegisters);
}

TEST(Wgmma, RegisterOperandsAreLocked) {
  std::string text = without(kRegisters, "store O[0, 0] <- acc");
  text = without(text, "wgmma_commit\n    wgmma_await 0\n    pass",
                 "wgmma_commit\n    each r, c in P:\n      P[r, c] = 0.0\n    wgmma_await 0\n    store O[0, 0] <- acc");
  expect_found(text, Rule::sim_locked, 33, "uses registers of P that the wgmma at t.roles:31:7 works on");
  // The second fence is what lets wgmma see P.
  std::string unfenced = kRegisters;
  unfenced.replace(unfenced.rfind("fence wgmma"), 11, "pass");
  expect_found(unfenced, Rule::sim_wgmma_fence, 31, "runs wgmma on P, which other statements used");
}

}  // namespace
}  // namespace plait::sim
