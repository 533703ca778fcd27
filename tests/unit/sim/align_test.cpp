#include <gmock/gmock.h>

#include "helpers.h"
#include "machine/load.h"
#include "sim/occupancy.h"

namespace plait::sim {
namespace {

TEST(Align, BulkCopies) {
  const char* text = R"(roles load(A: in f32[80], T: out f32[64]) device h200:
  launch 1
  smem S: f32[64]
  mbar full[1] count 1
  prologue:
    elect:
      mbar_init full
      fence mbar_init
    sync_threads
  role work warps 2:
    elect:
      expect full[0] bytes 256
      bulk_load S[0] <- A[4] bytes 256 on full[0]
    wait full[0] parity 0
    put T[thread] = S[thread]
)";
  expect_clean(text);
  expect_found(replaced(text, "A[4] bytes 256", "A[2] bytes 256"), Rule::sim_align, 13, "between byte 8 of the tensor");
  expect_found(replaced(text, "A[4] bytes 256", "A[4] bytes 248"), Rule::sim_align, 13, "moves 248 bytes");
  expect_found(replaced(text, "A[4] bytes 256", "A[20] bytes 256"), Rule::sim_bounds, 13, "which leave A");
  expect_found(replaced(text, "S[0] <- A[4] bytes 256", "S[32] <- A[4] bytes 256"), Rule::sim_bounds, 13,
               "which leave S");
}

TEST(Align, PiecesOfThreads) {
  const char* text = R"(roles copies(A: in f32[32, N], T: out f32[32, 4]) device h200:
  launch 1
  smem S: f32[32, 4]
  role work warps 1:
    fragment x: f32[32, 4] vector vec 4 lanes 1
    cp_async S[0, 0] <- A[0, 0] rows 32 columns 4
    cp_commit
    cp_wait 0
    sync_warp
    load x <- S[0, 0]
    store T[0, 0] <- x
)";
  expect_clean(text, {{"N", 8}});
  expect_found(text, Rule::sim_align, 6, "both are multiples of 16", {{"N", 6}});
  expect_found(replaced(text, "cp_async S[0, 0] <- A[0, 0]", "cp_async S[0, 0] <- A[0, 1]"), Rule::sim_align, 6,
               "from byte 4 of A", {{"N", 8}});
  std::string stores = replaced(text, "T: out f32[32, 4]", "T: inout f32[32, 6]");
  expect_found(stores, Rule::sim_align, 11, "moves 16 bytes at once from byte 24 of T", {{"N", 8}});
}

TEST(Align, BoxesOfTma) {
  const char* text = R"(roles boxes(A: in f32[64, N], T: out f32[32]) device h200:
  launch 1
  map A_map = A box [32, 32] swizzle 128
  smem S: f32[64, 32] swizzle 128
  mbar full[1] count 1
  prologue:
    elect:
      mbar_init full
      fence mbar_init
    sync_threads
  role work warps 1:
    elect:
      expect full[0] bytes 4096
      tma_load S[8, 0] <- A_map[0, 0] on full[0]
    wait full[0] parity 0
    put T[lane] = S[8, lane]
)";
  expect_clean(text, {{"N", 32}});
  expect_found(replaced(text, "tma_load S[8, 0]", "tma_load S[12, 0]"), Rule::sim_align, 14,
               "begins at row 12, which is no multiple of 8", {{"N", 32}});
  Outcome outcome = simulated(text, {{"N", 30}}).outcome;
  EXPECT_THAT(outcome.diagnostics.render(), testing::HasSubstr("A_map is over a tensor with strides [30, 1]"));
}

TEST(Align, StridesOfTensors) {
  const char* text = R"(roles rows(A: in f32[32, 4] strides [4, P], T: out f32[32, 4]) device h200:
  launch 1
  role work warps 1:
    fragment x: f32[32, 4] vector vec 4 lanes 1
    load x <- A[0, 0]
    store T[0, 0] <- x
)";
  expect_clean(text, {{"P", 1}});
  roles::Program program = parsed(replaced(text, "strides [4, P]", "strides [8, P]"));
  auto call = draw_call(program, {{"P", 2}});
  ASSERT_TRUE(call.ok()) << call.diagnostics().render();
  auto trial = run_trial(program, *call, 1, {});
  EXPECT_THAT(trial->outcome.diagnostics.render(), testing::HasSubstr("the last stride of A is 2"));
}

TEST(Occupancy, WhatFits) {
  auto device = machine::load_device("h200");
  ASSERT_TRUE(device.ok());
  auto blocks = [&](const std::string& text) { return resident_blocks(parsed(text), *device); };
  const char* text = R"(roles small(T: out f32[32]) device h200:
  launch 1
  smem S: f32[4096]
  role work warps 4:
    fragment x: f32[4, 32] vector vec 1 lanes 32
    put T[lane] = 1.0
)";
  EXPECT_EQ(blocks(text), 13);  // 16 KiB and 1 KiB of 228 KiB
  EXPECT_EQ(blocks(replaced(text, "f32[4096]", "f32[40000]")), 1);
  EXPECT_EQ(blocks(replaced(text, "f32[4096]", "f32[16]")), 16);       // 2048 threads
  EXPECT_EQ(blocks(replaced(text, "f32[4, 32]", "f32[512, 32]")), 3);  // 160 registers
  EXPECT_EQ(blocks(replaced(text, "work warps 4:", "work warps 4 regs 240:")), 2);
}

TEST(Time, WithoutValuesItIsTheSame) {
  const char* text = R"(roles copy(A: in f32[N], B: out f32[N]) device h200:
  require N % 256 == 0
  launch 2
  smem S: f32[2, 256]
  mbar full[2] count 1
  prologue:
    elect:
      mbar_init full
      fence mbar_init
    sync_threads
  role move warps 1:
    elect:
      var n: i32 = 0
      for i in range(block, i32(N) / 256, 2):
        bulk_wait read 1
        expect full[n % 2] bytes 1024
        bulk_load S[n % 2, 0] <- A[i * 256] bytes 1024 on full[n % 2]
        wait full[n % 2] parity n / 2
        bulk_store B[i * 256] <- S[n % 2, 0] bytes 1024
        bulk_commit
        set n = n + 1
      bulk_wait 0
)";
  roles::Program program = parsed(text);
  Outcome whole = simulated(text, {{"N", 5120}}, {}, 2).outcome;
  ASSERT_EQ(whole.diagnostics.render(), "");
  auto blank = BlankCall::make(program, {{"N", 5120}}, {});
  ASSERT_TRUE(blank.ok()) << blank.diagnostics().render();
  auto launch = make_launch(program, blank->args(), 2);
  ASSERT_TRUE(launch.ok());
  Options options;
  options.checks = false;
  Outcome time = simulate(program, *launch, options);
  EXPECT_EQ(time.diagnostics.render(), "");
  EXPECT_EQ(time.cycles, whole.cycles);
  EXPECT_EQ(time.steps, whole.steps);
  auto huge = BlankCall::make(program, {{"N", std::int64_t{1} << 36}}, {});
  EXPECT_TRUE(huge.ok()) << "tensors take address space only";
}

}  // namespace
}  // namespace plait::sim
