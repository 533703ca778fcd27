#include "plan/rules.h"

#include <gmock/gmock.h>

#include "fixture.h"

namespace plait::plan {
namespace {

using test::device;
using test::kernel_of;
using test::library_kernel;
using test::matmul;
using test::summary;
using ::testing::HasSubstr;

KernelPlan plan_of(const ir::Kernel& kernel) {
  auto plan = plan_by_rules(kernel, device());
  if (!plan) throw InternalError(plan.diagnostics().render());
  // Whatever the rules give is legal.
  Diagnostics found = check(plan->schedule, kernel, graph::build(kernel), device());
  EXPECT_FALSE(found.has_errors()) << found.render() << print(plan->schedule);
  return *plan;
}
std::string rules(const ir::Kernel& kernel, std::size_t loop = 0) {
  return summary(plan_of(kernel).schedule.loops.at(loop));
}
std::string rules(const std::string& loop, const std::string& body = {}) {
  return rules(kernel_of(matmul("for k in pipelined(" + loop + ")", body)));
}
std::string library_rules(const std::string& name) {
  return test::kinds(plan_of(library_kernel(name)).schedule.loops.at(0));
}
/// A loop of Mamba2's chunk scan that weighs its tile where it was loaded.
constexpr const char* kChunkScan = R"(
kernel scan(cb: in f16[L, L], x: in f16[L, P], dt: in f32[L], dA: in f32[L], out: out f32[L, P]; P = 64, M = 64, K = 64):
  grid bm = ceildiv(L, M)
  cb_s = shared f16[M, K]
  x_s = shared f16[K, P]
  dt_s = shared f32[K]
  dA_k = shared f32[K]
  dA_m = shared f32[M]
  acc = fragment f32[M, P]
  copy(dA[bm * M], dA_m)
  clear(acc)
  for k in pipelined(ceildiv(bm * M + M, K), stages=2):
    copy(cb[bm * M, k * K], cb_s)
    copy(x[k * K, 0], x_s)
    copy(dt[k * K], dt_s)
    copy(dA[k * K], dA_k)
    for l, j in parallel(M, K):
      cb_s[l, j] = f16(f32(cb_s[l, j]) * exp(dA_m[l] - dA_k[j]) * dt_s[j])
    gemm(cb_s, x_s, acc)
  copy(acc, out[bm * M, 0])
)";
std::vector<std::string> reasons(const ir::Kernel& kernel) {
  std::vector<std::string> out;
  for (const Note& note : plan_of(kernel).reasons) out.push_back(fmt::format("{}: {}", note.loc.line, note.message));
  return out;
}

TEST(Rules, CopyCopyGemm) {
  EXPECT_EQ(rules("ceildiv(K, 32), stages=0"), "copy@9 0/0, copy@10 0/1, gemm@11 0/2");
  EXPECT_EQ(rules("ceildiv(K, 32), stages=1"), "copy@9 0/1, copy@10 0/2, gemm@11 1/0");
  EXPECT_EQ(rules("ceildiv(K, 32), stages=2"), "copy@9 0/0, copy@10 0/1, gemm@11 1/2; A_s 2, B_s 2");
  EXPECT_EQ(rules("ceildiv(K, 32), stages=3"), "copy@9 0/0, copy@10 0/1, gemm@11 2/2; A_s 3, B_s 3");
  EXPECT_EQ(rules("ceildiv(K, 32), num_stages=4"), "copy@9 0/0, copy@10 0/1, gemm@11 3/2; A_s 4, B_s 4");
}

TEST(Rules, UnitsOfTheDevice) {
  LoopPlan plan = plan_of(library_kernel("matmul")).schedule.loops.at(0);
  EXPECT_EQ(plan.slots[0].unit, machine::UnitKind::tma);
  EXPECT_EQ(plan.slots[2].unit, machine::UnitKind::tensor);
  auto older = plan_by_rules(kernel_of(matmul("for k in pipelined(8, stages=2)")), device("a100"));
  ASSERT_TRUE(older.ok());
  EXPECT_EQ(older->schedule.device, "a100");
  EXPECT_EQ(older->schedule.loops.at(0).slots[0].unit, machine::UnitKind::lsu);
}

// Both copies stand in the middle: QK is followed by the next K, P·V by the next V. Nothing is rotated.
TEST(Rules, Attention) {
  EXPECT_EQ(test::kinds(plan_of(test::staged_kernel("attention", 2)).schedule.loops.at(0)),
            "copy 0/1, copy 0/11, gemm 2/0, each 2/2, copy 2/3, reduce_max 2/4, each 2/5, each 2/6, reduce_sum 2/7, "
            "copy 2/8, each 2/9, gemm 2/10; K_s 2, V_s 2");
}

// dt and dA are read for the last time by the element-wise nest, cb and x by the product.
TEST(Rules, ChunkScan) {
  EXPECT_EQ(test::kinds(plan_of(kernel_of(kChunkScan)).schedule.loops.at(0)),
            "copy 0/4, copy 0/5, copy 0/1, copy 0/2, each 2/0, gemm 2/3; cb_s 2, x_s 2, dt_s 2, dA_k 2");
}

// The nest that gathers the rows of A is a load as the copy of B is, where a role can load it.
TEST(Rules, Convolution) { EXPECT_EQ(library_rules("conv2d"), "each 0/0, copy 0/1, gemm 3/2; A_s 4, B_s 4"); }

TEST(Rules, BiasBeforeTheLoopIsNoPartOfIt) {
  EXPECT_EQ(library_rules("matmul_bias_act"), "copy 0/0, copy 0/1, gemm 2/2; A_s 3, B_s 3");
}

ir::Kernel pipeline_case(const std::string& name, const lang::Bindings& bindings = {}) {
  return kernel_of(plait::test::read_file(PLAIT_SOURCE_DIR "/tests/lit/cases/pipelines.tile"), bindings, name);
}

TEST(Rules, ReadThenRefillStaysSerial) {
  ir::Kernel kernel = pipeline_case("refill");
  EXPECT_EQ(rules(kernel), "each@22 0/0, copy@24 0/1");
  EXPECT_THAT(reasons(kernel),
              testing::ElementsAre(HasSubstr("copy@24 is not moved ahead: nothing behind it in the body reads 'S'")));
  EXPECT_EQ(rules(pipeline_case("fill_first")), "copy@39 0/0, each@40 2/1; S 3");
}

TEST(Rules, GuardedBodyAndBrokenGuard) {
  EXPECT_EQ(rules(pipeline_case("guarded")), "copy@60 0/0, copy@61 0/1, gemm@62 1/2; A_s 2, B_s 2");
  EXPECT_EQ(
      rules("8, stages=2",
            "    if k < 2:\n      copy(A[0, k * 32], A_s)\n    copy(B[k * 32, 0], B_s)\n    gemm(A_s, B_s, C_l)\n"),
      "copy@10 1/1, copy@11 0/0, gemm@12 1/2; B_s 2");
}

TEST(Rules, TripsLoopsAndHalves) {
  for (int stages : {1, 2, 3, 4}) {
    std::string versions = stages == 1 ? "" : fmt::format("; S {}", stages);
    std::string order = stages == 1 ? "copy@71 0/1, each@72 1/0" : fmt::format("copy@71 0/0, each@72 {}/1", stages - 1);
    EXPECT_EQ(rules(pipeline_case("trips", {{"stages", std::to_string(stages)}})), order + versions);
  }
  KernelPlan loops = plan_of(pipeline_case("loops"));
  ASSERT_EQ(loops.schedule.loops.size(), 3u);
  EXPECT_EQ(summary(loops.schedule.loops[2]), "copy@96 0/0, each@97 3/1; S 4");
  EXPECT_EQ(rules(pipeline_case("halves")), "copy@124 0/0, copy@125 0/1, each@126 1/2; S 2");
}

TEST(Rules, ALetThatReadsWhatTheLoopWritesIsScheduled) {
  ir::Kernel kernel = pipeline_case("lets");
  EXPECT_EQ(rules(kernel), "let@109 0/0, copy@111 0/1, each@112 0/2, each@114 0/3");
  EXPECT_THAT(reasons(kernel),
              testing::ElementsAre(HasSubstr(
                  "111: copy@111 is not moved ahead: an iteration may read what an earlier one left in 'S'")));
}

TEST(Rules, FillsAndIndexTablesGoWithTheirCopy) {
  EXPECT_EQ(
      rules("8, stages=2",
            "    clear(A_s)\n    copy(A[0, k * 32], A_s)\n    copy(B[k * 32, 0], B_s)\n    gemm(A_s, B_s, C_l)\n"),
      "clear@9 0/0, copy@10 0/1, copy@11 0/2, gemm@12 1/3; A_s 2, B_s 2");
  const std::string gather =
      "kernel g(A: in f32[M, 64], T: in i32[K], C: out f32[32, 64]):\n  grid b = 1\n  rows = shared i32[32]\n"
      "  S = shared f32[32, 64]\n  acc = fragment f32[32, 64]\n  clear(acc)\n"
      "  for k in pipelined(8, stages=3):\n    copy(T[k * 32], rows)\n    copy(A[0 : 32, 0 : 64], S, rows=rows)\n"
      "    for i, j in parallel(32, 64):\n      acc[i, j] += S[i, j]\n  copy(acc, C)\n";
  EXPECT_EQ(rules(kernel_of(gather)), "copy@8 0/0, copy@9 0/1, each@10 2/2; S 3");
}

TEST(Rules, ACopyThatNeedsAScheduledValueStays) {
  const std::string text =
      "kernel g(A: in f32[M, 64], T: in i32[K], C: out f32[32, 64]):\n  grid b = 1\n  at = shared i32[32]\n"
      "  S = shared f32[32, 64]\n  acc = fragment f32[32, 64]\n  clear(acc)\n"
      "  for k in pipelined(8, stages=2):\n    copy(T[k * 32], at)\n    first = at[0]\n    copy(A[i64(first), 0], S)\n"
      "    for i, j in parallel(32, 64):\n      acc[i, j] += S[i, j]\n  copy(acc, C)\n";
  ir::Kernel kernel = kernel_of(text);
  EXPECT_EQ(rules(kernel), "copy@8 0/1, let@9 2/0, copy@10 2/2, each@11 2/3; at 2");
  EXPECT_THAT(reasons(kernel),
              testing::Contains(
                  HasSubstr("10: copy@10 is not moved ahead: it would pass let@9, with which it shares 'first'")));
}

TEST(Rules, LoopsThatEndEarlyAndLoopsThatAskForNothingStaySerial) {
  ir::Kernel early = kernel_of(matmul("for k in pipelined(8, stages=3)",
                                      "    copy(A[0, k * 32], A_s)\n    copy(B[k * 32, 0], B_s)\n    gemm(A_s, B_s, "
                                      "C_l)\n    if k > 5:\n      break\n"));
  EXPECT_EQ(rules(early), "copy@9 0/0, copy@10 0/1, gemm@11 0/2, if@12 0/3");
  EXPECT_THAT(reasons(early), testing::ElementsAre(HasSubstr("13: iterations do not overlap: the loop may end early")));
  ir::Kernel bare = kernel_of(matmul("for k in pipelined(8)"));
  EXPECT_EQ(rules(bare), "copy@9 0/0, copy@10 0/1, gemm@11 0/2");
  EXPECT_THAT(reasons(bare),
              testing::ElementsAre(HasSubstr("8: iterations do not overlap: the loop asks for no stages")));
}

// ---- Lists
// -----------------------------------------------------------------------------------------------------------

TEST(RulesLists, AreTakenAsTheyAre) {
  EXPECT_EQ(rules("8, order=[0, 1, 2], stage=[0, 0, 2]"), "copy@9 0/0, copy@10 0/1, gemm@11 2/2; A_s 3, B_s 3");
  EXPECT_EQ(rules("8, order=[5, 9, 1], stage=[0, 0, 1]"), "copy@9 0/1, copy@10 0/2, gemm@11 1/0");
}

TEST(RulesLists, MayCountLetsThatAreReplayed) {
  const std::string body =
      "    row = k * 32\n    copy(A[0, row], A_s)\n    copy(B[row, 0], B_s)\n    gemm(A_s, B_s, C_l)\n";
  EXPECT_EQ(rules("8, order=[0, 1, 2], stage=[0, 0, 1]", body), "copy@10 0/0, copy@11 0/1, gemm@12 1/2; A_s 2, B_s 2");
  EXPECT_EQ(rules("8, order=[0, 1, 2, 3], stage=[7, 0, 0, 1]", body),
            "copy@10 0/0, copy@11 0/1, gemm@12 1/2; A_s 2, B_s 2");
}

TEST(RulesLists, FragmentsGetVersionsToo) {
  const std::string body =
      "    gemm(A_s, B_s, D, clear_accum=true)\n    for i, j in parallel(64, 64):\n      C_l[i, j] += D[i, j]\n";
  std::string text = matmul("for k in pipelined(8, order=[0, 1], stage=[0, 1])", body);
  text.replace(text.find("  S = shared f32[64, 64]"), 24, "  D = fragment f32[64, 64]");
  text.replace(text.find("  clear(C_l)"), 12, "  clear(C_l)\n  clear(A_s)\n  clear(B_s)");
  EXPECT_EQ(rules(kernel_of(text)), "gemm@11 0/0, each@12 1/1; D 2");
}

std::string refused(const std::string& loop, const std::string& body = {}) {
  auto plan = plan_by_rules(kernel_of(matmul("for k in pipelined(" + loop + ")", body)), device());
  EXPECT_FALSE(plan.ok());
  return plan.ok() ? "" : plan.diagnostics().render();
}

TEST(RulesLists, WrongLengthsAndOrders) {
  EXPECT_THAT(refused("8, order=[0, 1], stage=[0, 0]"),
              HasSubstr("test.tile:8:3: error: `order` has 2 entries for 3 scheduled statements [pipeline-lists]"));
  EXPECT_THAT(refused("8, order=[0, 1, 2], stage=[0]"),
              HasSubstr("`stage` has 1 entry for 3 scheduled statements [pipeline-lists]"));
  EXPECT_THAT(refused("8, order=[0, 1, 1], stage=[0, 0, 1]"), HasSubstr("`order` has 1 twice [pipeline-lists]"));
}

TEST(RulesLists, IllegalEdges) {
  std::string text = refused("8, order=[0, 1, 2], stage=[1, 0, 0]");
  EXPECT_THAT(text, HasSubstr("test.tile:11:5: error: gemm@11 reads 'A_s' too early: stage 0 + distance 0, order 2, is "
                              "not behind copy@9 with stage 1, order 0 [schedule-edge]"));
  EXPECT_THAT(text, HasSubstr("test.tile:9:5: note: copy@9 writes 'A_s'"));
}

// ---- Capacity
// --------------------------------------------------------------------------------------------------------

TEST(RulesCapacity, NamesNeedLimitAndTheStagesThatFit) {
  lang::Bindings wide = {{"D", "512"}, {"dtype", "f16"}, {"block_M", "32"}, {"block_N", "64"}};
  auto plan = plan_by_rules(test::staged_kernel("attention", 2, wide), device());
  ASSERT_FALSE(plan.ok());
  std::string text = plan.diagnostics().render();
  EXPECT_THAT(text, HasSubstr("error: attention needs 288 KiB of shared memory with stages=2; a block of h200 can have "
                              "227 KiB [schedule-memory]"));
  EXPECT_THAT(text, HasSubstr("fix: use stages=1, the largest that fits, with 160 KiB; or smaller tiles"));
  wide["block_N"] = "32";
  EXPECT_TRUE(plan_by_rules(test::staged_kernel("attention", 2, wide), device()).ok());
}

TEST(RulesCapacity, WhereNothingFits) {
  lang::Bindings wide = {{"dtype", "f32"}, {"block_M", "512"}, {"block_K", "128"}};
  auto plan = plan_by_rules(library_kernel("matmul", wide), device());
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.diagnostics().render(), HasSubstr("fix: use smaller tiles: even without pipelining"));
}

}  // namespace
}  // namespace plait::plan
