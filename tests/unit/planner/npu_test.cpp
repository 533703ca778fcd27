// What planners have to find on NPUs, and what they say of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/load.h"
#include "npu/separate.h"
#include "plan/modulo.h"
#include "planner/npu.h"
#include "planner/npu_loop.h"
#include "unit/plan/fixture.h"

namespace plait::planner {
namespace {

using plan::test::kernel_of;
using plan::test::library_text;
using testing::HasSubstr;

machine::Device ascend(const std::string& name = "ascend950") { return *machine::load_device(name); }

/// The same machine with another amount of one memory.
machine::Device with_bytes(machine::MemoryKind kind, std::int64_t bytes) {
  machine::Device device = ascend();
  for (machine::Memory& memory : device.memories) {
    if (memory.kind == kind) memory.capacity.value = static_cast<double>(bytes);
  }
  return device;
}

NpuPlanned planned_on(const machine::Device& device, const ir::Kernel& kernel, Kind kind, bool all = true) {
  Options options;
  options.kind = kind;
  options.all = all;
  auto made = plan_on_npu(kernel, device, options);
  if (!made) throw InternalError(made.diagnostics().render());
  return std::move(*made);
}

const plan::LoopPlan& loop_of(const NpuPlanned& planned, std::size_t nth = 0) {
  return planned.derived.made.schedule.loops.at(nth);
}

const lang::Bindings kTile = {{"dtype", "bf16"}, {"block_M", "256"}, {"block_N", "224"}, {"block_K", "128"}};
const lang::Bindings kAttention = {{"dtype", "bf16"}, {"D", "128"}, {"block_M", "128"}, {"block_N", "128"}};

/// The interval with which the first loop repeats where its buffers may have so many versions.
std::int64_t interval_with(const ir::Kernel& written, int versions) {
  const machine::Device device = ascend();
  const ir::Kernel kernel = *npu::separate(written);
  const auto graphs = graph::build(kernel);
  const NpuLoop loop = *npu_loop(graphs.at(0), kernel, device);
  MostVersions most;
  for (const ir::Buffer& buffer : graphs.at(0).written) most[buffer.get()] = versions;
  const plan::Problem problem = problem_of(loop, most);
  const plan::Timetable table = plan::plan_modulo(problem);
  EXPECT_TRUE(plan::certify(problem, table).empty());
  return table.ii;
}

TEST(NpuOracles, MatmulIsBoundByTheCube) {
  NpuPlanned p = planned_on(ascend(), kernel_of(library_text("matmul"), kTile), Kind::modulo);
  const PlannedLoop& loop = p.loops.at(0);
  EXPECT_EQ(loop.ii, 1792);
  EXPECT_EQ(loop.bounds.resource, 1792);
  EXPECT_EQ(loop.bounds.critical, "cube");
  EXPECT_TRUE(loop.optimal) << loop.why_not;
  EXPECT_EQ(loop_of(p).copies("A_s"), 2);
  EXPECT_EQ(loop_of(p).copies("B_s"), 2);
  EXPECT_EQ(loop_of(p).planner, "modulo");
  EXPECT_THAT(text(p), HasSubstr("II 1792 cycles\n  at least 1792 for cube"));
  EXPECT_THAT(text(p), HasSubstr("costs modelled: the cost functions of ascend950"));
}

/// A, B behind it on the same unit, and the product behind both: 656 + (190 + 574) + (8 + 1792).
TEST(NpuOracles, OneBufferHoldsTheLoadsBack) {
  EXPECT_EQ(interval_with(kernel_of(library_text("matmul"), kTile), 1), 3220);
  EXPECT_EQ(interval_with(kernel_of(library_text("matmul"), kTile), 2), 1792);
}

/// A 64 KiB and B 56 KiB, of each two or one.
TEST(NpuOracles, VersionsThatDoNotFitAreTakenAway) {
  const auto room = [](std::int64_t kib) { return with_bytes(machine::MemoryKind::l1, kib << 10); };
  NpuPlanned both = planned_on(room(240), kernel_of(library_text("matmul"), kTile), Kind::modulo);
  EXPECT_EQ(both.loops.at(0).ii, 1792);
  NpuPlanned one = planned_on(room(180), kernel_of(library_text("matmul"), kTile), Kind::modulo);
  EXPECT_EQ(loop_of(one).copies("A_s"), 1);
  EXPECT_EQ(loop_of(one).copies("B_s"), 2);
  EXPECT_EQ(one.loops.at(0).bounds.resource, 1792);
  EXPECT_FALSE(one.loops.at(0).optimal);
  EXPECT_THAT(text(one), HasSubstr("memories hold no more than A_s x1"));
  NpuPlanned none = planned_on(room(120), kernel_of(library_text("matmul"), kTile), Kind::modulo);
  EXPECT_EQ(none.loops.at(0).ii, 3220);
  EXPECT_THAT(text(none), HasSubstr("memories hold no more than A_s x1, B_s x1"));
  EXPECT_LT(one.loops.at(0).ii, none.loops.at(0).ii);
}

TEST(NpuOracles, Attention) {
  NpuPlanned p = planned_on(ascend(), kernel_of(library_text("attention"), kAttention), Kind::modulo);
  const PlannedLoop& loop = p.loops.at(0);
  EXPECT_LE(loop.ii, loop.bounds.least(1) * 11 / 10);
  EXPECT_GE(loop.ii, loop.bounds.least(1));
}

TEST(NpuPlanner, TheSameInputGivesTheSamePlan) {
  const ir::Kernel kernel = kernel_of(library_text("attention"), kAttention);
  for (Kind kind : {Kind::greedy, Kind::modulo, Kind::automatic}) {
    EXPECT_EQ(print(planned_on(ascend(), kernel, kind).derived.made.schedule),
              print(planned_on(ascend(), kernel, kind).derived.made.schedule));
  }
}

TEST(NpuPlanner, WhatTheAuthorWroteStays) {
  NpuPlanned p = planned_on(ascend(), kernel_of(library_text("matmul"), kTile), Kind::modulo, false);
  EXPECT_TRUE(p.loops.empty());
  EXPECT_EQ(loop_of(p).planner, "rules");
  EXPECT_EQ(text(p), "");
  NpuPlanned rules = planned_on(ascend(), kernel_of(library_text("attention"), kAttention), Kind::rules, false);
  EXPECT_EQ(loop_of(rules).stages(), 1);
  EXPECT_TRUE(rules.loops.empty());
}

TEST(NpuPlanner, TellsWhatItLookedAt) {
  NpuPlanned p = planned_on(ascend(), kernel_of(library_text("matmul"), kTile), Kind::automatic);
  ASSERT_EQ(p.candidates.size(), 6U);
  EXPECT_EQ(p.candidates.front().what, "modulo");
  EXPECT_THAT(text(p), HasSubstr("cube's part of the time of one AI core"));
  EXPECT_THAT(text(p), HasSubstr("rules, stages=2"));
  for (const Candidate& c : p.candidates) EXPECT_LE(*c.predicted, 1.0) << c.what;
}

/// Both repeat with 256 cycles; a core that waits for dS before it copies the scores holds up all that stands behind.
TEST(NpuPlanner, ModuloKeepsWhatItStartsFromWhereThatIsFaster) {
  const lang::Bindings tile = {{"dtype", "bf16"}, {"D", "64"}, {"block_M", "64"}, {"block_N", "64"}};
  const ir::Kernel kernel = kernel_of(library_text("attention_bwd_dq"), tile);
  NpuPlanned modulo = planned_on(ascend(), kernel, Kind::modulo), greedy = planned_on(ascend(), kernel, Kind::greedy);
  EXPECT_EQ(modulo.loops.at(0).ii, greedy.loops.at(0).ii);
  EXPECT_GE(1.01 * *modulo.candidates.front().predicted, *greedy.candidates.front().predicted);
}

/// What the author measured overrules the model.
TEST(NpuPlanner, TasksWithCostsOfTheirOwn) {
  std::string text = library_text("matmul_nt");
  const std::size_t at = text.find("    gemm(");
  const std::size_t end = text.find('\n', at) + 1;
  text.replace(at, end - at, "    task(latency=9000, ii=9000):\n  " + text.substr(at, end - at));
  NpuPlanned p = planned_on(ascend(), kernel_of(text, kTile), Kind::modulo);
  EXPECT_EQ(p.loops.at(0).ii, 9000);
  EXPECT_THAT(p.loops.at(0).costs, HasSubstr("author"));
}

/// The tile of both loops of softmax is one buffer: it has as many versions in the one as in the other.
TEST(NpuPlanner, LoopsShareABuffer) {
  NpuPlanned p = planned_on(ascend(), kernel_of(library_text("softmax"), {{"block_N", "256"}}), Kind::modulo);
  ASSERT_EQ(p.loops.size(), 2U) << text(p);
  EXPECT_GT(loop_of(p).copies("x"), 1);
  EXPECT_EQ(loop_of(p).copies("x"), loop_of(p, 1).copies("x"));
}

/// Nothing is planned around what has no placement; the reason is said.
TEST(NpuPlanner, WhatNothingCarriesOutStaysAsItIs) {
  NpuPlanned p = planned_on(ascend(), kernel_of(R"(
kernel rows(A: in f32[N, 64], counts: in i32[N], out: out f32[N, 64]):
  grid g = 1
  tile = shared f32[1, 64]
  start = shared i32[1]
  for n in pipelined(N):
    copy(counts[n], start)
    from = start[0]
    copy(A[n, 0], tile)
    for i in parallel(64):
      out[n, i] = tile[0, i] + f32(from)
)"),
                            Kind::modulo);
  EXPECT_TRUE(p.loops.empty());
  ASSERT_FALSE(p.derived.made.remarks.empty());
  EXPECT_THAT(p.derived.made.remarks.back().text, HasSubstr("not planned: nothing carries out `modulo`: a let that"));
}

class NpuIntervals : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

/// The least interval is no longer than the one of the list scheduler, and no shorter than the bounds.
TEST_P(NpuIntervals, OfModuloAreAtMostThoseOfGreedy) {
  const auto [name, device] = GetParam();
  lang::Bindings bindings = {{"dtype", "bf16"}};
  ir::Kernel kernel = kernel_of(library_text(name), bindings);
  NpuPlanned modulo = planned_on(ascend(device), kernel, Kind::modulo),
             greedy = planned_on(ascend(device), kernel, Kind::greedy);
  // What stands outside of loops is told of where a planner gains by another order.
  for (NpuPlanned* p : {&modulo, &greedy})
    std::erase_if(p->loops, [](const PlannedLoop& loop) { return loop.in_program_order.has_value(); });
  ASSERT_FALSE(modulo.loops.empty()) << text(modulo);
  ASSERT_EQ(modulo.loops.size(), greedy.loops.size());
  for (std::size_t i = 0; i < modulo.loops.size(); ++i) {
    EXPECT_LE(modulo.loops[i].ii, greedy.loops[i].ii);
    EXPECT_GE(modulo.loops[i].ii, modulo.loops[i].bounds.least(1));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, NpuIntervals,
    testing::Combine(testing::Values("attention", "attention_bwd_dkdv", "attention_bwd_dq", "batched_matmul", "conv2d",
                                     "gemv", "layernorm", "matmul", "matmul_bias_act", "matmul_nt", "matmul_tn",
                                     "rmsnorm", "softmax"),
                     testing::Values("ascend950", "ascend910b")),
    [](const auto& at) { return fmt::format("{}_{}", std::get<0>(at.param), std::get<1>(at.param)); });

/// What the vector cores store of their own goes beside the product of the cube.
TEST(NpuPlanner, StatementsOutsideOfLoops) {
  const ir::Kernel kernel = plan::test::kernel_of(R"(
kernel straight(A: in bf16[M, 128], B: in bf16[N, 128], X: in bf16[M, 128], Y: out f32[M, 128], Z: out f32[M, 128]):
  grid bm = ceildiv(M, 128)
  A_s = shared bf16[128, 128]
  B_s = shared bf16[128, 128]
  X_s = shared bf16[128, 128]
  S = fragment f32[128, 128]
  x = fragment f32[128, 128]
  copy(X[bm * 128, 0], X_s)
  copy(X_s, x)
  for i, j in parallel(128, 128):
    x[i, j] = exp2(x[i, j]) * 2.0 + 1.0
  copy(A[bm * 128, 0], A_s)
  copy(B[0, 0], B_s)
  gemm(A_s, B_s, S, trans_B=true, clear_accum=true)
  for i, j in parallel(128, 128):
    S[i, j] = S[i, j] * 0.5
  copy(x, Y[bm * 128, 0])
  copy(S, Z[bm * 128, 0])
)");
  for (const char* device : {"ascend950", "ascend910b"}) {
    Options options;
    options.kind = Kind::modulo;
    auto made = plan_on_npu(kernel, *machine::load_device(device), options);
    ASSERT_TRUE(made.ok()) << made.diagnostics().render();
    ASSERT_EQ(made->loops.size(), 1U) << text(*made);
    EXPECT_LT(made->loops[0].ii, *made->loops[0].in_program_order);
    EXPECT_EQ(made->derived.made.schedule.regions.size(), 1U);
    EXPECT_NE(text(*made).find("in the order of the program"), std::string::npos) << text(*made);
  }
}

}  // namespace
}  // namespace plait::planner
