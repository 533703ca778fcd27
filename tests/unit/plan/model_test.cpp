#include "plan/model.h"

#include <gtest/gtest.h>

#include "machine/load.h"

namespace plait::plan {
namespace {

constexpr PipelineCosts kExample = {8, 1, 30, 20};

TEST(Model, PipelineEventByEvent) {
  const std::int64_t makespans[] = {400, 220, 190, 190};
  for (std::int64_t depth = 1; depth <= 4; ++depth)
    EXPECT_EQ(run_pipeline(kExample, depth).makespan, makespans[depth - 1]);
  EXPECT_EQ(run_pipeline({16, 1, 30, 20}, 1).makespan, 800);
  EXPECT_EQ(run_pipeline({16, 1, 30, 20}, 3).makespan, 350);
  PipelineRun two = run_pipeline(kExample, 2);
  EXPECT_NEAR(two.speedup, 400.0 / 220, 1e-12);
  EXPECT_NEAR(two.utilisation, 160.0 / 190, 1e-12);
  EXPECT_NEAR(*two.issue_interval, 170.0 / 7, 1e-12);
  EXPECT_NEAR(*run_pipeline(kExample, 3).issue_interval, 130.0 / 7, 1e-12);
  EXPECT_NEAR(*run_pipeline(kExample, 3).compute_interval, 20, 1e-12);
}

/// A simulation that knows nothing of slots by number: it keeps the list of outstanding buffers.
std::int64_t slow_makespan(const PipelineCosts& c, std::int64_t depth) {
  std::vector<std::int64_t> ends;
  std::int64_t issue = 0, end = 0;
  for (std::int64_t i = 0; i < c.iterations; ++i) {
    if (i > 0) issue += c.issue;
    if (i >= depth) issue = std::max(issue, ends[static_cast<std::size_t>(i - depth)]);
    end = std::max(issue + c.latency, end) + c.compute;
    ends.push_back(end);
  }
  return end;
}

TEST(Model, AgreesWithPlainSimulationAndWithTheSteadyState) {
  for (std::int64_t issue : {1, 7, 40}) {
    for (std::int64_t latency : {0, 1, 30, 100}) {
      for (std::int64_t compute : {1, 20, 50}) {
        PipelineCosts costs = {50, issue, latency, compute};
        for (std::int64_t depth = 1; depth <= 9; ++depth) {
          EXPECT_EQ(run_pipeline(costs, depth).makespan, slow_makespan(costs, depth));
          EXPECT_LE(run_pipeline(costs, depth).utilisation, 1.0);
          EXPECT_NEAR(run_pipeline(costs, 1).speedup, 1, 1e-12);
        }
        // From the sufficient depth on, more is worth nothing; below it, something.
        std::int64_t enough = sufficient_depth(costs);
        EXPECT_EQ(steady_interval(costs, enough), static_cast<double>(std::max(compute, issue)));
        if (enough > 1) {
          EXPECT_GT(steady_interval(costs, enough - 1), static_cast<double>(std::max(compute, issue)));
        }
      }
    }
  }
}

TEST(Model, Budget) {
  EXPECT_EQ(stage_bytes({256, 64}, {64, 256}, ir::DType::f16), 64 * 1024);
  EXPECT_EQ(stage_bytes({128, 32}, {32, 128}, ir::DType::f16), 16 * 1024);
  EXPECT_EQ(stage_bytes({3, 1}, {1, 1}, ir::DType::i4), 3);
}

TEST(Model, Space) {
  Space space{4096,         4096,         4096,       {64, 128, 256}, {64, 128, 256},
              {16, 32, 64}, {1, 2, 3, 4}, {128, 256}, ir::DType::f16, 228 * 1024};
  auto rates = matmul_rates(*machine::load_device("h200"), ir::DType::f16);
  ASSERT_TRUE(rates);
  SpaceReport found = explore(space, *rates);
  EXPECT_EQ(found.requested, 216);
  EXPECT_EQ(found.legal, 214);
  EXPECT_EQ(found.over_memory, 2);
  EXPECT_EQ(found.indivisible, 0);
  // The number of threads does not enter the model, so that every value occurs at least twice.
  EXPECT_LE(found.distinct, 107);
  EXPECT_EQ(found.verdict, Verdict::ties);
  space.m = 4095;
  EXPECT_EQ(explore(space, *rates).verdict, Verdict::infeasible);
  EXPECT_EQ(explore(space, *rates).indivisible, 216);
  EXPECT_FALSE(matmul_rates(*machine::load_device("host"), ir::DType::f16));
}

}  // namespace
}  // namespace plait::plan
