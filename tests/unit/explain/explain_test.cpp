#include "explain/recurrence.h"
#include "fixture.h"
#include "sim/trial.h"

namespace plait::explain {
namespace {

using sim::Unit;

const Task& task(const Loop& loop, const std::string& kind) {
  auto is = [&](const Task& t) { return t.name.starts_with(kind + "@"); };
  return *std::find_if(loop.tasks.begin(), loop.tasks.end(), is);
}

TEST(Explain, CountsTheCyclesOfAProduct) {
  test::Subject s = test::subject("matmul_nt", {{"dtype", "bf16"}, {"block_N", "256"}});
  Explanation e = test::explained(s);
  ASSERT_EQ(e.loops.size(), 1U);
  const Loop& loop = e.loops[0];
  ASSERT_EQ(loop.tasks.size(), 3U);
  // 128 x 256 x 64 multiply-adds at 2048 a cycle; each of two warpgroups reads 64 rows of A and all 256 of B.
  EXPECT_DOUBLE_EQ(task(loop, "gemm").busy.of(Unit::tensor), 1024);
  EXPECT_NEAR(task(loop, "gemm").busy.of(Unit::smem), 2 * (64 + 256) * 128 / 128.23, 0.01);
  EXPECT_EQ(task(loop, "gemm").roles, std::vector<std::string>{"math"});
  EXPECT_EQ(task(loop, "copy").copies, "A_s x3");
  EXPECT_EQ(task(loop, "copy").busy.bytes, 128 * 64 * 2);
  EXPECT_NEAR(loop.busy.of(Unit::tma), (128 + 256) * 128 / 102.35, 0.01);
  EXPECT_EQ(loop.critical, Unit::tensor);
  EXPECT_EQ(loop.resource_ii, 1024);
  EXPECT_EQ(loop.recurrence_ii, 512);  // a warpgroup's accumulator
  ASSERT_EQ(loop.rings.size(), 1U);
  EXPECT_EQ(loop.rings[0].depth, 3);
  EXPECT_EQ(loop.rings[0].slot_bytes, (128 + 256) * 128);
}

TEST(Explain, CyclesOfALoopAreThoseOfTheSimulation) {
  test::Subject s = test::subject("matmul_nt", {{"dtype", "bf16"}, {"block_N", "256"}});
  Explanation e = test::explained(s);
  constexpr std::int64_t kIterations = 16;
  auto call = sim::BlankCall::make(s.derived.program, {{"M", 128}, {"N", 256}, {"K", 64 * kIterations}}, {});
  ASSERT_TRUE(call);
  auto launch = sim::make_launch(s.derived.program, call->args(), 1);
  ASSERT_TRUE(launch);
  sim::Options options;
  options.costs = sim::costs_of(s.device);
  options.checks = false;
  double tensor = 0, tma = 0;
  options.trace = [&](const sim::TraceEvent& event) {
    if (event.kind != sim::TraceEvent::Kind::unit) return true;
    auto cycles = static_cast<double>(event.end - event.begin);
    tensor += event.unit == Unit::tensor ? cycles : 0;
    tma += event.unit == Unit::tma && event.word == "tma_load" ? cycles : 0;
    return true;
  };
  std::int64_t copies = 0;
  sim::Options untraced = options;
  untraced.trace = {};
  sim::Outcome run = sim::simulate(s.derived.program, *launch, options);
  EXPECT_EQ(run.cycles, sim::simulate(s.derived.program, *launch, untraced).cycles);
  options.trace = [&](const sim::TraceEvent& event) {
    copies += event.kind == sim::TraceEvent::Kind::copy ? 1 : 0;
    return copies < 4;  // false ends it
  };
  EXPECT_LT(sim::simulate(s.derived.program, *launch, options).cycles, run.cycles);
  EXPECT_EQ(copies, 4);
  ASSERT_FALSE(run.diagnostics.has_errors()) << run.diagnostics.render();
  EXPECT_DOUBLE_EQ(tensor, e.loops[0].busy.of(Unit::tensor) * kIterations);
  EXPECT_NEAR(tma, e.loops[0].busy.of(Unit::tma) * kIterations, 0.01 * tma);
}

TEST(Explain, MemoryAndRegistersAreThoseOfTheProgram) {
  test::Subject s = test::subject("matmul_nt", {{"dtype", "bf16"}, {"block_N", "256"}});
  Explanation e = test::explained(s);
  EXPECT_EQ(e.smem_limit, 232448);
  std::int64_t tiles = 0;
  for (const Tile& tile : e.tiles) tiles += tile.bytes;
  EXPECT_EQ(tiles + e.barrier_bytes, e.smem_bytes);
  ASSERT_EQ(e.roles.size(), 2U);
  EXPECT_EQ(e.roles[1].name, "math");
  EXPECT_EQ(e.roles[1].fragments, 64 * 256 / 128);
  EXPECT_LE(e.roles[1].fragments + e.roles[1].other, e.roles[1].budget);
}

/// a -> b in the iteration, b -> a in the next one, c apart.
graph::TaskGraph ring_of_two() {
  graph::TaskGraph graph;
  graph.nodes.resize(3);
  auto flow = [&](std::size_t from, std::size_t to, std::int64_t distance) {
    graph.edges.push_back({analysis::DependenceKind::flow, from, to, nullptr, nullptr, distance, true});
  };
  flow(0, 1, 0);
  flow(1, 0, 1);
  flow(0, 2, 0);
  return graph;
}

TEST(Recurrence, IsTheLongestCycleOverItsDistance) {
  graph::TaskGraph graph = ring_of_two();
  Recurrence found = recurrence_bound(graph, {30, 12, 500});
  EXPECT_EQ(found.ii, 42);
  EXPECT_EQ(found.cycle, (std::vector<std::size_t>{0, 1}));
  graph.edges[1].distance = 2;
  EXPECT_EQ(recurrence_bound(graph, {30, 12, 500}).ii, 21);
  graph.edges.erase(graph.edges.begin() + 1);
  EXPECT_EQ(recurrence_bound(graph, {30, 12, 500}).ii, 0);
}

}  // namespace
}  // namespace plait::explain
