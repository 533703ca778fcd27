// Channels and tasks, which run on any machine.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "helpers.h"
#include "roles/lower_channels.h"
#include "sim/mutate.h"

namespace plait::sim {
namespace {

std::string program_text(const std::string& name) {
  std::ifstream in(std::string(PLAIT_SOURCE_DIR) + "/tests/roles/" + name);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

TEST(SimChannels, MatmulIsTheOneWithMbarriers) {
  const Dims dims = {{"M", 128}, {"N", 256}, {"K", 192}};
  Trial with = simulated(program_text("matmul_channels.roles"), dims);
  Trial plain = simulated(program_text("matmul_coop.roles"), dims);
  EXPECT_EQ(with.outcome.diagnostics.render(), "");
  EXPECT_EQ(first_difference(with, plain), -1);
  EXPECT_EQ(with.outcome.cycles, plain.outcome.cycles);
}

/// A copy by TMA, a change by threads, a product's operand by threads, a store: every kind of end.
const std::string kHands = R"(roles hands(X: in f32[N, 64], Y: out f32[N, 64], W: in bf16[64, 64]) device h200:
  blocks_n = ceildiv(i32(N), 64)
  launch 1
  map X_map = X box [64, 32] swizzle 128
  map W_map = W box [64, 64] swizzle 128
  smem X_s: f32[2, 64, 64] swizzle 128
  smem A_s: bf16[2, 64, 64] swizzle 128
  smem W_s: bf16[1, 64, 64] swizzle 128
  channel raw depth 2 of X_s
  channel operand depth 2 of A_s
  channel weight depth 1 of W_s
  role load warps 4:
    elect:
      acquire weight[0]
      tma_load W_s[0, 0, 0] <- W_map[0, 0] on weight[0]
      publish weight[0]
    for k in range(blocks_n):
      acquire raw[k]
      elect:
        for p in unrolled(2):
          tma_load X_s[k % 2, 0, 32 * p] <- X_map[k * 64, 32 * p] on raw[k]
      publish raw[k]
  role convert warps 4:
    fragment x: f32[64, 64] vector vec 4 lanes 16
    fragment h: bf16[64, 64] vector vec 4 lanes 16
    for k in range(blocks_n):
      receive raw[k]
      load x <- X_s[k % 2, 0, 0]
      release raw[k]
      each r, c in h:
        h[r, c] = bf16(x[r, c])
      acquire operand[k]
      store A_s[k % 2, 0, 0] <- h
      publish operand[k]
  role math warps 4:
    fragment acc: f32[64, 64] wgmma_acc
    receive weight[0]
    for k in range(blocks_n):
      receive operand[k]
      fence wgmma
      for kk in unrolled(4):
        wgmma acc[0, 0] <- A_s[k % 2, 0, 16 * kk], W_s[0, 0, 16 * kk]^T clear kk == 0
      wgmma_commit
      wgmma_await 0
      release operand[k]
      store Y[k * 64, 0] <- acc
    release weight[0]
)";

TEST(SimChannels, EveryKindOfEndIsOrdered) {
  for (std::int64_t n : {64, 300, 448}) expect_clean(kHands, {{"N", n}});
}

/// What the lowering inserts is needed: without it something is found.
TEST(SimChannels, NothingInsertedIsMissedWhenItIsGone) {
  roles::Program program = parsed(kHands);
  auto call = draw_call(program, {{"N", 300}});
  ASSERT_TRUE(call.ok());
  MutationOptions options;
  options.sms = {1};
  options.interleavings = 1;
  std::vector<Call> calls;
  calls.push_back(std::move(*call));
  auto report = test_mutants(program, calls, options);
  ASSERT_TRUE(report.ok()) << report.diagnostics().render();
  EXPECT_EQ(report->count(Verdict::missed), 0);
  EXPECT_GT(report->count(Verdict::caught), 25);
}

TEST(SimChannels, EndsThatGoThroughDifferentItems) {
  std::string more = replaced(kHands, "    for k in range(blocks_n):\n      receive operand[k]",
                              "    for k in range(blocks_n + 1):\n      receive operand[k]");
  expect_caught(more, {Rule::sim_deadlock}, {{"N", 128}});
}

// ---- Tasks ---------------------------------------------------------------------------------------------------------

/// A load of 30000 and a computation of 20000 cycles, eight times, through a ring. Everything else takes next to
/// nothing.
std::string pipeline(int depth, const std::string& device) {
  return fmt::format(R"(roles pipeline(X: in f32[N, 64], Y: out f32[N, 64]) device {1}:
  launch 1
  smem S: f32[{0}, 4, 64]
  channel ring depth {0} of S
  role fetch warps 1:
    for n in range(i32(N) / 4):
      acquire ring[n]
      issue load "fetch" latency 30000 ii 10:
        fragment x: f32[4, 64] vector vec 2 lanes 32
        load x <- X[n * 4, 0]
        store S[n % {0}, 0, 0] <- x
      publish ring[n]
  role compute warps 1:
    fragment y: f32[4, 64] vector vec 2 lanes 32
    for n in range(i32(N) / 4):
      receive ring[n]
      issue vector "double" latency 20000 reads S[n % {0}, 0, 0]:
        load y <- S[n % {0}, 0, 0]
        each r, c in y:
          y[r, c] = y[r, c] * 2.0
      release ring[n]
      issue store "write" latency 10:
        store Y[n * 4, 0] <- y
)",
                     depth, device);
}

/// Per iteration the longest of computation and (latency + computation) / depth, and the first latency before.
TEST(SimTasks, DepthOfTheRingHidesTheLatency) {
  const std::int64_t expected[] = {400000, 220000, 190000, 190000};
  for (int depth = 1; depth <= 4; ++depth) {
    Trial trial = simulated(pipeline(depth, "host"), {{"N", 32}});
    EXPECT_EQ(trial.outcome.diagnostics.render(), "");
    auto cycles = static_cast<double>(trial.outcome.cycles - Costs().block_start);
    EXPECT_NEAR(cycles, static_cast<double>(expected[depth - 1]), 0.01 * 190000) << "depth " << depth;
    std::vector<double> x = elements(trial, 0), y = elements(trial, 1);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 2 * x[i]) << i;
  }
}

TEST(SimTasks, AnyInterleavingGivesTheSame) {
  for (int depth : {1, 3}) expect_clean(pipeline(depth, "h200"), {{"N", 32}});
}

TEST(SimTasks, UnitsAreBusy) {
  Trial trial = simulated(pipeline(3, "host"), {{"N", 32}});
  std::map<std::string, std::int64_t> busy;
  for (const UnitUse& unit : trial.outcome.units) busy[unit.name] = unit.busy;
  EXPECT_EQ(busy["load"], 80);
  EXPECT_EQ(busy["vector"], 160000);
  EXPECT_EQ(busy["store"], 80);
  EXPECT_EQ(busy["cuda"], 0);
}

std::int64_t cycles_of(const std::string& body) {
  Trial trial = simulated(
      "roles t(X: in f32[4, 64], Y: out f32[4, 64]) device host:\n  launch 1\n  smem S: f32[4, 64]\n"
      "  role all warps 1:\n    fragment x: f32[4, 64] vector vec 2 lanes 32\n"
      "    fragment y: f32[4, 64] vector vec 2 lanes 32\n" +
      body + "    load y <- X[0, 0]\n    store Y[0, 0] <- y\n");
  EXPECT_EQ(trial.outcome.diagnostics.render(), "");
  return trial.outcome.cycles - Costs().block_start;
}

/// Tasks of a replica run side by side unless they or the statements behind them need each other's data.
TEST(SimTasks, DataAreWaitedFor) {
  const std::string a = "    issue load \"a\" latency 5000 ii 10 writes x[0, 0]:\n      pass\n";
  const std::string b = "    issue vector \"b\" latency 5000 writes y[0, 0]:\n      pass\n";
  const std::string c = "    issue vector \"c\" latency 5000 reads x[0, 0]:\n      pass\n";
  const std::string again = "    issue load \"a\" latency 5000 writes x[0, 0]:\n      pass\n";
  auto about = [](std::int64_t cycles) { return testing::AllOf(testing::Ge(cycles), testing::Le(cycles + 1000)); };
  EXPECT_LE(cycles_of(""), 1000);
  EXPECT_THAT(cycles_of(a), about(5000));      // the end of the role waits
  EXPECT_THAT(cycles_of(a + b), about(5000));  // other data, another unit
  EXPECT_THAT(cycles_of(a + c), about(10000));
  EXPECT_THAT(cycles_of(a + again), about(10000));
  EXPECT_THAT(cycles_of(b + c), about(10000));  // the same unit
  EXPECT_THAT(cycles_of(a + "    each r, c in x:\n      x[r, c] = 1.0\n" + b), about(10000));
}

/// Products that add to one accumulator follow each other as the unit is free; whoever else needs it waits for the
/// last.
TEST(SimTasks, ACubeAddsToWhatItHasUnderWay) {
  auto adds = [](const std::string& unit) {
    return "    issue " + unit + " \"add\" latency 5000 ii 10 reads x[0, 0] writes x[0, 0]:\n      pass\n";
  };
  const std::string use = "    issue vector \"use\" latency 5000 reads x[0, 0]:\n      pass\n";
  auto about = [](std::int64_t cycles) { return testing::AllOf(testing::Ge(cycles), testing::Le(cycles + 1000)); };
  EXPECT_THAT(cycles_of(adds("vector") + adds("vector")), about(10000));
  EXPECT_THAT(cycles_of(adds("cube") + adds("cube")), about(5010));
  EXPECT_THAT(cycles_of(adds("cube") + adds("cube") + use), about(10010));
  EXPECT_THAT(cycles_of(adds("vector") + adds("cube")), about(10000));
}

/// Without a latency a task takes as long as its statements.
TEST(SimTasks, AsLongAsItsStatements) {
  std::int64_t plain = cycles_of("    for i in range(50):\n      each r, c in y:\n        y[r, c] = 1.0\n");
  std::int64_t task = cycles_of(
      "    issue vector \"y\":\n      for i in range(50):\n        each r, c in y:\n          y[r, c] = 1.0\n");
  EXPECT_NEAR(static_cast<double>(task), static_cast<double>(plain), 0.1 * static_cast<double>(plain));
}

}  // namespace
}  // namespace plait::sim
