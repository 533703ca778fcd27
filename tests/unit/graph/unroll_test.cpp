#include "graph/unroll.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "ir/kernel.h"
#include "roundtrip.h"

namespace plait::graph {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A pipelined loop around `inner`, on line 9.
std::string unrolled(const std::string& inner, const std::string& loop = "pipelined(ceildiv(K, 32))") {
  auto kernel = test::load(
      "kernel k(A: in f16[64, K], B: in f16[K, 64], C: out f32[64, 64]):\n  grid b = 1\n"
      "  A_s = shared f16[64, 32]\n  B_s = shared f16[32, 64]\n  S = fragment f32[64, 64]\n"
      "  acc = fragment f32[64, 64]\n  clear(acc)\n  for k in " +
          loop + ":\n    copy(A[0, k * 32], A_s)\n    copy(B[k * 32, 0], B_s)\n" + inner + "  copy(acc, C[0, 0])\n",
      {}, {});
  if (!kernel) throw InternalError(kernel.diagnostics().render());
  return ir::print(with_inner_loops_unrolled(*kernel));
}

const char* const kProducts =
    "    for s in range(1, 6, 2):\n      w = s * 2\n      gemm(A_s, B_s, S, clear_accum=true)\n"
    "      for i, j in parallel(64, 64):\n        acc[i, j] += S[i, j] * f32(w + k)\n";

TEST(Unroll, ProductsBecomeTasksOfTheLoop) {
  std::string text = unrolled(kProducts);
  EXPECT_THAT(text, Not(HasSubstr("for s in")));
  std::size_t at = 0;
  for (const char* value : {"w = 2\n", "w = 6\n", "w = 10\n"}) {
    at = text.find(value, at);
    ASSERT_NE(at, std::string::npos) << value << " in\n" << text;
  }
}

TEST(Unroll, EachCopyHasItsOwnVariables) {
  auto kernel = test::load(
      "kernel k(A: in f16[64, K], B: in f16[K, 64], C: out f32[64, 64]):\n  grid b = 1\n"
      "  A_s = shared f16[64, 32]\n  B_s = shared f16[32, 64]\n  acc = fragment f32[64, 64]\n"
      "  clear(acc)\n  for k in pipelined(ceildiv(K, 32)):\n    copy(A[0, k * 32], A_s)\n"
      "    copy(B[k * 32, 0], B_s)\n    for s in range(2):\n      w = f32(s + 1)\n"
      "      gemm(A_s, B_s, acc)\n      for i, j in parallel(64, 64):\n        acc[i, j] *= w\n"
      "  copy(acc, C[0, 0])\n",
      {}, {});
  ASSERT_TRUE(kernel.ok());
  TaskGraph graph = build(with_inner_loops_unrolled(*kernel)).at(0);
  ASSERT_EQ(graph.nodes.size(), 6U);
  ASSERT_EQ(graph.nodes[3].around.size(), 1U);
  ASSERT_EQ(graph.nodes[5].around.size(), 1U);
  EXPECT_NE(graph.nodes[3].around[0].let, graph.nodes[5].around[0].let);
  EXPECT_EQ(text_of(graph.nodes[5].name), "each@13#2");
}

TEST(Unroll, WhatStaysALoop) {
  const std::string body = "      gemm(A_s, B_s, acc)\n";
  for (const char* head : {"for s in range(9)", "for s in range(k)", "for s in range(0)"})
    EXPECT_THAT(unrolled(std::string("    ") + head + ":\n" + body), HasSubstr("for s in range(")) << head;
  // Its author says how it is pipelined.
  EXPECT_THAT(unrolled(kProducts, "pipelined(4, stages=2)"), HasSubstr("for s in range("));
  EXPECT_THAT(unrolled(kProducts, "range(4)"), HasSubstr("for s in range("));
  for (const char* inner : {
           // Loads take a slot each.
           "    for s in range(2):\n      copy(A[0, k * 32 + s], A_s)\n      gemm(A_s, B_s, acc)\n",
           // Elements alone.
           "    for s in range(2):\n      for i, j in parallel(64, 64):\n        acc[i, j] += 1.0\n",
           "    for s in range(4):\n      if s > k:\n        break\n      gemm(A_s, B_s, acc)\n",
           "    for s in range(2):\n      x = fragment f32[64, 64]\n      gemm(A_s, B_s, x, clear_accum=true)\n",
       })
    EXPECT_THAT(unrolled(inner), HasSubstr("for s in range(")) << inner;
}

}  // namespace
}  // namespace plait::graph
