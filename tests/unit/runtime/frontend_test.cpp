#include "runtime/frontend.h"

#include "fixture.h"
#include "runtime/cost.h"

namespace plait::runtime {
namespace {

syntax::File parse(const std::string& text) {
  auto file = syntax::parse(std::make_shared<SourceFile>("test.tile", text));
  if (!file) throw std::runtime_error(file.diagnostics().render());
  return std::move(*file);
}

const char* kTwo = R"(
kernel one(A: inout f32[N]; n = 4, t: type = f32, u: type = t):
  grid b = 1
  for i in range(n):
    A[0] = A[0]

kernel two(A: inout f32[N]; m = 2):
  grid b = 1
  A[0] = A[0]
)";

TEST(FrontendTest, ChoosesAKernel) {
  syntax::File two = parse(kTwo);
  EXPECT_EQ(*choose_kernel(two, "two"), "two");
  EXPECT_REPORTS(choose_kernel(two, "").diagnostics(), Rule::unknown_kernel,
                 "no kernel is named; the file has the kernels one, two");
  EXPECT_REPORTS(choose_kernel(two, "x").diagnostics(), Rule::unknown_kernel,
                 "there is no kernel x; the file has the kernels one, two");
  EXPECT_REPORTS(choose_kernel(parse(""), "").diagnostics(), Rule::unknown_kernel, "the file has no kernel");
}

TEST(FrontendTest, ObserverSeesEveryPass) {
  std::vector<std::string> seen = {"parse"};
  ASSERT_TRUE(build_kernel(parse(kTwo), "one", {}, [&](std::string_view pass, const ir::Kernel& k) {
                EXPECT_EQ(k.name, "one");
                seen.emplace_back(pass);
              }).ok());
  std::vector<std::string> listed;
  for (const Pass& pass : front_passes()) listed.emplace_back(pass.name);
  EXPECT_EQ(seen, listed);
}

TEST(FrontendTest, Bindings) {
  syntax::File two = parse(kTwo);
  EXPECT_EQ(*bindings_for(two, "two", {{"n", "1"}, {"m", "3"}}), (lang::Bindings{{"m", "3"}}));
  EXPECT_REPORTS(bindings_for(two, "two", {{"x", "1"}}).diagnostics(), Rule::unknown_argument,
                 "no kernel of the file has a compile-time parameter x");
  EXPECT_EQ(effective_bindings(two, "one", {{"t", "bf16"}}),
            (lang::Bindings{{"n", "4"}, {"t", "bf16"}, {"u", "bf16"}}));
}

Cost cost_of(const ir::Kernel& kernel, std::vector<std::int64_t> shape) {
  std::vector<float> memory(1 << 16);
  Args args;
  std::size_t at = 0;
  for (const ir::Param& p : kernel.params) {
    args.tensors[p.buffer->name] = {{memory.data() + at, p.buffer->type, shape, {}}, -1, "host"};
    at += memory.size() / kernel.params.size();
  }
  auto bound = bind(kernel, args);
  if (!bound) throw std::runtime_error(bound.diagnostics().render());
  return estimate_cost(kernel, *bound);
}

TEST(CostTest, CountsTheProductsOfEveryBlock) {
  ir::Kernel kernel = kernel_from(R"(
kernel k(A: inout f32[N, N]):
  grid x = ceildiv(N, 16), y = 2
  S = shared f32[16, 8]
  T = shared f32[8, 32]
  C = fragment f32[16, 32]
  clear(S)
  clear(T)
  clear(C)
  for k in pipelined(5, stages=2):
    gemm(S, T, C)
  A[0, 0] = A[0, 0]
)");
  Cost cost = cost_of(kernel, {100, 100});
  EXPECT_EQ(cost.gemm_flops, 7 * 2 * 5 * 2.0 * 16 * 8 * 32);
  EXPECT_TRUE(cost.exact);
  EXPECT_GT(cost.steps, cost.gemm_flops / 2);
  EXPECT_FALSE(blocks_are_separable(kernel));
}

TEST(CostTest, LoopsThatGrow) {
  ir::Kernel kernel = kernel_from(R"(
kernel k(A: in f32[N], C: out f32[N]):
  grid b = N
  S = shared f32[8, 8]
  F = fragment f32[8, 8]
  clear(S)
  clear(F)
  for i in range(b):
    gemm(S, S, F)
  C[b] = F[0, 0] + A[0]
)");
  double one = 2.0 * 8 * 8 * 8;
  Cost small = cost_of(kernel, {20});
  EXPECT_EQ(small.gemm_flops, one * 20 * 19 / 2);
  EXPECT_TRUE(small.exact);
  Cost large = cost_of(kernel, {1000});
  EXPECT_NEAR(large.gemm_flops / (one * 1000 * 999 / 2), 1, 0.01);
  EXPECT_FALSE(large.exact);
  EXPECT_TRUE(blocks_are_separable(kernel));
}

TEST(CostTest, BoundsThatAreDataAreNotExact) {
  ir::Kernel kernel = kernel_from(R"(
kernel k(A: in i32[N], C: out i32[N]):
  grid b = N
  for i in range(i64(A[b])):
    C[b] = 1
)");
  EXPECT_FALSE(cost_of(kernel, {4}).exact);
}

}  // namespace
}  // namespace plait::runtime
