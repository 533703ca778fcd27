#include "npu/costs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/load.h"
#include "roundtrip.h"

namespace plait::npu {
namespace {

using machine::UnitKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const machine::Device& device(const std::string& name = "ascend950") {
  static std::map<std::string, machine::Device> known;
  if (!known.contains(name)) known.emplace(name, *machine::load_device(name));
  return known.at(name);
}

ir::Kernel kernel_of(const std::string& text) {
  auto kernel = plait::test::load(text, {}, "");
  if (!kernel) throw InternalError(kernel.diagnostics().render());
  return *kernel;
}

/// A product of these tiles over K.
std::string matmul(int m, int n, int k, const std::string& type = "bf16") {
  return fmt::format(
      "kernel k(A: in {3}[M, K], B: in {3}[K, N], C: out f32[M, N]):\n  grid b = 1\n  A_s = shared {3}[{0}, {2}]\n"
      "  B_s = shared {3}[{2}, {1}]\n  C_l = fragment f32[{0}, {1}]\n  clear(C_l)\n"
      "  for k in pipelined(K / {2}, stages=2):\n    copy(A[0, k * {2}], A_s)\n    copy(B[k * {2}, 0], B_s)\n"
      "    gemm(A_s, B_s, C_l)\n  copy(C_l, C[0, 0])\n",
      m, n, k, type);
}

std::vector<plan::TaskCost> costs(const std::string& text, const std::string& name = "ascend950") {
  auto made = costs_of(graph::build(kernel_of(text)).at(0), device(name));
  if (!made) throw InternalError(made.diagnostics().render());
  return *made;
}

TEST(Costs, AreLatencyAndBytesOverTheBandwidth) {
  auto cost = costs(matmul(256, 224, 128));
  ASSERT_EQ(cost.size(), 3U);
  EXPECT_EQ(cost[0].latency, 190 + 656);  // ⌈65536 / 100⌉
  EXPECT_THAT(cost[0].busy, ElementsAre(Pair(UnitKind::mte2, 656)));
  EXPECT_EQ(cost[1].latency, 190 + 574);
  EXPECT_THAT(cost[1].busy, ElementsAre(Pair(UnitKind::mte2, 574)));
  EXPECT_EQ(cost[2].latency, 8 + 1792);  // ⌈2·256·224·128 / 8192⌉
  EXPECT_THAT(cost[2].busy, ElementsAre(Pair(UnitKind::cube, 1792), Pair(UnitKind::mte1, 2 * (128 + 112))));
  EXPECT_THAT(cost[2].source, HasSubstr("modelled: product of ascend950"));
}

/// GM to L1 and the product of 256 x 224 x 128: with two buffers the busiest unit decides, with one the loads, one
/// behind the other, and then the product.
TEST(Costs, OfAMatmulGiveItsIntervals) {
  auto cost = costs(matmul(256, 224, 128));
  std::map<UnitKind, std::int64_t> busy;
  for (const plan::TaskCost& task : cost) {
    for (const auto& [unit, cycles] : task.busy) busy[unit] += cycles;
  }
  std::int64_t two = 0;
  for (const auto& [unit, cycles] : busy) two = std::max(two, cycles);
  EXPECT_EQ(two, 1792);
  std::int64_t loads = cost[0].busy.at(UnitKind::mte2) + cost[1].latency;
  EXPECT_EQ(loads, cost[1].busy.at(UnitKind::mte2) + cost[0].latency);  // in either order
  EXPECT_EQ(loads + cost[2].latency, 3220);
}

TEST(Costs, OfTypesFollowTheRateOfTheCube) {
  EXPECT_EQ(costs(matmul(128, 128, 128, "e4m3"))[2].busy.at(UnitKind::cube), 2 * 128 * 128 * 128 / 16384);
  auto refused = costs_of(graph::build(kernel_of(matmul(128, 128, 128, "e4m3"))).at(0), device("ascend910b"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.diagnostics().render(),
              HasSubstr("the cube unit of ascend910b multiplies no e4m3 [place-product]"));
}

TEST(Costs, ADescriptorTakes64Cycles) {
  EXPECT_EQ(costs(matmul(16, 16, 16))[0].busy.at(UnitKind::mte2), 64);
  EXPECT_EQ(costs(matmul(16, 16, 16))[0].latency, 190 + 6);
}

TEST(Costs, SlicesOfKFitTwiceInL0) {
  auto slice = [](const std::string& text) {
    ir::Kernel kernel = kernel_of(text);
    graph::TaskGraph graph = graph::build(kernel).at(0);
    return slice_of(std::get<ir::TileOp>(graph.nodes.at(2).stmt->node), device());
  };
  EXPECT_EQ(slice(matmul(256, 224, 128)), 64);
  EXPECT_EQ(slice(matmul(512, 64, 128)), 32);
  EXPECT_EQ(slice(matmul(64, 64, 32)), 32);
  EXPECT_EQ(slice(matmul(4096, 16, 64)), 0);
  auto refused = costs_of(graph::build(kernel_of(matmul(4096, 16, 64))).at(0), device());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.diagnostics().render(), HasSubstr("two slices of 16 of K do not fit in L0A and L0B"));
}

/// Loads to UB, element work and stores of a vector core.
const char* const kRows =
    "kernel k(X: in f32[M, N], Y: out f32[M, N]):\n  grid b = 1\n  x = fragment f32[64, 128]\n"
    "  for j in pipelined(N / 128):\n    copy(X[0, j * 128], x)\n    for i, c in parallel(64, 128):\n"
    "      x[i, c] = x[i, c] * 2.0 + 1.0\n    copy(x, Y[0, j * 128])\n";

TEST(Costs, OfElementWorkAreInstructionsOrBytes) {
  auto cost = costs(kRows);
  EXPECT_EQ(cost[0].latency, 90 + 328);  // ⌈32768 / 100⌉
  EXPECT_THAT(cost[0].busy, ElementsAre(Pair(UnitKind::aiv_mte2, 328)));
  EXPECT_EQ(cost[1].latency, 2 * 64 * 128 * 4 / 256);
  EXPECT_THAT(cost[1].busy, ElementsAre(Pair(UnitKind::vector, 16)));
  EXPECT_EQ(cost[2].latency, 180 + 285);
  EXPECT_THAT(cost[2].busy, ElementsAre(Pair(UnitKind::mte3, 285)));
}

TEST(Costs, OfRowsAreSharedOutOverTheVectorCores) {
  graph::TaskGraph graph = graph::build(kernel_of(kRows)).at(0);
  auto cost = cost_of(graph.nodes[1], Homes(), device(), 2);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->latency, 64 * 128 * 4 / 256);
}

TEST(Costs, TheAuthorsOverrule) {
  std::string text = kRows;
  text.replace(text.find("    for i, c"), 4, "    task(latency=500, ii=40):\n      ");
  text.replace(text.find("      x[i, c] ="), 6, "        ");
  auto cost = costs(text);
  EXPECT_EQ(cost[1].latency, 500);
  EXPECT_THAT(cost[1].busy, ElementsAre(Pair(UnitKind::vector, 40)));
  EXPECT_EQ(cost[1].source, "author");
}

TEST(Costs, GoThroughGlobalMemoryWhereNothingMovesDataDirectly) {
  std::string text = matmul(64, 64, 64);
  text.insert(text.find("  clear"), "  U = fragment f32[64, 64]\n");
  text.insert(text.find("  copy(C_l"), "    copy(C_l, U)\n    copy(U, C[0, 0])\n");
  auto direct = costs(text), around = costs(text, "ascend910b");
  EXPECT_EQ(direct[3].latency, 58 + 128);
  EXPECT_THAT(direct[3].busy, ElementsAre(Pair(UnitKind::fixpipe, 128)));
  EXPECT_EQ(around[3].latency, 200 + 191 + 90 + 149);
  EXPECT_THAT(around[3].busy, ElementsAre(Pair(UnitKind::fixpipe, 191), Pair(UnitKind::aiv_mte2, 149)));
}

}  // namespace
}  // namespace plait::npu
