// What planners have to find, and what they say of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/load.h"
#include "planner/planner.h"
#include "unit/plan/fixture.h"

namespace plait::planner {
namespace {

using plan::test::kernel_of;
using plan::test::library_text;
using testing::HasSubstr;
using testing::Not;

Planned planned(const ir::Kernel& kernel, Kind kind, const std::string& device = "h200", bool all = false) {
  Options options;
  options.kind = kind;
  options.all = all;
  auto made = plan(kernel, *machine::load_device(device), options);
  if (!made) throw InternalError(made.diagnostics().render());
  return std::move(*made);
}

const plan::LoopPlan& loop_of(const Planned& planned) { return planned.derived.schedule.loops.at(0); }

/// The nth statement of a kind in program order.
const plan::Slot& slot(const Planned& planned, const std::string& kind, std::size_t nth = 0) {
  for (const plan::Slot& s : loop_of(planned).slots) {
    if (s.stmt.kind == kind && nth-- == 0) return s;
  }
  throw InternalError("no such statement: " + kind);
}

const lang::Bindings kWide = {{"dtype", "bf16"}, {"D", "128"}, {"block_M", "128"}, {"block_N", "128"}};
const lang::Bindings kOneGroup = {{"dtype", "bf16"}, {"D", "128"}, {"block_M", "64"}, {"block_N", "128"}};

/// The order of FlashAttention-3: the next QKᵀ, then P·V of the iteration before, the softmax under it.
void expect_overlapped(const Planned& p) {
  const plan::Slot &qk = slot(p, "gemm"), &pv = slot(p, "gemm", 1);
  EXPECT_EQ(pv.stage, qk.stage + 1);
  EXPECT_LT(qk.order, pv.order);
  for (const char* statistics : {"reduce_max", "reduce_sum"}) {
    EXPECT_EQ(slot(p, statistics).stage, qk.stage);
    EXPECT_GT(slot(p, statistics).order, pv.order) << statistics;
  }
}

TEST(Oracles, AttentionOfOneGroup) {
  Planned p = planned(kernel_of(library_text("attention"), kOneGroup), Kind::modulo);
  expect_overlapped(p);
  EXPECT_TRUE(loop_of(p).tokens.empty());
  const PlannedLoop& loop = p.loops.at(0);
  EXPECT_GE(loop.ii, loop.bounds.resource);
  EXPECT_THAT(text(p), HasSubstr(fmt::format("II {} cycles", loop.ii)));
  EXPECT_THAT(text(p), HasSubstr(fmt::format("at least {} for {}", loop.bounds.resource, loop.bounds.critical)));
}

TEST(Oracles, AttentionOfTwoGroupsInTurns) {
  Planned p = planned(kernel_of(library_text("attention"), kWide), Kind::modulo);
  expect_overlapped(p);
  const PlannedLoop& loop = p.loops.at(0);
  EXPECT_EQ(loop.bounds.resource, 2048);  // four products of 64x128x128 at 2048 multiply-adds a cycle
  EXPECT_EQ(loop.bounds.critical, "tensor");
  EXPECT_LE(loop.ii, loop.bounds.resource * 11 / 10);
  ASSERT_EQ(loop_of(p).tokens.size(), 1U);
  EXPECT_EQ(loop_of(p).tokens[0].from, slot(p, "gemm", 1).stmt);
  EXPECT_EQ(loop_of(p).tokens[0].to, slot(p, "gemm").stmt);
}

/// cb, dt and dA are read by what weighs cb, x only by the product behind it.
TEST(Oracles, ChunkScanLoadsWeightsFirst) {
  Planned p = planned(kernel_of(library_text("mamba2_chunk_scan")), Kind::modulo);
  const plan::Slot &cb = slot(p, "copy"), &x = slot(p, "copy", 1), &dt = slot(p, "copy", 2),
                   &decay = slot(p, "copy", 3);
  for (const plan::Slot* early : {&cb, &dt, &decay}) EXPECT_LT(early->order, x.order);
  EXPECT_EQ(x.role, "load");
}

TEST(Oracles, MatmulKeepsAProductUnderWay) {
  const lang::Bindings tile = {{"dtype", "bf16"}, {"block_M", "128"}, {"block_N", "256"}, {"block_K", "64"}};
  Planned p = planned(kernel_of(library_text("matmul_nt"), tile), Kind::modulo, "h200", true);
  EXPECT_EQ(p.loops.at(0).ii, 1024);
  EXPECT_TRUE(p.loops.at(0).optimal) << p.loops.at(0).why_not;
  EXPECT_EQ(slot(p, "gemm").in_flight, 1);
  EXPECT_GE(loop_of(p).copies("A_s"), 3);
}

/// The scores of the next iteration beside the operands of the last products would take more registers than there are.
TEST(Oracles, AttentionBackwardWithinRegisters) {
  Planned p = planned(kernel_of(library_text("attention_bwd_dkdv"),
                                {{"dtype", "bf16"}, {"D", "128"}, {"block_M", "64"}, {"block_N", "128"}}),
                      Kind::modulo);
  ASSERT_EQ(p.loops.size(), 1U);
  EXPECT_EQ(p.candidates.at(0).what, "modulo, iterations apart");
  EXPECT_EQ(loop_of(p).stages(), 1);
  EXPECT_THAT(text(p), HasSubstr("take 224 registers at one time, 248 with 24 for everything else"));
  // P·dO goes on while dS is computed.
  EXPECT_LT(slot(p, "gemm", 2).order, slot(p, "each", 1).order);
}

/// Of 255 registers any other order than the program's takes more.
TEST(Oracles, AttentionBackwardInProgramOrder) {
  Planned p = planned(kernel_of(library_text("attention_bwd_dkdv"),
                                {{"dtype", "bf16"}, {"D", "128"}, {"block_M", "64"}, {"block_N", "128"}}),
                      Kind::greedy, "a100");
  ASSERT_EQ(p.loops.size(), 1U) << text(p);
  EXPECT_EQ(p.candidates.at(0).what, "greedy, iterations apart, in program order");
}

/// The schedules that are looked at for a call of causal attention with so many queries.
std::string looked_at(std::int64_t queries) {
  lang::Bindings tile = kWide;
  tile["causal"] = "true";
  Options options;
  options.kind = Kind::greedy;
  options.dims = {{"B", 1}, {"H", 32}, {"Hkv", 32}, {"Sq", queries}, {"Sk", queries}};
  auto made = plan(kernel_of(library_text("attention"), tile), *machine::load_device("h200"), options);
  if (!made) throw InternalError(made.diagnostics().render());
  return text(*made);
}

/// 128 tiles leave no second one to a multiprocessor of 132; in pairs they would leave every other one idle.
TEST(Planner, BlocksShareAndPairTilesWhereThereAreEnough) {
  const std::string few = looked_at(512), many = looked_at(4096);
  EXPECT_THAT(few, Not(HasSubstr("occupancy")));
  EXPECT_THAT(few, Not(HasSubstr("paired")));
  EXPECT_THAT(many, HasSubstr("occupancy 2"));
  EXPECT_THAT(many, HasSubstr("persistent, paired"));
}

TEST(Planner, TheSameInputGivesTheSamePlan) {
  for (Kind kind : {Kind::greedy, Kind::modulo, Kind::automatic}) {
    ir::Kernel kernel = kernel_of(library_text("attention"), kWide);
    EXPECT_EQ(print(planned(kernel, kind).derived.schedule), print(planned(kernel, kind).derived.schedule));
  }
}

TEST(Planner, WhatTheAuthorWroteStays) {
  std::string text = library_text("matmul_nt");
  Planned p = planned(kernel_of(text, {{"dtype", "bf16"}}), Kind::modulo);
  EXPECT_TRUE(p.loops.empty());
  EXPECT_EQ(loop_of(p).planner, "rules");
  EXPECT_EQ(planner::text(p), "");
}

TEST(Planner, RulesLeaveOpenLoopsAlone) {
  Planned p = planned(kernel_of(library_text("attention"), kWide), Kind::rules);
  EXPECT_EQ(loop_of(p).planner, "rules");
  EXPECT_EQ(loop_of(p).stages(), 1);
}

TEST(Planner, TellsWhatItLookedAt) {
  Planned p = planned(kernel_of(library_text("mamba2_chunk_scan")), Kind::automatic);
  std::string told = text(p);
  EXPECT_THAT(told, HasSubstr("chosen"));
  EXPECT_THAT(told, HasSubstr("rules, stages=2"));
  EXPECT_THAT(told, HasSubstr("occupancy 2"));
  EXPECT_THAT(told, HasSubstr("refused: "));
  EXPECT_THAT(told, HasSubstr("costs modelled"));
}

/// What the author measured overrules the model.
TEST(Planner, TasksWithCostsOfTheirOwn) {
  std::string text = library_text("attention");
  const std::string sum = "    reduce_sum(S, row_sum, dim=1, clear=false)\n";
  text.replace(text.find(sum), sum.size(), "    task(latency=9000, ii=9000):\n  " + sum);
  Planned p = planned(kernel_of(text, kOneGroup), Kind::modulo);
  EXPECT_GE(p.loops.at(0).ii, 9000);
}

/// Work on the product of each iteration, in so many turns of a loop of its own.
std::string with_inner_loop(int turns) {
  return fmt::format(
      "kernel inner(A: in bf16[M, K], B: in bf16[N, K], C: out f32[M, N]):\n"
      "  grid bx = ceildiv(N, 64), by = ceildiv(M, 64)\n  A_s = shared bf16[64, 128]\n  B_s = shared bf16[64, 128]\n"
      "  acc = fragment f32[64, 64]\n  S = fragment f32[64, 64]\n  clear(acc)\n"
      "  for k in pipelined(ceildiv(K, 128)):\n    copy(A[by * 64, k * 128], A_s)\n    copy(B[bx * 64, k * 128], B_s)\n"
      "    gemm(A_s, B_s, S, trans_B=true, clear_accum=true)\n    for t in range({}):\n"
      "      for i, j in parallel(64, 64):\n        S[i, j] = S[i, j] * 0.5 + f32(t)\n"
      "    for i, j in parallel(64, 64):\n      acc[i, j] += S[i, j]\n  copy(acc, C[by * 64, bx * 64])\n",
      turns);
}

/// A serial loop in a pipelined one is one task, which takes all its turns; loads and the next product overlap it.
TEST(Planner, AnInnerLoopIsOneTask) {
  Planned four = planned(kernel_of(with_inner_loop(4)), Kind::modulo),
          eight = planned(kernel_of(with_inner_loop(8)), Kind::modulo);
  EXPECT_EQ(slot(four, "for").unit, machine::UnitKind::cuda);
  EXPECT_EQ(slot(four, "for").role, "math");
  constexpr int kTurn = 160;  // 64 x 64 fused multiply-adds and conversions of the turn's number, at least 128 a cycle
  EXPECT_GE(eight.loops.at(0).ii - four.loops.at(0).ii, 4 * kTurn * 8 / 10);
  EXPECT_GE(four.loops.at(0).bounds.resource, 4 * kTurn);
  EXPECT_EQ(slot(four, "copy").role, "load");
}

class Intervals : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

/// The least interval is no longer than the one of the list scheduler, and no shorter than the bounds.
TEST_P(Intervals, OfModuloAreAtMostThoseOfGreedy) {
  const auto [name, device] = GetParam();
  ir::Kernel kernel = kernel_of(library_text(name), {{"dtype", "bf16"}});
  Planned modulo = planned(kernel, Kind::modulo, device, true), greedy = planned(kernel, Kind::greedy, device, true);
  ASSERT_EQ(modulo.loops.size(), greedy.loops.size());
  for (std::size_t i = 0; i < modulo.loops.size(); ++i) {
    EXPECT_LE(modulo.loops[i].ii, greedy.loops[i].ii);
    EXPECT_GE(modulo.loops[i].ii, modulo.loops[i].bounds.least(1));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, Intervals,
    testing::Combine(testing::Values("attention", "batched_matmul", "conv2d", "gemv", "layernorm", "matmul",
                                     "matmul_bias_act", "matmul_nt", "matmul_tn", "rmsnorm", "softmax"),
                     testing::Values("h200", "a100")),
    [](const auto& at) { return fmt::format("{}_{}", std::get<0>(at.param), std::get<1>(at.param)); });

/// Elements on their way beside a product, in an order in which neither is under the other.
const char* const kStraight = R"(
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
)";

std::vector<std::string> order_of(const plan::RegionPlan& region) {
  std::vector<std::string> out;
  for (const plan::RegionPlan::Entry& entry : region.order) out.push_back(graph::text_of(entry.stmt));
  return out;
}

TEST(Oracles, StatementsOutsideOfLoops) {
  const ir::Kernel kernel = kernel_of(kStraight);
  for (Kind kind : {Kind::greedy, Kind::modulo, Kind::automatic}) {
    Planned p = planned(kernel, kind);
    ASSERT_EQ(p.derived.schedule.regions.size(), 1U) << text(p);
    const plan::RegionPlan& region = p.derived.schedule.regions[0];
    std::vector<std::string> order = order_of(region);
    auto at = [&](const char* name) { return std::find(order.begin(), order.end(), name) - order.begin(); };
    // What does not need the product is stored under it.
    EXPECT_LT(at("gemm@15"), at("copy@18")) << text(p);
    EXPECT_LT(at("copy@18"), at("each@16")) << text(p);
    ASSERT_EQ(p.loops.size(), 1U);
    EXPECT_LT(p.loops[0].ii, *p.loops[0].in_program_order);
    EXPECT_THAT(text(p), HasSubstr(fmt::format("region body@9, planner {}: {} cycles, {} in the order of the program",
                                               region.planner, *region.makespan, *p.loops[0].in_program_order)));
  }
  EXPECT_TRUE(planned(kernel, Kind::rules).derived.schedule.regions.empty());
}

/// Nobody moves what gains nothing.
TEST(Oracles, KernelsWithoutLoopsThatStandWellStayAsTheyAre) {
  Planned p = planned(kernel_of(library_text("attention_bwd_delta"), {{"dtype", "bf16"}}), Kind::automatic);
  EXPECT_TRUE(p.derived.schedule.regions.empty());
  EXPECT_TRUE(p.loops.empty());
  EXPECT_EQ(text(p), "");
}

}  // namespace
}  // namespace plait::planner
