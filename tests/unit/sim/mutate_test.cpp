#include "sim/mutate.h"

#include <gmock/gmock.h>

#include "helpers.h"

namespace plait::sim {
namespace {

std::vector<Call> calls_of(const roles::Program& program, const std::vector<Dims>& sizes) {
  std::vector<Call> calls;
  for (const Dims& dims : sizes) {
    auto call = draw_call(program, dims);
    EXPECT_TRUE(call.ok()) << call.diagnostics().render();
    calls.push_back(std::move(*call));
  }
  return calls;
}

MutationReport tested(const std::string& text, const std::vector<Dims>& sizes = {{}}) {
  roles::Program program = parsed(text);
  std::vector<Call> calls = calls_of(program, sizes);
  auto report = test_mutants(program, calls, {});
  EXPECT_TRUE(report.ok()) << report.diagnostics().render();
  return report.ok() ? *report : MutationReport();
}

std::vector<std::string> names(const MutationReport& report, Verdict verdict) {
  std::vector<std::string> list;
  for (const MutantResult& result : report.results) {
    if (result.verdict == verdict) list.push_back(result.what);
  }
  return list;
}

const char* const kRing = R"(roles ring(A: in f32[N, 64], T: out f32[N, 64]) device h200:
  launch 1
  smem S: f32[2, 64]
  mbar full[2] count 1
  mbar empty[2] count 2
  prologue:
    elect:
      mbar_init full
      mbar_init empty
      fence mbar_init
    sync_threads
  role load warps 1:
    elect:
      for i in range(i32(N)):
        wait empty[i % 2] parity i / 2 + 1
        expect full[i % 2] bytes 256
        bulk_load S[i % 2, 0] <- A[i, 0] bytes 256 on full[i % 2]
  role work warps 2:
    for i in range(i32(N)):
      wait full[i % 2] parity i / 2
      put T[i, thread] = S[i % 2, thread]
      fence proxy_async
      sync_warp
      if lane == 0:
        arrive empty[i % 2]
)";

TEST(Mutate, EverySynchronisationHasItsMutants) {
  std::vector<Mutant> list = mutants(parsed(kRing));
  std::vector<std::string> what;
  for (const Mutant& mutant : list) what.push_back(mutant.what);
  EXPECT_THAT(what,
              testing::ElementsAre(
                  "mbar_init full: removed", "mbar_init empty: removed", "fence mbar_init: removed",
                  "sync_threads: removed", "wait empty[i % 2] parity i / 2 + 1: removed",
                  "wait empty[i % 2] parity i / 2 + 1: wait empty[i % 2] parity i / 2 + 1 + 1",
                  "expect full[i % 2] bytes 256: removed", "expect full[i % 2] bytes 256: expect full[i % 2] bytes 272",
                  "expect full[i % 2] bytes 256: expect full[i % 2] bytes 240",
                  "expect full[i % 2] bytes 256: arrive full[i % 2]", "wait full[i % 2] parity i / 2: removed",
                  "wait full[i % 2] parity i / 2: wait full[i % 2] parity i / 2 + 1", "fence proxy_async: removed",
                  "sync_warp: removed", "arrive empty[i % 2]: removed", "mbar full[2] count 1: count 2",
                  "mbar empty[2] count 2: count 3", "mbar empty[2] count 2: count 1"));
  EXPECT_EQ(list[4].loc.line, 15);
}

TEST(Mutate, AllOfARingAreCaught) {
  MutationReport report = tested(kRing, {{{"N", 5}}});
  EXPECT_EQ(report.count(Verdict::caught), static_cast<int>(report.results.size()))
      << testing::PrintToString(names(report, Verdict::redundant));
}

TEST(Mutate, WhatIsRedundantIsSaid) {
  std::string text = kRing;
  text = without(text, "sync_warp", "sync_warp\n      sync_warp");
  MutationReport report = tested(text, {{{"N", 5}}});
  EXPECT_THAT(names(report, Verdict::redundant), testing::ElementsAre("sync_warp: removed", "sync_warp: removed"));
  EXPECT_EQ(report.count(Verdict::missed), 0);
}

TEST(Mutate, SmallCallsDoNotReachAll) {
  MutationReport none = tested(replaced(kRing, "T: out", "T: inout"), {{{"N", 0}}});
  EXPECT_THAT(names(none, Verdict::unreached), testing::Contains("fence proxy_async: removed"));
  EXPECT_THAT(names(none, Verdict::unreached), testing::Not(testing::Contains("sync_threads: removed")));
  // With one slot used once nothing is ever overwritten.
  MutationReport one = tested(kRing, {{{"N", 1}}});
  EXPECT_THAT(names(one, Verdict::redundant), testing::Contains("fence proxy_async: removed"));
  MutationReport both = tested(kRing, {{{"N", 1}}, {{"N", 5}}});
  EXPECT_EQ(both.count(Verdict::caught), static_cast<int>(both.results.size()));
}

TEST(Mutate, GroupsAndAwaits) {
  const char* text = R"(roles store(T: out f32[3, 64]) device h200:
  launch 1
  smem S: f32[64]
  role work warps 2:
    for i in range(3):
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
  MutationReport report = tested(text);
  EXPECT_THAT(names(report, Verdict::redundant), testing::ElementsAre("bulk_wait 0: bulk_wait read 0"));
  EXPECT_THAT(names(report, Verdict::caught),
              testing::IsSupersetOf({"bulk_wait read 0: removed", "bulk_wait read 0: bulk_wait read 1",
                                     "barrier_sync 1 threads 64: barrier_arrive 1 threads 64", "bulk_commit: removed",
                                     "bulk_wait 0: removed", "bulk_wait 0: bulk_wait 1"}));
}

TEST(Mutate, OtherBytesWithoutAReportAreMissed) {
  // What the clock says depends on what is waited for, and no rule forbids that.
  const char* text = R"(roles timer(T: out u32[32]) device h200:
  launch 1
  role work warps 1:
    sync_threads
    x = clock()
    put T[lane] = x
)";
  MutationReport report = tested(text);
  EXPECT_THAT(names(report, Verdict::missed), testing::ElementsAre("sync_threads: removed"));
}

TEST(Mutate, TheProgramItselfMustBeRight) {
  roles::Program program = parsed(without(kRing, "fence proxy_async"));
  std::vector<Call> calls = calls_of(program, {{{"N", 5}}});
  auto report = test_mutants(program, calls, {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.diagnostics().list()[0].rule, Rule::sim_proxy);
}

}  // namespace
}  // namespace plait::sim
