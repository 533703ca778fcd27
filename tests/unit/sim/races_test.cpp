#include <gmock/gmock.h>

#include "helpers.h"

namespace plait::sim {
namespace {

const char* const kExchange = R"(roles exchange(T: out f32[64]) device h200:
  launch 1
  smem S: f32[64]
  role work warps 2:
    put S[thread] = 1.0
    sync_threads
    put T[thread] = S[63 - thread]
)";

TEST(Races, BarrierBetweenWarps) {
  expect_clean(kExchange);
  expect_found(without(kExchange, "sync_threads"), Rule::sim_race, {5, 7}, "nothing orders that with put at t.roles:");
}

TEST(Races, TheReportNamesBothAccesses) {
  Outcome outcome = simulated(without(kExchange, "sync_threads")).outcome;
  ASSERT_TRUE(outcome.diagnostics.has_errors());
  const Diagnostic& d = outcome.diagnostics.list().back();
  EXPECT_EQ(d.rule, Rule::sim_race);
  EXPECT_THAT(d.message,
              testing::ContainsRegex("put by thread [0-9]+ of work (reads|writes) S\\[[0-9]+\\], and nothing "
                                     "orders that with put at t.roles:[57]:5 by thread [0-9]+ of work, which "
                                     "(reads|writes) it"));
  ASSERT_EQ(d.notes.size(), 1U);
  EXPECT_THAT(d.notes[0].loc.line, testing::AnyOf(5, 7));
  EXPECT_NE(d.notes[0].loc.line, d.loc.line);
}

TEST(Races, AtomicsOnSharedTilesWithPlainAccesses) {
  const char* text = R"(roles count(T: out i32[1]) device h200:
  launch 1
  smem S: i32[1]
  role work warps 4:
    elect:
      put S[0] = 0
    sync_threads
    elect:
      put S[0] = 1
    barrier_sync 1 threads 128
    old = atomic_add(S[0], 1)
    barrier_sync 2 threads 128
    elect:
      put T[0] = S[0]
)";
  expect_clean(text);
  expect_found(without(text, "barrier_sync 1 threads 128"), Rule::sim_race, {9, 11}, "nothing orders that with");
  expect_found(without(text, "barrier_sync 2 threads 128"), Rule::sim_race, {11, 14}, "nothing orders that with");
}

TEST(Races, LanesOfAWarp) {
  const char* text = R"(roles lanes(T: out f32[32]) device h200:
  launch 1
  smem S: f32[32]
  role work warps 1:
    put S[lane] = 1.0
    sync_warp
    put T[lane] = S[31 - lane]
)";
  expect_clean(text);
  expect_found(without(text, "sync_warp"), Rule::sim_race, 7, "put");
}

TEST(Races, ReadersBeforeTheNextWriter) {
  const char* text = R"(roles reuse(T: out f32[2, 64]) device h200:
  launch 1
  smem S: f32[64]
  role work warps 2:
    for i in range(2):
      put S[thread] = f32(i)
      sync_threads
      put T[i, thread] = S[63 - thread]
      barrier_sync 2 threads 64
)";
  expect_clean(text);
  expect_found(without(text, "barrier_sync 2 threads 64"), Rule::sim_race, {6, 8}, "nothing orders");
}

TEST(Races, TheElectedThreadReadsForAll) {
  const char* text = R"(roles gather(T: out f32[1]) device h200:
  launch 1
  smem S: f32[64]
  role work warps 2:
    put S[thread] = 1.0
    barrier_sync 1 threads 64
    elect:
      put T[0] = S[40]
)";
  expect_clean(text);
  expect_found(without(text, "barrier_sync 1 threads 64", "sync_warp"), Rule::sim_race, {5, 8}, "nothing orders");
}

TEST(Races, BlocksOfTheGrid) {
  const char* text = R"(roles blocks_of(T: out f32[64], U: inout f32[32]) device h200:
  launch 2
  role work warps 1:
    put T[block * 32 + lane] = 1.0
)";
  expect_clean(text, {}, 2);
  expect_clean(text, {}, 1);
  expect_found(without(text, "put T[block * 32 + lane] = 1.0", "put U[lane] = f32(block)"), Rule::sim_race, 4,
               "block 1", {}, 2);
  expect_found(without(text, "put T[block * 32 + lane] = 1.0", "put U[lane] = f32(block)"), Rule::sim_race, 4,
               "block 1", {}, 1);
  expect_found(without(text, "put T[block * 32 + lane] = 1.0", "put U[lane / 2] = f32(lane)"), Rule::sim_race, 4,
               "different values to one element");
}

/// Threads write a tile that a bulk store reads.
const char* const kStore = R"(roles store(T: out f32[2, 64]) device h200:
  launch 1
  smem S: f32[64]
  role work warps 2:
    for i in range(2):
      elect:
        bulk_wait read 0
      barrier_sync 1 threads 64
      put S[thread] = f32(i)
      fence proxy_async
      barrier_sync 2 threads 64
      elect:
        bulk_store T[i, 0] <- S[0] bytes 256
        bulk_commit
    elect:
      bulk_wait 0
)";

TEST(Races, StagingOfBulkStores) {
  expect_clean(kStore);
  expect_found(without(kStore, "bulk_wait read 0"), Rule::sim_race, {9, 13}, "nothing orders");
  expect_found(without(kStore, "bulk_wait read 0", "bulk_wait read 1"), Rule::sim_race, {9, 13}, "nothing orders");
  expect_found(without(kStore, "barrier_sync 1 threads 64"), Rule::sim_race, {9, 13}, "nothing orders");
  expect_found(without(kStore, "barrier_sync 2 threads 64"), Rule::sim_race, {9, 13}, "nothing orders");
  expect_caught(without(kStore, "bulk_commit"), {Rule::sim_race, Rule::sim_exit});
}

TEST(Races, ProxyFenceOfTheWriter) {
  expect_found(without(kStore, "fence proxy_async"), Rule::sim_proxy, 13, "without a fence proxy_async behind it");
  std::string late = without(kStore, "fence proxy_async");
  late = without(late, "barrier_sync 2 threads 64", "barrier_sync 2 threads 64\n      fence proxy_async");
  expect_found(late, Rule::sim_proxy, 14, "without a fence proxy_async behind it");
}

TEST(Races, CopiesAreWaitedFor) {
  const char* text = R"(roles load(A: in f32[64], T: out f32[64]) device h200:
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
      bulk_load S[0] <- A[0] bytes 256 on full[0]
    wait full[0] parity 0
    put T[thread] = S[thread]
)";
  expect_clean(text);
  expect_caught(without(text, "wait full[0] parity 0"), {Rule::sim_race, Rule::sim_unwritten});
  expect_caught(without(text, "wait full[0] parity 0", "wait full[0] parity 1"), {Rule::sim_race, Rule::sim_unwritten});
  expect_found(without(text, "wait full[0] parity 0", "pass\n    if warp == 0:\n      wait full[0] parity 0"),
               Rule::sim_race, {13, 17}, "nothing orders");
  std::string one = without(text, "wait full[0] parity 0", "elect:\n      wait full[0] parity 0");
  expect_found(one, Rule::sim_race, {13, 16}, "nothing orders");
}

/// A slot that threads read and the next copy overwrites.
const char* const kRing = R"(roles ring(A: in f32[4, 64], T: out f32[4, 64]) device h200:
  launch 1
  smem S: f32[64]
  mbar full[1] count 1
  mbar empty[1] count 64
  prologue:
    elect:
      mbar_init full
      mbar_init empty
      fence mbar_init
    sync_threads
  role load warps 1:
    elect:
      for i in range(4):
        wait empty[0] parity i + 1
        expect full[0] bytes 256
        bulk_load S[0] <- A[i, 0] bytes 256 on full[0]
  role work warps 2:
    for i in range(4):
      wait full[0] parity i
      put T[i, thread] = S[thread] * 2.0
      fence proxy_async
      arrive empty[0]
)";

TEST(Races, SlotsAreReleasedBehindTheirReaders) {
  expect_clean(kRing);
  expect_found(without(kRing, "wait empty[0] parity i + 1"), Rule::sim_race, {17, 21}, "nothing orders");
  expect_found(without(kRing, "fence proxy_async"), Rule::sim_proxy, 17, "reads without a fence proxy_async");
  std::string early = without(kRing, "put T[i, thread] = S[thread] * 2.0", "arrive empty[0]");
  early = without(early, "fence proxy_async\n      arrive empty[0]",
                  "fence proxy_async\n      put T[i, thread] = S[thread] * 2.0");
  expect_found(early, Rule::sim_race, {17, 23}, "nothing orders");
}

const char* const kCopies = R"(roles copies(A: in f32[64, 4], T: out f32[64]) device h200:
  launch 1
  smem S: f32[64, 4]
  role work warps 2:
    cp_async S[0, 0] <- A[0, 0] rows 64 columns 4
    cp_commit
    cp_wait 0
    sync_threads
    put T[thread] = S[63 - thread, 1]
)";

TEST(Races, CopiesOfThreads) {
  expect_clean(kCopies);
  expect_found(without(kCopies, "cp_wait 0"), Rule::sim_race, 9, "nothing orders");
  expect_found(without(kCopies, "cp_wait 0", "cp_wait 1"), Rule::sim_race, 9, "nothing orders");
  expect_found(without(kCopies, "cp_commit"), Rule::sim_race, 9, "nothing orders");
  expect_found(without(kCopies, "sync_threads"), Rule::sim_race, {5, 9}, "nothing orders");
  expect_found(without(kCopies, "cp_wait 0", "sync_warp"), Rule::sim_race, 9, "nothing orders");
}

}  // namespace
}  // namespace plait::sim
