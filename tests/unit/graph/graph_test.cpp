#include "graph/graph.h"

#include <fmt/format.h>

#include <set>

#include "graph/work.h"
#include "roundtrip.h"

namespace plait::graph {
namespace {

using analysis::DependenceKind;

ir::Kernel kernel_of(const std::string& text, const lang::Bindings& bindings = {}, const std::string& name = {}) {
  auto kernel = test::load(text, bindings, name);
  if (!kernel) throw InternalError(kernel.diagnostics().render());
  return *kernel;
}
std::vector<TaskGraph> graphs_of(const std::string& text) { return build(kernel_of(text)); }
TaskGraph graph_of(const std::string& body) {
  auto graphs = graphs_of(
      "kernel k(A: in f16[M, K], B: in f16[K, N], C: out f32[M, N], T: in i32[K]):\n"
      "  grid b = 1\n  A_s = shared f16[64, 32]\n  B_s = shared f16[32, 64]\n"
      "  C_l = fragment f32[64, 64]\n  I_s = shared i32[64]\n  clear(C_l)\n  clear(I_s)\n" +
      body + "  copy(C_l, C[0, 0])\n");
  if (graphs.size() != 1) throw InternalError("no loop");
  return graphs.front();
}

std::vector<std::string> names(const TaskGraph& graph) {
  std::vector<std::string> out;
  for (const Node& node : graph.nodes) out.push_back(text_of(node.name));
  return out;
}
std::set<std::string> edges(const TaskGraph& graph) {
  std::set<std::string> out;
  static constexpr const char* kinds[] = {"flow", "anti", "output"};
  for (const Edge& e : graph.edges) {
    std::string distance = e.distance ? fmt::format("{}{}", *e.distance, e.exact ? "" : "+") : "?";
    out.insert(fmt::format("{} {}->{} {} {}", kinds[static_cast<int>(e.kind)], e.from, e.to,
                           e.buffer != nullptr ? e.buffer->name : e.var->name, distance));
  }
  return out;
}
using List = std::vector<std::string>;
using Set = std::set<std::string>;

TEST(Graph, Matmul) {
  TaskGraph graph = graph_of(
      "  for k in pipelined(ceildiv(K, 32), stages=3):\n"
      "    copy(A[0, k * 32], A_s)\n    copy(B[k * 32, 0], B_s)\n    gemm(A_s, B_s, C_l)\n");
  EXPECT_EQ(text_of(graph.loop), "k@9");
  EXPECT_EQ(names(graph), (List{"copy@10", "copy@11", "gemm@12"}));
  EXPECT_EQ(graph.asked.stages, 3);
  EXPECT_TRUE(edges(graph).contains("flow 0->2 A_s 0"));
  EXPECT_TRUE(edges(graph).contains("anti 2->0 A_s 1"));
  EXPECT_TRUE(edges(graph).contains("flow 2->2 C_l 1"));
  EXPECT_EQ(graph.nodes[0].unit, ir::Unit::dma);
  EXPECT_TRUE(graph.nodes[0].async);
  EXPECT_EQ(graph.nodes[0].bytes, 64 * 32 * 2);
  EXPECT_EQ(graph.nodes[0].flop, 0);
  EXPECT_EQ(graph.nodes[2].unit, ir::Unit::matrix);
  EXPECT_TRUE(graph.nodes[2].async);
  EXPECT_EQ(graph.nodes[2].flop, 2 * 64 * 64 * 32);
  EXPECT_EQ(graph.nodes[2].bytes, 0);
  EXPECT_EQ(graph.written.size(), 3u);
  EXPECT_EQ(graph.find({"copy", 11, 1}), 1u);
  EXPECT_EQ(graph.find({"copy", 11, 2}), std::nullopt);
}

/// A statement is reached by one behind it in a later iteration only, however hard the bounds of the loop are to say.
TEST(Graph, NoDependenceGoesBackWithinAnIteration) {
  auto graphs = graphs_of(
      "kernel k(A: in f16[M, K], C: out f32[M, N]):\n  grid bx = ceildiv(N, 64), by = ceildiv(M, 64)\n"
      "  S = fragment f32[64, 64]\n  acc = fragment f32[64, 64]\n  clear(acc)\n"
      "  for k in pipelined(min(ceildiv(K, 32), bx + 1), stages=3):\n    clear(S)\n    if k <= by + 2:\n"
      "      for i, j in parallel(64, 64):\n        S[i, j] = S[i, j] * 0.5 + f32(k) * 0.125\n"
      "    for i, j in parallel(64, 64):\n      if (i + k) % 3 == 0:\n        S[i, j] += 1.0\n"
      "    for i, j in parallel(64, 64):\n      acc[i, j] += S[i, j]\n  copy(acc, C[by * 64, bx * 64])\n");
  for (const Edge& edge : graphs.at(0).edges) EXPECT_TRUE(edge.from < edge.to || edge.least() > 0);
}

TEST(Graph, StatementsOfOneLineAreCounted) {
  auto graphs = graphs_of(
      "def load(A, k, S):\n  copy(A[0, k * 32], S)\n\n"
      "kernel k(A: in f16[M, K], C: out f32[64, 64]):\n  grid b = 1\n  A_s = shared f16[64, 32]\n"
      "  B_s = shared f16[64, 32]\n  C_l = fragment f32[64, 64]\n  clear(C_l)\n"
      "  for k in pipelined(4, stages=2):\n    load(A, k, A_s)\n    load(A, k, B_s)\n"
      "    gemm(A_s, B_s, C_l, trans_B=true)\n  copy(C_l, C)\n");
  EXPECT_EQ(names(graphs.at(0)), (List{"copy@2", "copy@2#2", "gemm@13"}));
}

TEST(Graph, PureLetsAreReplayedByTheirUsers) {
  TaskGraph graph = graph_of(
      "  for k in pipelined(8, stages=2):\n"
      "    row = k * 32\n    twice = row * 2\n    first = I_s[0]\n    copy(A[0, twice], A_s)\n"
      "    copy(T[row], I_s)\n    for i, j in parallel(64, 64):\n"
      "      C_l[i, j] += f32(A_s[i, j / 2]) + f32(first + I_s[i])\n");
  EXPECT_EQ(names(graph), (List{"let@12", "copy@13", "copy@14", "each@15"}));
  EXPECT_EQ(graph.replayed.size(), 2u);
  EXPECT_EQ(graph.statements.size(), 6u);
  EXPECT_EQ(graph.statements[0], std::nullopt);
  EXPECT_EQ(graph.statements[2], 0u);
  ASSERT_EQ(graph.nodes[1].around.size(), 2u);
  EXPECT_NE(graph.nodes[1].around[0].let, nullptr);
  EXPECT_EQ(ir::print(*graph.nodes[1].replay),
            "task():\n  row = k * 32\n  twice = row * 2\n  copy(A[0:64, twice : twice + 32], A_s)\n");
  EXPECT_EQ(graph.nodes[2].around.size(), 1u);
  EXPECT_TRUE(graph.nodes[3].around.empty());
  Set found = edges(graph);
  EXPECT_TRUE(found.contains("flow 0->3 first 0"));
  EXPECT_TRUE(found.contains("anti 3->0 first 1"));
  EXPECT_TRUE(found.contains("anti 0->2 I_s 0"));
  EXPECT_TRUE(found.contains("flow 2->0 I_s 1"));
}

TEST(Graph, AScheduledLetPassesThroughAReplayedOne) {
  TaskGraph graph = graph_of(
      "  for k in pipelined(8, stages=2):\n"
      "    copy(T[k * 64], I_s)\n    first = I_s[0]\n    at = i64(first) * 32\n"
      "    copy(A[0, at], A_s)\n    gemm(A_s, A_s, C_l, trans_B=true)\n");
  EXPECT_EQ(names(graph), (List{"copy@10", "let@11", "copy@13", "gemm@14"}));
  EXPECT_TRUE(edges(graph).contains("flow 1->2 first 0"));
  EXPECT_EQ(ir::print(*graph.nodes[2].replay), "task():\n  at = i64(first) * 32\n  copy(A[0:64, at : at + 32], A_s)\n");
}

TEST(Graph, GuardsAreTakenApart) {
  TaskGraph graph = graph_of(
      "  for k in pipelined(8, stages=2):\n    if k < 2:\n      row = k * 32\n"
      "      copy(A[0, row], A_s)\n      copy(B[row, 0], B_s)\n    else:\n      clear(A_s)\n"
      "    gemm(A_s, B_s, C_l)\n");
  EXPECT_EQ(names(graph), (List{"copy@12", "copy@13", "clear@15", "gemm@16"}));
  ASSERT_EQ(graph.nodes[0].around.size(), 2u);
  EXPECT_TRUE(graph.nodes[0].around[0].holds);
  EXPECT_NE(graph.nodes[0].around[1].let, nullptr);
  EXPECT_FALSE(graph.nodes[2].around.at(0).holds);
  EXPECT_EQ(ir::print(*graph.nodes[0].replay), "if k < 2:\n  row = k * 32\n  copy(A[0:64, row : row + 32], A_s)\n");
  EXPECT_TRUE(edges(graph).contains("flow 1->3 B_s 0+"));
  EXPECT_FALSE(edges(graph).contains("output 0->2 A_s 0"));
}

TEST(Graph, AConditionOnWhatTheLoopWritesStaysWhole) {
  TaskGraph graph = graph_of(
      "  for k in pipelined(8, stages=2):\n    copy(T[k * 64], I_s)\n    if I_s[0] > 0:\n"
      "      copy(A[0, k * 32], A_s)\n      copy(B[k * 32, 0], B_s)\n    gemm(A_s, B_s, C_l)\n");
  EXPECT_EQ(names(graph), (List{"copy@10", "if@11", "gemm@14"}));
  EXPECT_EQ(graph.nodes[1].unit, ir::Unit::dma);
  EXPECT_FALSE(graph.nodes[1].async);
  EXPECT_TRUE(edges(graph).contains("flow 0->1 I_s 0"));
}

TEST(Graph, TasksGiveTheirCost) {
  TaskGraph graph = graph_of(
      "  for k in pipelined(8, stages=2):\n    task(latency=500, ii=64):\n"
      "      copy(A[0, k * 32], A_s)\n    task(latency=9):\n      copy(B[k * 32, 0], B_s)\n"
      "      clear(I_s)\n    task():\n      gemm(A_s, B_s, C_l)\n");
  EXPECT_EQ(names(graph), (List{"copy@11", "task@12", "gemm@16"}));
  EXPECT_EQ(graph.nodes[0].latency, 500);
  EXPECT_EQ(graph.nodes[0].ii, 64);
  EXPECT_EQ(graph.nodes[2].latency, std::nullopt);
}

TEST(Graph, JumpsOfTheLoopItself) {
  TaskGraph graph = graph_of(
      "  for k in pipelined(8, stages=2):\n    copy(A[0, k * 32], A_s)\n"
      "    for i in range(4):\n      if i > 2:\n        break\n      I_s[i] = 0\n"
      "    gemm(A_s, B_s, C_l)\n");
  EXPECT_EQ(graph.jump, nullptr);
  graph = graph_of(
      "  for k in pipelined(8, stages=2):\n    copy(A[0, k * 32], A_s)\n    if k > 5:\n      break\n"
      "    gemm(A_s, B_s, C_l)\n");
  ASSERT_NE(graph.jump, nullptr);
  EXPECT_EQ(graph.jump->loc.line, 12);
  EXPECT_EQ(names(graph), (List{"copy@10", "if@11", "gemm@13"}));
}

TEST(Graph, BuffersOfAnIterationShareTheirMemory) {
  TaskGraph graph = graph_of(
      "  for k in pipelined(8, stages=2):\n    S = shared f16[64, 32]\n"
      "    copy(A[0, k * 32], S)\n    gemm(S, B_s, C_l)\n");
  EXPECT_EQ(names(graph), (List{"copy@11", "gemm@12"}));
  Set found = edges(graph);
  EXPECT_TRUE(found.contains("flow 0->1 S 0"));
  EXPECT_TRUE(found.contains("anti 1->0 S 1"));
}

TEST(Graph, HalvesOfOneTile) {
  TaskGraph graph = graph_of(
      "  for k in pipelined(4, stages=2):\n    copy(A[0 : 32, 0 : 32], A_s[0 : 32, 0 : 32])\n"
      "    copy(A[0 : 32, 0 : 32], A_s[32 : 64, 0 : 32])\n    gemm(A_s, B_s, C_l)\n");
  Set found = edges(graph);
  EXPECT_TRUE(found.contains("flow 0->2 A_s 0"));
  EXPECT_TRUE(found.contains("flow 1->2 A_s 0"));
  EXPECT_FALSE(found.contains("output 0->1 A_s 0"));
}

TEST(Graph, EveryLoopOfTheKernelLibraryHasOne) {
  for (const char* name : {"attention", "conv2d", "layernorm", "mamba2_chunk_scan", "matmul_int4", "softmax"}) {
    SCOPED_TRACE(name);
    auto graphs = build(kernel_of(test::read_file(fmt::format("{}/kernels/{}.tile", PLAIT_SOURCE_DIR, name))));
    ASSERT_FALSE(graphs.empty());
    for (const TaskGraph& graph : graphs) {
      EXPECT_NE(graph.stmt, nullptr);
      EXPECT_FALSE(graph.nodes.empty());
      EXPECT_NE(text_of(graph).find("loop "), std::string::npos);
      EXPECT_TRUE(graphviz(graph).starts_with("digraph \""));
    }
  }
}

TEST(Graph, WorkOfLoopsAndElements) {
  TaskGraph graph = graph_of(
      "  for k in pipelined(8, stages=2):\n    for i, j in parallel(64, 64):\n"
      "      C_l[i, j] = C_l[i, j] * 2 + f32(A[i, k])\n    for i in range(4):\n      clear(I_s)\n"
      "    for i in range(k):\n      C_l[0, 0] += 1\n");
  EXPECT_EQ(graph.nodes[0].flop, 2 * 64 * 64);
  EXPECT_EQ(graph.nodes[0].bytes, 64 * 64 * 2);
  EXPECT_EQ(graph.nodes[1].flop, 0);
  EXPECT_EQ(graph.nodes[2].flop, std::nullopt);
  EXPECT_EQ(graph.nodes[2].bytes, 0);
}

}  // namespace
}  // namespace plait::graph
