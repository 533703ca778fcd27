#include <gmock/gmock.h>

#include "helpers.h"

namespace plait::sim {
namespace {

/// One producer, one consumer of 32 threads, a ring of two slots.
const char* const kRing = R"(roles ring(A: in f32[6, 64], T: out f32[6, 64]) device h200:
  launch 1
  smem S: f32[2, 64]
  mbar full[2] count 1
  mbar empty[2] count 1
  prologue:
    elect:
      mbar_init full
      mbar_init empty
      fence mbar_init
    sync_threads
  role load warps 1:
    elect:
      for i in range(6):
        wait empty[i % 2] parity i / 2 + 1
        expect full[i % 2] bytes 256
        bulk_load S[i % 2, 0] <- A[i, 0] bytes 256 on full[i % 2]
  role work warps 1:
    for i in range(6):
      wait full[i % 2] parity i / 2
      put T[i, lane] = S[i % 2, lane]
      put T[i, lane + 32] = S[i % 2, lane + 32]
      fence proxy_async
      sync_warp
      elect:
        arrive empty[i % 2]
)";

TEST(Mbarrier, ARingWorks) { expect_clean(kRing); }

TEST(Mbarrier, InitialisationIsSeen) {
  expect_found(without(kRing, "mbar_init full"), Rule::sim_mbar_init, {16, 20}, "which is not initialised");
  expect_found(without(kRing, "mbar_init full", "mbar_init full\n      mbar_init full"), Rule::sim_mbar_init, 9,
               "again, after the one at t.roles:8");
  expect_found(without(kRing, "fence mbar_init"), Rule::sim_mbar_init, 17, "no fence mbar_init stands behind");
  std::string unsynced = without(kRing, "sync_threads");
  Outcome outcome = simulated(unsynced).outcome;
  EXPECT_THAT(outcome.diagnostics.render(), testing::HasSubstr("[sim-mbar-init]"));
  std::string all = without(kRing, "elect:\n      mbar_init full", "if warp == 0:\n      mbar_init full");
  expect_found(all, Rule::sim_mbar_init, 8, "in several lanes");
}

TEST(Mbarrier, ParityOfTheWaits) {
  expect_found(without(kRing, "wait empty[i % 2] parity i / 2 + 1", "wait empty[i % 2] parity i / 2"),
               Rule::sim_deadlock, 15, "load waits for phase 0 of empty[0]: 1 of 1 arrivals are missing");
  expect_found(without(kRing, "wait full[i % 2] parity i / 2", "wait full[i % 2] parity i / 2 + 1"), Rule::sim_race,
               {17, 21}, "nothing orders");
}

TEST(Mbarrier, AWaitMayNotMissItsPhase) {
  const char* text = R"(roles late(T: out f32[64]) device h200:
  launch 1
  mbar go[1] count 1
  mbar back[1] count 1
  prologue:
    elect:
      mbar_init go
      mbar_init back
    sync_threads
  role a warps 1:
    elect:
      arrive go[0]
      wait back[0] parity 0
      arrive go[0]
    put T[lane] = 1.0
  role b warps 1:
    wait go[0] parity 0
    elect:
      arrive back[0]
    wait go[0] parity 1
    put T[lane + 32] = 1.0
)";
  expect_clean(text);
  // The first wait of b may come when both arrivals are made.
  std::string loose = without(text, "wait back[0] parity 0", "for i in range(100):\n        pass");
  bool in_time = false;
  for (std::uint64_t i = 0; i < 8; ++i) {
    Options options;
    options.interleaving = i;
    std::string report = simulated(loose, {}, options).outcome.diagnostics.render();
    EXPECT_THAT(report, testing::AnyOf(testing::HasSubstr("[sim-parity]"), testing::HasSubstr("[sim-deadlock]")));
    in_time =
        in_time || report.find(
                       "a wait for phase 0 of go[0] may come after phase 1 is complete, which has the "
                       "other parity: nothing lets arrive at t.roles:15:7 come after the wait") != std::string::npos;
  }
  EXPECT_TRUE(in_time) << "in some interleaving the wait meets its phase, and is reported all the same";
}

TEST(Mbarrier, AWaitMayNotMeetAnEarlierPhase) {
  const char* text = R"(roles early(T: out f32[64]) device h200:
  launch 1
  mbar go[1] count 1
  prologue:
    elect:
      mbar_init go
    sync_threads
  role a warps 1:
    elect:
      arrive go[0]
    wait go[0] parity 0
    barrier_sync 2 threads 64
    elect:
      arrive go[0]
    put T[lane] = 1.0
  role b warps 1:
    barrier_sync 2 threads 64
    wait go[0] parity 1
    put T[lane + 32] = 1.0
)";
  expect_clean(text);
  std::string late = without(text, "role b warps 1:\n    barrier_sync 2 threads 64\n    wait go[0] parity 1",
                             "role b warps 1:\n    wait go[0] parity 1\n    barrier_sync 2 threads 64");
  for (std::uint64_t i = 0; i < 4; ++i) {
    Options options;
    options.interleaving = i;
    EXPECT_THAT(simulated(late, {}, options).outcome.diagnostics.render(),
                testing::AnyOf(testing::HasSubstr("[sim-parity]"), testing::HasSubstr("[sim-deadlock]")));
  }
  std::string loose =
      without(text, "    wait go[0] parity 0\n    barrier_sync 2 threads 64", "    wait go[0] parity 0");
  loose = without(loose, "    barrier_sync 2 threads 64\n    wait go[0] parity 1", "    wait go[0] parity 1");
  bool found = false;
  for (std::uint64_t i = 0; i < 8; ++i) {
    Options options;
    options.interleaving = i;
    std::string report = simulated(loose, {}, options).outcome.diagnostics.render();
    EXPECT_THAT(report, testing::HasSubstr("[sim-parity]"));
    found = found || report.find("may as well meet phase -1") != std::string::npos;
  }
  EXPECT_TRUE(found);
}

TEST(Mbarrier, CountOfArrivals) {
  std::string few = without(kRing, "mbar empty[2] count 1", "mbar empty[2] count 2");
  expect_found(few, Rule::sim_deadlock, 15, "load waits for phase 0 of empty[0]: 1 of 2 arrivals are missing");
  std::string many = without(kRing, "arrive empty[i % 2]", "arrive empty[i % 2]\n        arrive empty[i % 2]");
  Outcome outcome = simulated(many).outcome;
  EXPECT_TRUE(outcome.diagnostics.has_errors());
  std::string lanes =
      without(kRing, "elect:\n        arrive empty[i % 2]", "if lane < 2:\n        arrive empty[i % 2]");
  EXPECT_TRUE(simulated(lanes).outcome.diagnostics.has_errors());
}

TEST(Mbarrier, TooManyArrivalsInAPhase) {
  const char* text = R"(roles many(T: out f32[32], A: in f32[64]) device h200:
  launch 1
  smem S: f32[64]
  mbar full[1] count 1
  prologue:
    elect:
      mbar_init full
      fence mbar_init
    sync_threads
  role a warps 1:
    elect:
      expect full[0] bytes 256
      arrive full[0]
      bulk_load S[0] <- A[0] bytes 256 on full[0]
    wait full[0] parity 0
    put T[lane] = S[lane]
)";
  expect_found(text, Rule::sim_arrivals, 13, "is arrival 2 of phase 0 of full[0], whose count is 1");
  expect_clean(without(text, "arrive full[0]"));
}

TEST(Mbarrier, ExpectedBytes) {
  expect_found(without(kRing, "expect full[i % 2] bytes 256", "expect full[i % 2] bytes 272"), Rule::sim_deadlock,
               {15, 20}, "and 16 bytes are missing");
  expect_found(without(kRing, "expect full[i % 2] bytes 256", "expect full[i % 2] bytes 240"), Rule::sim_bytes, 17,
               "brings 16 bytes more than phase 0 of full[");
  expect_found(without(kRing, "expect full[i % 2] bytes 256", "expect full[i % 2] bytes 2097152"), Rule::sim_bytes, 16,
               "it counts up to 1048575");
  std::string halves = without(kRing, "bulk_load S[i % 2, 0] <- A[i, 0] bytes 256 on full[i % 2]",
                               "bulk_load S[i % 2, 0] <- A[i, 0] bytes 128 on full[i % 2]\n"
                               "        bulk_load S[i % 2, 32] <- A[i, 32] bytes 128 on full[i % 2]");
  expect_clean(halves);
  std::string half = without(halves, "expect full[i % 2] bytes 256", "expect full[i % 2] bytes 128");
  for (std::uint64_t i = 0; i < 4; ++i) {
    Options options;
    options.interleaving = i;
    EXPECT_THAT(simulated(half, {}, options).outcome.diagnostics.render(), testing::HasSubstr("[sim-bytes]"));
  }
}

TEST(Mbarrier, CopiesMayComeBeforeTheirExpect) {
  std::string text = without(kRing, "expect full[i % 2] bytes 256", "x = i");
  text = without(text, "bulk_load S[i % 2, 0] <- A[i, 0] bytes 256 on full[i % 2]",
                 "bulk_load S[i % 2, 0] <- A[i, 0] bytes 256 on full[i % 2]\n        expect full[i % 2] bytes 256");
  expect_clean(text);
}

TEST(Mbarrier, PhasesAreWholeAtTheEnd) {
  const char* text = R"(roles open(T: out f32[32]) device h200:
  launch 1
  mbar b[1] count 2
  prologue:
    elect:
      mbar_init b
    sync_threads
  role a warps 1:
    elect:
      arrive b[0]
    put T[lane] = 1.0
)";
  expect_found(text, Rule::sim_phase_open, 10, "1 of 2 arrivals and 0 bytes are missing");
  expect_clean(without(text, "mbar b[1] count 2", "mbar b[1] count 1"));
}

TEST(Mbarrier, IndexStaysInside) {
  expect_found(without(kRing, "wait full[i % 2] parity i / 2", "wait full[i] parity 0"), Rule::sim_bounds, 20,
               "names full[2]; there are 2");
}

}  // namespace
}  // namespace plait::sim
