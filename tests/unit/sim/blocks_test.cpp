#include <gmock/gmock.h>

#include "helpers.h"

namespace plait::sim {
namespace {

TEST(Barriers, CountsAndMeetings) {
  const char* text = R"(roles meet(T: out f32[128]) device h200:
  launch 1
  role work warps 4:
    barrier_sync 1 + warp / 2 threads 64
    barrier_sync 3 threads 128
    put T[thread] = 1.0
)";
  expect_clean(text);
  expect_found(without(text, "barrier_sync 3 threads 128", "barrier_sync 3 threads 128 + 32"), Rule::sim_deadlock, 5,
               "work waits for barrier 3: 32 of 160 threads are missing");
  std::string differ =
      without(text, "barrier_sync 3 threads 128",
              "if warp == 0:\n      barrier_sync 3 threads 64\n    else:\n      barrier_sync 3 threads 128");
  expect_found(differ, Rule::sim_barrier, {6, 8}, "meets at barrier 3 over");
  std::string three = without(text, "barrier_sync 3 threads 128", "barrier_sync 3 threads 64\n    sync_threads");
  for (std::uint64_t i = 0; i < 4; ++i) {
    Options options;
    options.interleaving = i;
    EXPECT_THAT(simulated(three, {}, options).outcome.diagnostics.render(), testing::HasSubstr("[sim-barrier]"));
  }
  expect_found(without(text, "barrier_sync 3 threads 128", "barrier_sync warp + 14 threads 32"), Rule::sim_bounds, 5,
               "names barrier 1");
  expect_found(without(text, "barrier_sync 3 threads 128", "if lane < 30:\n      barrier_sync 3 threads 128"),
               Rule::sim_divergent, 6, "barrier_sync is run by 30 of the 32 lanes of warp");
}

TEST(Barriers, PingPong) {
  const char* text = R"(roles turns(T: out f32[2, 32]) device h200:
  launch 1
  smem S: f32[32]
  role work replicas 2 warps 1:
    if replica == 0:
      put S[31 - lane] = 0.0
      barrier_arrive 1 threads 64
    for i in range(3):
      barrier_sync 2 - replica threads 64
      x = S[lane]
      sync_warp
      put S[31 - lane] = x + 1.0
      if replica == 1 or i < 2:
        barrier_arrive 1 + replica threads 64
    put T[replica, lane] = 1.0
)";
  // Replica 1 goes first (barrier 1), then replica 0 (barrier 2).
  expect_clean(text);
  std::string unordered = without(text, "sync_warp");
  EXPECT_THAT(simulated(unordered).outcome.diagnostics.render(), testing::HasSubstr("[sim-race]"));
}

TEST(Deadlock, NamesAllThatWait) {
  const char* text = R"(roles stuck(T: inout f32[1]) device h200:
  launch 1
  mbar b[1] count 1
  prologue:
    elect:
      mbar_init b
    sync_threads
  role a warps 1:
    wait b[0] parity 0
    barrier_sync 1 threads 96
  role c warps 2:
    barrier_sync 1 threads 96
    elect:
      arrive b[0]
)";
  Outcome outcome = simulated(text).outcome;
  ASSERT_EQ(outcome.diagnostics.list().size(), 1U);
  const Diagnostic& d = outcome.diagnostics.list()[0];
  EXPECT_EQ(d.message, "no thread can go on: a waits for phase 0 of b[0]: 1 of 1 arrivals are missing");
  ASSERT_EQ(d.notes.size(), 1U);
  EXPECT_EQ(d.notes[0].message, "c waits for barrier 1: 32 of 96 threads are missing");
  EXPECT_EQ(d.notes[0].loc.line, 12);
}

TEST(Exit, StoresAreReadBeforeTheBlockEnds) {
  const char* text = R"(roles store(T: out f32[64]) device h200:
  launch 1
  smem S: f32[64]
  role work warps 2:
    put S[thread] = 1.0
    fence proxy_async
    sync_threads
    elect:
      bulk_store T[0] <- S[0] bytes 256
      bulk_commit
      bulk_wait read 0
)";
  expect_clean(text);
  expect_found(without(text, "bulk_wait read 0"), Rule::sim_exit, 9, "no bulk_wait follows");
  expect_found(without(text, "bulk_commit\n      bulk_wait read 0"), Rule::sim_exit, 9, "no bulk_commit stands behind");
}

TEST(Exit, LoadsAreWaitedFor) {
  const char* text = R"(roles load(A: in f32[64], T: out f32[32]) device h200:
  launch 1
  smem S: f32[64]
  mbar full[1] count 1
  prologue:
    elect:
      mbar_init full
      fence mbar_init
    sync_threads
  role work warps 1:
    elect:
      expect full[0] bytes 256
      bulk_load S[0] <- A[0] bytes 256 on full[0]
    put T[lane] = 1.0
    wait full[0] parity 0
)";
  expect_clean(text);
  expect_found(without(text, "wait full[0] parity 0"), Rule::sim_exit, 13,
               "while the copies that complete on full[0] still write its memory");
  const char* copies = R"(roles copies(A: in f32[32, 4], T: out f32[32]) device h200:
  launch 1
  smem S: f32[32, 4]
  role work warps 1:
    cp_async S[0, 0] <- A[0, 0] rows 32 columns 4
    cp_commit
    put T[lane] = 1.0
)";
  expect_found(copies, Rule::sim_exit, 5, "no cp_wait follows");
}

/// One block loads for both of a cluster.
const char* const kCluster = R"(roles pair(A: in f32[2, 64], T: out f32[2, 64]) device h200:
  launch 2
  cluster 2
  map A_map = A box [1, 64]
  smem S: f32[1, 64]
  mbar full[1] count 1
  mbar empty[1] count 2
  prologue:
    elect:
      mbar_init full
      mbar_init empty
      fence mbar_init
    cluster_arrive
    cluster_wait
  role work warps 2:
    for i in range(2):
      elect:
        wait empty[0] parity i + 1
        expect full[0] bytes 256
        if cluster_rank == 0:
          tma_load S[0, 0] <- A_map[i, 0] on full[0] multicast 3
      wait full[0] parity i
      x = S[0, thread]
      fence proxy_async
      barrier_sync 1 threads 64
      elect:
        arrive empty[0]
        arrive empty[0] at 1 - cluster_rank
      if i == 1:
        put T[block, thread] = x
    cluster_arrive
    cluster_wait
)";

TEST(Clusters, MulticastAndRemoteArrivals) {
  Trial trial = simulated(kCluster);
  ASSERT_EQ(trial.outcome.diagnostics.render(), "");
  std::vector<double> a = elements(trial, 0), t = elements(trial, 1);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(t[i], a[64 + i]);
    EXPECT_EQ(t[64 + i], a[64 + i]);
  }
  expect_clean(kCluster, {}, 2);
}

TEST(Clusters, BlocksMustRunWhenTheyAreReached) {
  std::string start =
      without(kCluster, "cluster_arrive\n    cluster_wait\n  role work warps 2:", "sync_threads\n  role work warps 2:");
  expect_found(start, Rule::sim_mbar_init, {20, 21, 27, 28}, "through TMA or from another block", {}, 2);
  std::string end = kCluster;
  end.replace(end.rfind("cluster_arrive\n    cluster_wait"), 31, "pass");
  expect_found(end, Rule::sim_cluster, 28, "reaches", {}, 2);
  std::string apart = kCluster;
  apart.replace(apart.rfind("cluster_wait"), 12, "pass");
  expect_found(apart, Rule::sim_cluster, 28, "reaches", {}, 2);
  std::string lonely = kCluster;
  lonely.replace(lonely.rfind("cluster_arrive"), 14, "pass");
  expect_found(lonely, Rule::sim_cluster, 32, "waits at the cluster barrier without having arrived", {}, 2);
  std::string twice = without(kCluster, "cluster_wait");
  Options options;
  options.max_errors = 100;
  for (std::uint64_t i = 0; i < 4; ++i) {
    options.interleaving = i;
    EXPECT_TRUE(simulated(twice, {}, options, 2).outcome.diagnostics.has_errors());
  }
  const char* arrivals = R"(roles twice(T: out f32[2, 32]) device h200:
  launch 2
  cluster 2
  role work warps 1:
    cluster_arrive
    put T[block, lane] = 1.0
    cluster_wait
)";
  expect_clean(arrivals, {}, 2);
  expect_found(without(arrivals, "cluster_arrive", "cluster_arrive\n    cluster_arrive"), Rule::sim_cluster, 6,
               "arrives at the cluster barrier twice", {}, 2);
  expect_found(without(arrivals, "cluster_wait"), Rule::sim_cluster, 5, "ends without waiting there", {}, 2);
}

TEST(Clusters, SlotsOfThePeer) {
  std::string own = without(kCluster, "arrive empty[0] at 1 - cluster_rank", "arrive empty[0]");
  for (std::uint64_t i = 0; i < 4; ++i) {
    Options options;
    options.interleaving = i;
    EXPECT_TRUE(simulated(own, {}, options, 2).outcome.diagnostics.has_errors());
  }
  std::string beyond = without(kCluster, "arrive empty[0] at 1 - cluster_rank", "arrive empty[0] at 2");
  expect_found(beyond, Rule::sim_bounds, 28, "arrives at block 2 of a cluster of 2", {}, 2);
  std::string mask = replaced(kCluster, "multicast 3", "multicast 5");
  expect_found(mask, Rule::sim_bounds, 21, "names blocks that a cluster of 2 has not", {}, 2);
}

TEST(Scalars, DivisionAndSteps) {
  const char* text = R"(roles divide(T: out i32[32], A: inout i32[1]) device h200:
  launch 1
  role work warps 1:
    put T[lane] = 7 / (lane - 3)
)";
  expect_found(text, Rule::division_by_zero, 4, "7 is divided by zero");
  expect_clean(without(text, "put T[lane] = 7 / (lane - 3)", "put T[lane] = select(lane == 3, 0, 7 / (lane - 3))"));
  expect_clean(without(text, "put T[lane] = 7 / (lane - 3)",
                       "if lane != 3:\n      put T[lane] = 7 / (lane - 3)\n    else:\n      put T[lane] = 0"));
  const char* count = R"(roles count(T: out i32[32], A: inout i32[1]) device h200:
  launch 1
  role work warps 1:
    for i in range(2147483640, 2147483647, 5):
      put T[lane] = i
)";
  expect_found(count, Rule::sim_overflow, 4, "the loop variable overflows i32 at the step from 2147483645 by 5");
  const char* step = R"(roles step(T: out i32[32], A: inout i32[1]) device h200:
  launch 1
  role work warps 1:
    put T[lane] = 1
    for i in range(0, 4, A[0] * 0):
      pass
)";
  expect_found(step, Rule::loop_step, 5, "the step of the loop is 0");
}

/// A role that stores a value computed from `x`, which is 2147483632 + lane up to the lane 15, and from `N`.
std::string computing(const std::string& value, const std::string& type = "i32") {
  std::string scalar = value.find('N') == std::string::npos ? "" : "N: i32, ";
  return "roles compute(A: in i32[1], " + scalar + "T: out " + type +
         "[32]) device h200:\n  launch 1\n  role work warps 1:\n    x = 2147483632 + lane % 16\n    put T[lane] = " +
         value + "\n";
}

TEST(Scalars, SignedOverflowIsReportedWhereItHappens) {
  auto found = [](const std::string& value, const std::string& words, const std::string& type = "i32") {
    roles::Program program = parsed(computing(value, type));
    std::map<std::string, ir::ScalarValue> scalars;
    if (value.find('N') != std::string::npos) scalars["N"] = {ir::DType::i32, 2147483647, 0};
    auto call = draw_call(program, {}, scalars);
    ASSERT_TRUE(call.ok()) << call.diagnostics().render();
    auto trial = run_trial(program, *call, 1, {});
    ASSERT_TRUE(trial.ok());
    std::string text = trial->outcome.diagnostics.render();
    if (words.empty()) {
      EXPECT_EQ(text, "") << value;
    } else {
      EXPECT_NE(text.find("t.roles:5:"), std::string::npos) << value << text;
      EXPECT_NE(text.find(words), std::string::npos) << value << text;
    }
  };
  found("x + 16", "2147483632 + 16 overflows i32 [sim-overflow]");
  found("x * 2", "2147483632 * 2 overflows i32 [sim-overflow]");
  found("-x - 2147483647", "overflows i32 [sim-overflow]");
  found("N + 1", "2147483647 + 1 overflows i32 [sim-overflow]");
  found("(-N - 1) / (lane - 1)", "-2147483648 / -1 overflows i32 [sim-overflow]");
  found("-(-N - 1)", "overflows i32 [sim-overflow]");
  found("abs(-N - 1)", "abs(-2147483648) overflows i32 [sim-overflow]");
  found("i64(x) * 4294967296 * 2", "overflows i64 [sim-overflow]", "i64");
  found("i64(x) * 4294967296", "", "i64");
  found("u32(x) * 4", "", "u32");
  // Lanes that do not want the value may have any.
  found("select(lane % 16 == 0, x + 15, 0)", "");
  found("select(lane < 16, x + 16, 0)", "2147483632 + 16 overflows i32");
  found("select(lane < 16, 0, select(lane < 0, x * 2, x))", "");
  found("select(N < 5, N + 1, 0)", "");
}

TEST(Scalars, ShiftsBeyondTheBitsAreReported) {
  expect_found(computing("1 << lane + 1"), Rule::sim_shift, 5, "a value of 32 bits is shifted by 32");
  expect_found(computing("1 >> lane - 1"), Rule::sim_shift, 5, "a value of 32 bits is shifted by -1");
  expect_clean(computing("select(lane < 31, 1 << lane + 1, 0)"));
  expect_clean(computing("1 << lane"));
}

TEST(Launches, TooManyBlocksAreRefused) {
  const char* text = R"(roles many(N: i64, T: inout f32[1]) device h200:
  launch N
  role work warps 1:
    pass
)";
  auto outcome = [&](std::int64_t blocks, bool checks) {
    roles::Program program = parsed(text);
    auto call = draw_call(program, {}, {{"N", {ir::DType::i64, blocks, 0}}});
    EXPECT_TRUE(call.ok()) << call.diagnostics().render();
    Options options;
    options.checks = checks;
    return run_trial(program, *call, 132, options)->outcome;
  };
  std::string refused = outcome(2'000'000'000, true).diagnostics.render();
  EXPECT_NE(refused.find("the launch has 2000000000 blocks; at most 65535 are simulated [sim-blocks]"), refused.npos)
      << refused;
  EXPECT_NE(refused.find("fix: simulate smaller dims, or time alone: --time-only"), refused.npos) << refused;
  refused = outcome(2'000'000'000, false).diagnostics.render();
  EXPECT_NE(refused.find("at most 16777216 are simulated, of time alone [sim-blocks]"), refused.npos) << refused;
  // Blocks that have ended are given back.
  EXPECT_EQ(outcome(20'000, true).diagnostics.render(), "");
  EXPECT_EQ(outcome(200'000, false).diagnostics.render(), "");
}

}  // namespace
}  // namespace plait::sim
