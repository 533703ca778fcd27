#include <gmock/gmock.h>

#include <cmath>

#include "helpers.h"
#include "ir/numeric.h"

namespace plait::sim {
namespace {

using testing::ElementsAre;

TEST(Values, EveryThreadWorksOnWhatItOwns) {
  const char* text = R"(roles scale(A: in f32[M, 128], B: out f32[M, 128]) device h200:
  launch ceildiv(i32(M), 4)
  role work warps 4:
    fragment x: f32[4, 128] vector vec 4 lanes 32
    load x <- A[block * 4, 0]
    each r, c in x:
      x[r, c] = x[r, c] * 2.0 + f32(c)
    store B[block * 4, 0] <- x
)";
  Trial trial = simulated(text, {{"M", 10}});
  ASSERT_EQ(trial.outcome.diagnostics.render(), "");
  EXPECT_EQ(trial.outcome.blocks, 3);
  std::vector<double> a = elements(trial, 0), b = elements(trial, 1);
  for (std::size_t i = 0; i < b.size(); ++i)
    ASSERT_EQ(b[i], static_cast<float>(a[i] * 2 + static_cast<double>(i % 128))) << i;
}

TEST(Values, ScalarsLoopsAndBranches) {
  const char* text = R"(roles count(T: out i32[64], n: i32 = 5) device h200:
  launch 2
  role work warps 1:
    var sum: i32 = 0
    for i in range(n):
      if i % 2 == 0:
        set sum = sum + i
      else:
        set sum = sum - 1
    var own: i32 = lane
    while own > 10:
      set own = own - 7
    for j in range(lane / 16, 2):
      set own = own + 100
    if lane < 4:
      put T[block * 32 + thread] = sum
    elif lane == 5:
      put T[block * 32 + thread] = blocks * 1000 + block
    else:
      put T[block * 32 + thread] = own
)";
  roles::Program program = parsed(text);
  auto call = draw_call(program, {}, {{"n", {ir::DType::i32, 5, 0}}});
  ASSERT_TRUE(call.ok()) << call.diagnostics().render();
  auto trial = run_trial(program, *call, 1, {});
  ASSERT_TRUE(trial.ok());
  ASSERT_EQ(trial->outcome.diagnostics.render(), "");
  std::vector<double> t = elements(*trial, 0);
  EXPECT_EQ(t[0], 4);     // 0 + 2 + 4 - 2
  EXPECT_EQ(t[5], 2000);  // lane 5 of block 0
  EXPECT_EQ(t[37], 2001);
  EXPECT_EQ(t[9], 209);
  EXPECT_EQ(t[20], 106);  // 20 - 14 + 100
}

TEST(Values, SharedMemoryBroadcastAndAtomics) {
  const char* text = R"(roles mix(T: out f32[32], N: inout i32[1], S2: out i32[32]) device h200:
  launch 1
  smem S: f32[32]
  role work warps 1:
    put S[lane] = f32(lane) + 0.5
    sync_warp
    put T[lane] = S[31 - lane]
    old = atomic_add(N[0], 2)
    x = broadcast(lane + 7)
    put S2[lane] = x + old * 0
)";
  Trial trial = simulated(text);
  ASSERT_EQ(trial.outcome.diagnostics.render(), "");
  EXPECT_EQ(elements(trial, 0)[0], 31.5);
  EXPECT_EQ(elements(trial, 2)[3], 7);
  roles::Program program = parsed(text);
  auto call = draw_call(program, {});
  EXPECT_EQ(elements(trial, 1)[0], runtime::to_doubles(call->tensors[1].view())[0] + 64);
}

TEST(Values, AtomicsOnSharedTilesAndShuffles) {
  const char* text = R"(roles count(T: out i32[4], U: out i32[32], X: out f32[2]) device h200:
  launch 1
  smem S: i32[4]
  smem F: f32[2]
  role work warps 2:
    if thread < 4:
      put S[thread] = 0
    if thread < 2:
      put F[thread] = 0.0
    sync_threads
    a = atomic_add(S[thread % 3], thread)
    b = atomic_max(S[3], thread * 7 % 64)
    c = atomic_min(F[0], f32(thread) - 40.0)
    d = atomic_add(F[1], 0.5)
    sync_threads
    if thread < 4:
      put T[thread] = S[thread]
    if thread < 2:
      put X[thread] = F[thread]
    other = shuffle(thread * 2, lane + 5)
    if warp == 0:
      put U[lane] = other
)";
  Trial trial = simulated(text, {}, {}, 3);
  ASSERT_EQ(trial.outcome.diagnostics.render(), "");
  std::vector<double> t = elements(trial, 0), u = elements(trial, 1), x = elements(trial, 2);
  EXPECT_EQ(t[0], 693);  // 0 + 3 + … + 63
  EXPECT_EQ(t[1], 651);  // 1 + 4 + … + 61
  EXPECT_EQ(t[3], 63);
  EXPECT_EQ(x[0], -40);
  EXPECT_EQ(x[1], 32);
  for (std::size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(u[lane], static_cast<double>((lane + 5) % 32 * 2));
}

TEST(Values, ReductionsOverRowsAndLanes) {
  const char* text = R"(roles softmax(A: in f32[M, 256], B: out f32[M, 256]) device h200:
  launch ceildiv(i32(M), 4)
  role work warps 4:
    fragment x: f32[4, 256] vector vec 4 lanes 32
    fragment m: f32[4] rows of x
    fragment s: f32[4] rows of x
    load x <- A[block * 4, 0]
    each r in m:
      m[r] = -inf
    row_reduce max m <- x
    lane_reduce max m lanes 32
    each r in s:
      s[r] = 0.0
    each r, c in x:
      x[r, c] = exp(x[r, c] - m[r])
    row_reduce sum s <- x
    lane_reduce sum s lanes 32
    each r, c in x:
      x[r, c] = x[r, c] / s[r]
    store B[block * 4, 0] <- x
)";
  Trial trial = simulated(text, {{"M", 6}}, {}, 2);
  ASSERT_EQ(trial.outcome.diagnostics.render(), "");
  std::vector<double> a = elements(trial, 0), b = elements(trial, 1);
  for (std::size_t row = 0; row < 6; ++row) {
    double sum = 0;
    for (std::size_t c = 0; c < 256; ++c) sum += std::exp(a[row * 256 + c]);
    for (std::size_t c = 0; c < 256; ++c) ASSERT_NEAR(b[row * 256 + c], std::exp(a[row * 256 + c]) / sum, 1e-6);
  }
}

TEST(Values, ColumnsAndPadding) {
  const char* text = R"(roles scale(A: in f32[M, 256], W: in f32[N], B: out f32[M, 256]) device h200:
  launch ceildiv(i32(M), 8)
  role work warps 4:
    fragment x: f32[8, 256] vector vec 4 lanes 32
    fragment w: f32[256] columns of x
    load x <- A[block * 8, 0]
    load w <- W[0] pad 2.0
    each c in w:
      w[c] = w[c] + f32(c)
    each r, c in x:
      x[r, c] = x[r, c] * w[c]
    store B[block * 8, 0] <- x
)";
  Trial trial = simulated(text, {{"M", 11}, {"N", 100}}, {}, 2);
  ASSERT_EQ(trial.outcome.diagnostics.render(), "");
  std::vector<double> a = elements(trial, 0), w = elements(trial, 1), b = elements(trial, 2);
  for (std::size_t i = 0; i < 11 * 256; ++i) {
    std::size_t c = i % 256;
    double by = static_cast<float>((c < 100 ? w[c] : 2.0) + static_cast<double>(c));
    ASSERT_EQ(b[i], static_cast<float>(a[i] * by)) << i;
  }
}

/// One tile of C = A·Bᵀ by TMA and wgmma, stored by stmatrix and TMA.
const char* const kWgmma = R"(roles gemm(A: in bf16[M, K], B: in bf16[N, K], C: out bf16[M, N]) device h200:
  launch 1
  map A_map = A box [64, 64] swizzle 128
  map B_map = B box [64, 64] swizzle 128
  map C_map = C box [64, 64] swizzle 128
  smem A_s: bf16[64, 64] swizzle 128
  smem B_s: bf16[64, 64] swizzle 128
  smem C_s: bf16[64, 64] swizzle 128
  mbar full[1] count 1
  prologue:
    elect:
      mbar_init full
      fence mbar_init
    sync_threads
  role math warps 4:
    fragment acc: f32[64, 64] wgmma_acc
    elect:
      expect full[0] bytes 16384
      tma_load A_s[0, 0] <- A_map[0, 0] on full[0]
      tma_load B_s[0, 0] <- B_map[0, 0] on full[0]
    wait full[0] parity 0
    fence wgmma
    for kk in unrolled(4):
      wgmma acc[0, 0] <- A_s[0, 16 * kk], B_s[0, 16 * kk]^T clear kk == 0
    wgmma_commit
    wgmma_await 0
    stmatrix C_s[0, 0] <- acc[0, 0] columns 64
    fence proxy_async
    barrier_sync 1 threads 128
    elect:
      tma_store C_map[0, 0] <- C_s[0, 0]
      bulk_commit
      bulk_wait 0
)";

/// A·Bᵀ (rows of B are columns of the result) as the tensor cores sum it.
double product(const std::vector<double>& a, const std::vector<double>& b, std::size_t k, std::size_t i,
               std::size_t j) {
  float sum = 0;
  for (std::size_t l = 0; l < k; ++l)
    sum = std::fma(static_cast<float>(a[i * k + l]), static_cast<float>(b[j * k + l]), sum);
  return sum;
}

TEST(Values, WgmmaThroughTmaAndStmatrix) {
  for (std::int64_t m : {64, 40}) {
    Trial trial = simulated(kWgmma, {{"M", m}, {"N", 48}, {"K", 56}});
    ASSERT_EQ(trial.outcome.diagnostics.render(), "");
    std::vector<double> a = elements(trial, 0), b = elements(trial, 1), c = elements(trial, 2);
    for (std::size_t i = 0; i < c.size(); ++i)
      ASSERT_EQ(c[i], ir::round_to(ir::DType::bf16, product(a, b, 56, i / 48, i % 48))) << m << " " << i;
  }
  expect_clean(kWgmma, {{"M", 64}, {"N", 64}, {"K", 64}});
}

TEST(Values, MmaThroughCopiesAndLdmatrix) {
  const char* text = R"(roles gemm(A: in f16[M, 64], B: in f16[32, 64], C: out f32[M, 32]) device a100:
  launch ceildiv(i32(M), 32)
  smem A_s: f16[32, 64] pad 8
  smem B_s: f16[32, 64] pad 8
  role math warps 2:
    fragment acc: f32[16, 32] mma_acc
    fragment a: f16[16, 16] mma_a
    fragment b: f16[32, 16] mma_b
    cp_async A_s[0, 0] <- A[block * 32, 0] rows 32 columns 64
    cp_async B_s[0, 0] <- B[0, 0] rows 32 columns 64
    cp_commit
    cp_wait 0
    sync_threads
    each r, c in acc:
      acc[r, c] = 0.0
    for kk in unrolled(4):
      ldmatrix a[0, 0] <- A_s[16 * warp, 16 * kk]
      ldmatrix b[0, 0] <- B_s[0, 16 * kk]
      mma acc <- a, b
    store C[block * 32 + 16 * warp, 0] <- acc
)";
  Trial trial = simulated(text, {{"M", 50}});
  ASSERT_EQ(trial.outcome.diagnostics.render(), "");
  std::vector<double> a = elements(trial, 0), b = elements(trial, 1), c = elements(trial, 2);
  for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], product(a, b, 64, i / 32, i % 32)) << i;
  expect_clean(text, {{"M", 50}}, 2);
}

// Each warp multiplies its rows of a warpgroup's fragments; A is loaded whole, and taken 16 columns at a time.
TEST(Values, MmaOfAWarpgroup) {
  const char* text = R"(roles gemm(A: in f16[M, 64], B: in f16[64, 32], C: out f32[M, 32]) device a100:
  launch ceildiv(i32(M), 128)
  smem A_s: f16[128, 64] swizzle 128
  smem B_s: f16[64, 32] swizzle 64
  role math warps 4:
    fragment acc: f32[128, 32] wgmma_acc
    fragment a: f16[128, 64] wgmma_a
    fragment b: f16[32, 16] mma_b
    cp_async A_s[0, 0] <- A[block * 128, 0] rows 128 columns 64
    cp_async B_s[0, 0] <- B[0, 0] rows 64 columns 32
    cp_commit
    cp_wait 0
    sync_threads
    each r, c in acc:
      acc[r, c] = 0.0
    ldmatrix a[0, 0] <- A_s[0, 0]
    for kk in unrolled(4):
      ldmatrix b[0, 0] <- B_s[16 * kk, 0]^T
      mma acc <- a[0, 16 * kk], b
    store C[block * 128, 0] <- acc
)";
  Trial trial = simulated(text, {{"M", 150}});
  ASSERT_EQ(trial.outcome.diagnostics.render(), "");
  std::vector<double> a = elements(trial, 0), b = elements(trial, 1), c = elements(trial, 2), turned(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) turned[i % 32 * 64 + i / 32] = b[i];
  for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], product(a, turned, 64, i / 32, i % 32)) << i;
  expect_clean(text, {{"M", 150}}, 2);
}

// Pieces of 4 bytes: neighbours of one thread's are another one's.
TEST(Values, CopiesInPiecesOfFourBytes) {
  const char* text = R"(roles copy(A: in f16[M, K], B: out f16[M, 32]) device a100:
  launch 1
  smem S: f16[8, 32]
  role math warps 1:
    fragment x: f16[8, 32] vector vec 2 lanes 16
    cp_async S[0, 0] <- A[0, 0] rows 8 columns 32 pieces 4
    cp_commit
    cp_wait 0
    sync_threads
    load x <- S[0, 0]
    store B[0, 0] <- x
)";
  Trial trial = simulated(text, {{"M", 7}, {"K", 30}});
  ASSERT_EQ(trial.outcome.diagnostics.render(), "");
  std::vector<double> a = elements(trial, 0), b = elements(trial, 1);
  for (std::size_t i = 0; i < b.size(); ++i) ASSERT_EQ(b[i], i % 32 < 30 ? a[i / 32 * 30 + i % 32] : 0) << i;
}

// A group without copies is done when it is committed: nobody need wait for it.
TEST(Values, GroupsWithoutCopiesNeedNoWait) {
  const char* text = R"(roles copy(A: in f32[N], B: out f32[N]) device a100:
  launch 1
  smem S: f32[1, 128]
  role math warps 4:
    cp_async S[0, 0] <- A[0] rows 1 columns 128
    cp_commit
    cp_wait 0
    cp_commit
    sync_threads
    put B[thread] = S[0, thread]
)";
  expect_clean(text, {{"N", 128}});
}

TEST(Values, BulkCopiesThroughARing) {
  const char* text = R"(roles copy(A: in f32[N], B: out f32[N]) device h200:
  require N % 256 == 0
  launch 1
  smem S: f32[2, 256]
  mbar full[2] count 1
  prologue:
    elect:
      mbar_init full
      fence mbar_init
    sync_threads
  role move warps 1:
    elect:
      for i in range(i32(N) / 256):
        bulk_wait read 1
        expect full[i % 2] bytes 1024
        bulk_load S[i % 2, 0] <- A[i * 256] bytes 1024 on full[i % 2]
        wait full[i % 2] parity i / 2
        bulk_store B[i * 256] <- S[i % 2, 0] bytes 1024
        bulk_commit
      bulk_wait 0
)";
  Trial trial = simulated(text, {{"N", 1280}});
  ASSERT_EQ(trial.outcome.diagnostics.render(), "");
  EXPECT_EQ(elements(trial, 0), elements(trial, 1));
  EXPECT_GT(trial.outcome.cycles, 5 * 700);
  expect_clean(text, {{"N", 1280}});
}

TEST(Values, OutputsAreWrittenWhole) {
  const char* text = R"(roles part(T: out f32[40]) device h200:
  launch 1
  role work warps 1:
    put T[lane] = 1.0
)";
  expect_found(text, Rule::output_unwritten, 1, "element [32] of T");
}

TEST(Values, RegistersAreWrittenBeforeTheyAreRead) {
  const char* text = R"(roles part(T: out f32[1, 32]) device h200:
  launch 1
  role work warps 1:
    fragment x: f32[1, 32] vector vec 1 lanes 32
    if lane < 31:
      each r, c in x:
        x[r, c] = 1.0
    store T[0, 0] <- x
)";
  expect_found(text, Rule::sim_unwritten, 8, "thread 31 of work uses an element of x");
}

TEST(Values, IndicesStayInside) {
  const char* text = R"(roles part(T: out f32[32], A: in f32[32], n: i32 = 1) device h200:
  launch 1
  smem S: f32[32]
  role work warps 1:
    put S[lane] = A[lane]
    put T[lane + 1] = S[lane]
)";
  roles::Program program = parsed(text);
  auto call = draw_call(program, {}, {{"n", {ir::DType::i32, 1, 0}}});
  ASSERT_TRUE(call.ok());
  auto trial = run_trial(program, *call, 1, {});
  EXPECT_THAT(trial->outcome.diagnostics.render(), testing::HasSubstr("accesses T[32]; its shape is [32]"));
}

TEST(Values, StepLimitEndsARunThatDoesNot) {
  const char* text = R"(roles spin(T: inout i32[1]) device h200:
  launch 1
  role work warps 1:
    while T[0] >= 0:
      pass
)";
  roles::Program program = parsed(text);
  auto call = draw_call(program, {});
  ASSERT_TRUE(call.ok());
  static_cast<std::int32_t*>(call->args.tensors[0].data)[0] = 1;
  Options options;
  options.max_steps = 1000;
  auto trial = run_trial(program, *call, 1, options);
  EXPECT_THAT(trial->outcome.diagnostics.render(), testing::HasSubstr("[step-limit]"));
}

}  // namespace
}  // namespace plait::sim
