#include "graph/regions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "roundtrip.h"

namespace plait::graph {
namespace {

std::vector<StraightRegion> regions(const std::string& body) {
  auto kernel = test::load(
      "kernel k(A: in f16[M, 32], B: in f16[32, 64], C: out f32[M, 64], n: i32):\n  grid b = 1\n"
      "  A_s = shared f16[64, 32]\n  B_s = shared f16[32, 64]\n  C_l = fragment f32[64, 64]\n"
      "  x = fragment f32[64, 64]\n" +
          body,
      {}, {});
  if (!kernel) throw InternalError(kernel.diagnostics().render());
  return regions_of(*kernel);
}

/// `body@7 x1: clear@7, copy@8`
std::vector<std::string> shown(const std::vector<StraightRegion>& all) {
  std::vector<std::string> out;
  for (const StraightRegion& region : all) {
    std::string text = fmt::format("{} x{}:", text_of(region.name), region.times);
    for (const StmtName& name : region.names) text += " " + text_of(name);
    out.push_back(text);
  }
  return out;
}

std::vector<std::string> waits(const StraightRegion& region) {
  std::vector<std::string> out;
  for (const StraightRegion::Wait& wait : region.waits) out.push_back(fmt::format("{}->{}", wait.from, wait.to));
  std::sort(out.begin(), out.end());
  return out;
}
using List = std::vector<std::string>;

TEST(Regions, StandBetweenLoops) {
  EXPECT_EQ(shown(regions("  clear(C_l)\n  clear(x)\n  for k in pipelined(4):\n    copy(A[0, 0], A_s)\n"
                          "    gemm(A_s, B_s, C_l)\n  copy(C_l, C[0, 0])\n  copy(x, C[64, 0])\n")),
            (List{"body@7 x1: clear@7 clear@8", "body@12 x1: copy@12 copy@13"}));
}

TEST(Regions, OfSerialLoopsAndBranches) {
  EXPECT_EQ(shown(regions("  for i in range(3):\n    clear(C_l)\n    clear(x)\n    for j in range(n):\n"
                          "      clear(x)\n      copy(x, C[64, 0])\n    copy(C_l, C[0, 0])\n")),
            (List{"body@8 x3: clear@8 clear@9", "body@11 x3: clear@11 copy@12"}));
  EXPECT_EQ(shown(regions("  if n > 1:\n    clear(x)\n    print(\"n {}\", n)\n    clear(x)\n    clear(C_l)\n")),
            (List{"body@10 x1: clear@10 clear@11"}));
}

TEST(Regions, NothingPassesAssertionsAndJumps) {
  EXPECT_EQ(shown(regions("  clear(x)\n  clear(C_l)\n  assert n > 0, \"positive\"\n  copy(x, C[0, 0])\n"
                          "  copy(C_l, C[64, 0])\n")),
            (List{"body@7 x1: clear@7 clear@8", "body@10 x1: copy@10 copy@11"}));
}

TEST(Regions, OneConditionIsOneTask) {
  auto all = regions(
      "  clear(x)\n  if n > 1:\n    y = n + 1\n    copy(A[y, 0], A_s)\n    copy(B[0, 0], B_s)\n"
      "  gemm(A_s, B_s, C_l, clear_accum=true)\n");
  EXPECT_EQ(shown(all), (List{"body@7 x1: clear@7 if@8 gemm@12"}));
  EXPECT_EQ(waits(all.at(0)), (List{"1->2"}));
}

TEST(Regions, WaitForWhatTheyReadAndOverwrite) {
  auto all = regions(
      "  copy(A[0, 0], A_s)\n  copy(B[0, 0], B_s)\n  gemm(A_s, B_s, C_l, clear_accum=true)\n"
      "  copy(A[64, 0], A_s)\n  first = A_s[0, 0]\n  fill(x, f32(first))\n  copy(C_l, C[0, 0])\n");
  ASSERT_EQ(shown(all), (List{"body@7 x1: copy@7 copy@8 gemm@9 copy@10 let@11 fill@12 copy@13"}));
  EXPECT_EQ(waits(all[0]), (List{"0->2", "0->3", "1->2", "2->3", "2->6", "3->4", "4->5"}));
}

}  // namespace
}  // namespace plait::graph
