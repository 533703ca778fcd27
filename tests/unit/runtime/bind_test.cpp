#include "runtime/bind.h"

#include "fixture.h"

namespace plait::runtime {
namespace {

using ir::DType;

const char* kAdd = R"(
kernel add(A: in f32[M, N], B: in f32[M, N], C: out f32[M, N], alpha: f32, beta: f32 = 2.0):
  grid b = M
  require N % 4 == 0, "N is a multiple of 4"
  for j in range(N):
    C[b, j] = alpha * A[b, j] + beta * B[b, j]
)";

/// Memory and a call of kAdd that is right; tests break one thing.
class BindTest : public ::testing::Test {
 protected:
  BindTest() : kernel(kernel_from(kAdd)), memory(4096) {
    args.tensors["A"] = tensor(0, {3, 8});
    args.tensors["B"] = tensor(100, {3, 8});
    args.tensors["C"] = tensor(200, {3, 8});
    args.scalars["alpha"] = {DType::f32, 0, 0.5};
  }
  TensorArg tensor(std::size_t at, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {}) {
    return {{memory.data() + at, DType::f32, std::move(shape), std::move(strides)}, -1, "host"};
  }
  Diagnostics findings() const {
    auto bound = bind(kernel, args);
    return bound ? Diagnostics() : bound.diagnostics();
  }

  ir::Kernel kernel;
  std::vector<float> memory;
  Args args;
};

TEST_F(BindTest, AcceptsACallThatIsRight) {
  auto bound = bind(kernel, args);
  ASSERT_TRUE(bound.ok()) << bound.diagnostics().render();
  EXPECT_EQ(bound->dims, (std::vector<std::int64_t>{3, 8}));
  EXPECT_EQ(bound->grid, (std::vector<std::int64_t>{3}));
  EXPECT_EQ(bound->tensors.at(2).data, memory.data() + 200);
  EXPECT_EQ(bound->tensors.at(0).strides, (std::vector<std::int64_t>{8, 1}));
  EXPECT_EQ(bound->scalars.at(0).f, 0.5);
  EXPECT_EQ(bound->scalars.at(1).f, 2.0);
}

TEST_F(BindTest, MissingArguments) {
  args.tensors.erase("A");
  args.scalars.clear();
  EXPECT_REPORTS(findings(), Rule::missing_argument, "kernel add gets no argument for A (a tensor), alpha (a scalar)");
}

TEST_F(BindTest, UnknownArguments) {
  args.tensors["D"] = args.tensors["A"];
  args.scalars["gamma"] = {DType::f32, 0, 1};
  args.scalars["C"] = {DType::f32, 0, 1};
  Diagnostics diags = findings();
  EXPECT_REPORTS(diags, Rule::unknown_argument,
                 "C (a scalar for a tensor parameter), D, gamma; its parameters are A, B, C, alpha, beta");
}

TEST_F(BindTest, WrongDtype) {
  args.tensors["A"].view.type = DType::f16;
  EXPECT_REPORTS(findings(), Rule::argument_dtype, "A is f16, its parameter is f32");
}

TEST_F(BindTest, WrongDevice) {
  args.tensors["A"].device = "cuda:0";
  EXPECT_REPORTS(findings(), Rule::argument_device, "A is in the memory of device 'cuda:0'");
}

TEST_F(BindTest, WrongRank) {
  args.tensors["B"] = tensor(100, {24});
  EXPECT_REPORTS(findings(), Rule::argument_rank, "B has 1 dimensions [24], its parameter has 2: [M, N]");
}

TEST_F(BindTest, WrongShape) {
  args.tensors["B"] = tensor(100, {4, 9});
  EXPECT_REPORTS(findings(), Rule::argument_shape,
                 "B has shape [4, 9]: dimension 0 is 4, but M is 3 (dimension 0 of A); dimension 1 is 9, but N is 8 "
                 "(dimension 1 of A)");
}

TEST_F(BindTest, NegativeExtent) {
  args.tensors["B"] = tensor(100, {3, -8});
  EXPECT_REPORTS(findings(), Rule::argument_shape, "B has a negative extent: [3, -8]");
}

TEST_F(BindTest, ExpectedDimsThatDisagree) {
  args.dims = {{"M", 5}, {"K", 1}};
  Diagnostics diags = findings();
  EXPECT_REPORTS(diags, Rule::argument_shape, "M is given as 5, but dimension 0 of A is 3");
  EXPECT_REPORTS(diags, Rule::unknown_dim, "kernel add has no dim K");
}

TEST_F(BindTest, NegativeStride) {
  args.tensors["A"] = tensor(0, {3, 8}, {-8, 1});
  EXPECT_REPORTS(findings(), Rule::argument_strides, "A has a negative stride: [-8, 1]");
}

TEST_F(BindTest, StridesOfAnotherLayout) {
  args.tensors["A"] = tensor(0, {3, 8}, {1, 3});
  EXPECT_REPORTS(findings(), Rule::argument_strides, "A has strides [1, 3], its parameter is contiguous: [8, 1]");
  args.tensors["A"] = tensor(0, {3, 8}, {1});
  EXPECT_REPORTS(findings(), Rule::argument_strides, "A has 2 dimensions, but 1 strides");
}

TEST_F(BindTest, StrideOfAnExtentOfOneIsFree) {
  for (const char* name : {"A", "B", "C"}) args.tensors[name].view.shape = {1, 8};
  args.tensors["A"].view.strides = {12345, 1};
  auto bound = bind(kernel, args);
  ASSERT_TRUE(bound.ok()) << bound.diagnostics().render();
  EXPECT_EQ(bound->tensors[0].strides, (std::vector<std::int64_t>{8, 1}));
}

TEST_F(BindTest, MisalignedPointer) {
  args.tensors["A"].view.data = reinterpret_cast<char*>(memory.data()) + 2;
  EXPECT_REPORTS(findings(), Rule::argument_alignment, "A starts 2 bytes behind a multiple of 4, the size of f32");
}

TEST_F(BindTest, MemoryTooSmall) {
  args.tensors["A"].bytes = 95;
  EXPECT_REPORTS(findings(), Rule::argument_memory, "A [3, 8] with strides [8, 1] needs 96 bytes, its memory has 95");
  args.tensors["A"].bytes = 96;
  EXPECT_TRUE(findings().empty());
}

TEST_F(BindTest, NullPointer) {
  args.tensors["A"].view.data = nullptr;
  EXPECT_REPORTS(findings(), Rule::argument_memory, "A [3, 8] has a null data pointer");
}

TEST_F(BindTest, ExtentsThatOverflow) {
  std::int64_t huge = std::int64_t{1} << 40;
  for (const char* name : {"A", "B", "C"}) args.tensors[name].view.shape = {huge, huge};
  EXPECT_REPORTS(findings(), Rule::argument_memory, "more elements than 64 bits count");
  for (const char* name : {"A", "B", "C"}) args.tensors[name].view.shape = {std::int64_t{1} << 61, 1};
  EXPECT_REPORTS(findings(), Rule::argument_memory, "spans more bytes than 64 bits count");
  EXPECT_REPORTS(findings(), Rule::argument_shape, "a dim is at most 140737488355327");
  for (const char* name : {"A", "B", "C"}) args.tensors[name].view.shape = {huge, 256};
  EXPECT_REPORTS(findings(), Rule::argument_shape, "[1099511627776, 256] of A multiply to more than 140737488355327");
}

TEST_F(BindTest, OutputOverlapsInput) {
  args.tensors["C"] = tensor(23, {3, 8});
  EXPECT_REPORTS(findings(), Rule::argument_overlap, "C is written and shares memory with A");
  args.tensors["C"] = tensor(24, {3, 8});
  EXPECT_TRUE(findings().empty());
}

TEST_F(BindTest, InputsMayOverlap) {
  args.tensors["B"] = args.tensors["A"];
  EXPECT_TRUE(findings().empty());
}

TEST_F(BindTest, RequireThatFails) {
  for (const char* name : {"A", "B", "C"}) args.tensors[name].view.shape = {3, 7};
  EXPECT_REPORTS(findings(), Rule::require_failed,
                 "require N % 4 == 0 does not hold: N is a multiple of 4 (M = 3, N = 7)");
}

TEST_F(BindTest, ScalarOfAnotherType) {
  args.scalars["alpha"] = {DType::i64, 1, 0};
  EXPECT_REPORTS(findings(), Rule::argument_value, "scalar argument alpha is i64, not f32");
}

TEST_F(BindTest, AllFindingsAtOnce) {
  args.tensors["A"].view.type = DType::i32;
  args.tensors["B"] = tensor(100, {3, 9});
  args.tensors["C"].view.data = args.tensors["A"].view.data;
  args.scalars.clear();
  Diagnostics diags = findings();
  EXPECT_REPORTS(diags, Rule::argument_dtype, "A");
  EXPECT_REPORTS(diags, Rule::argument_shape, "B");
  EXPECT_REPORTS(diags, Rule::argument_overlap, "C");
  EXPECT_REPORTS(diags, Rule::missing_argument, "alpha");
}

TEST_F(BindTest, EmptyTensorsAreFine) {
  for (const char* name : {"A", "B", "C"}) args.tensors[name] = {{nullptr, DType::f32, {0, 8}, {}}, 0, "host"};
  auto bound = bind(kernel, args);
  ASSERT_TRUE(bound.ok()) << bound.diagnostics().render();
  EXPECT_EQ(bound->grid, (std::vector<std::int64_t>{0}));
}

/// Parameters with strides, and shapes that are expressions.
class StridedTest : public ::testing::Test {
 protected:
  StridedTest()
      : kernel(kernel_from(R"(
kernel rows(A: in f32[M, N] strides [lda, 1], C: out f32[M, N / 2] strides [ldc, 1], n: i32 = 3):
  grid b = M / n
  C[b, 0] = A[b, 0]
)")) {}
  Result<ir::BoundArgs> call(std::vector<std::int64_t> a_strides, std::vector<std::int64_t> c_shape,
                             std::vector<std::int64_t> c_strides, std::size_t c_at = 512) {
    Args args;
    args.tensors["A"] = {{memory.data(), DType::f32, {4, 6}, std::move(a_strides)}, -1, "host"};
    args.tensors["C"] = {{memory.data() + c_at, DType::f32, std::move(c_shape), std::move(c_strides)}, -1, "host"};
    if (n) args.scalars["n"] = {DType::i32, *n, 0};
    return bind(kernel, args);
  }
  ir::Kernel kernel;
  std::vector<float> memory = std::vector<float>(1024);
  std::optional<std::int64_t> n;
};

TEST_F(StridedTest, BindsStridesAndChecksExpressions) {
  auto bound = call({10, 1}, {4, 3}, {5, 1});
  ASSERT_TRUE(bound.ok()) << bound.diagnostics().render();
  EXPECT_EQ(bound->dims, (std::vector<std::int64_t>{4, 6, 10, 5}));
  EXPECT_EQ(bound->grid, (std::vector<std::int64_t>{1}));
  EXPECT_REPORTS(call({10, 1}, {4, 4}, {5, 1}).diagnostics(), Rule::argument_shape,
                 "C has shape [4, 4]: dimension 1 is 4, but N / 2 is 3");
  EXPECT_REPORTS(call({10, 2}, {4, 3}, {5, 1}).diagnostics(), Rule::argument_strides,
                 "A has strides [10, 2], its parameter is strides [lda, 1]: [10, 1]");
}

TEST_F(StridedTest, WrittenElementsLieApart) {
  EXPECT_REPORTS(call({10, 1}, {4, 3}, {0, 1}).diagnostics(), Rule::argument_overlap,
                 "C is written and shares memory with its own elements");
  EXPECT_TRUE(call({0, 1}, {4, 3}, {3, 1}).ok());
}

TEST_F(StridedTest, SlicesOfOneArrayMayInterleave) {
  EXPECT_TRUE(call({10, 1}, {4, 3}, {10, 1}, 6).ok());
  EXPECT_REPORTS(call({10, 1}, {4, 3}, {10, 1}, 5).diagnostics(), Rule::argument_overlap,
                 "C is written and shares memory with A");
  EXPECT_REPORTS(call({10, 1}, {4, 3}, {10, 1}, 8).diagnostics(), Rule::argument_overlap,
                 "C is written and shares memory with A");
}

TEST_F(StridedTest, ArithmeticOfTheCall) {
  n = 0;
  EXPECT_REPORTS(call({10, 1}, {4, 3}, {5, 1}).diagnostics(), Rule::call_arithmetic, "divides by zero");
  n = -1;
  EXPECT_REPORTS(call({10, 1}, {4, 3}, {5, 1}).diagnostics(), Rule::grid_extent, "is -4");
  n = std::int64_t{1} << 31;
  EXPECT_REPORTS(call({10, 1}, {4, 3}, {5, 1}).diagnostics(), Rule::argument_value,
                 "scalar argument n is 2147483648, outside i32");
}

TEST_F(StridedTest, GridOfTooManyBlocks) {
  ir::Kernel big = kernel_from(R"(
kernel k(A: inout f32[1], m: i64):
  grid x = m, y = m, z = m
  if x == 0 and y == 0 and z == 0:
    A[0] = A[0]
)");
  Args args;
  args.tensors["A"] = {{memory.data(), DType::f32, {1}, {}}, -1, "host"};
  args.scalars["m"] = {DType::i64, std::int64_t{1} << 32, 0};
  EXPECT_REPORTS(bind(big, args).diagnostics(), Rule::grid_extent,
                 "grid x = m is 4294967296; a grid has at most 2147483647 blocks");
  args.scalars["m"].i = 70000;
  EXPECT_REPORTS(bind(big, args).diagnostics(), Rule::grid_extent,
                 "the grid [70000, 70000, 70000] has 343000000000000 blocks; a grid has at most 2147483647");
  args.scalars["m"].i = 1290;
  EXPECT_TRUE(bind(big, args).ok());
}

TEST(LayoutsTest, ShapesFromDims) {
  ir::Kernel kernel = kernel_from(kAdd);
  auto shapes = shapes_for(kernel, {{"M", 2}, {"N", 4}});
  ASSERT_TRUE(shapes.ok());
  EXPECT_EQ(shapes->at("C"), (std::vector<std::int64_t>{2, 4}));
  EXPECT_REPORTS(shapes_for(kernel, {{"X", 1}}).diagnostics(), Rule::missing_dim,
                 "kernel add needs a value for the dims M, N");
  EXPECT_REPORTS(shapes_for(kernel, {{"X", 1}}).diagnostics(), Rule::unknown_dim,
                 "kernel add has no dim X; it has M, N");
  EXPECT_REPORTS(shapes_for(kernel, {{"M", -2}, {"N", 4}}).diagnostics(), Rule::argument_shape,
                 "a dim is negative: M = -2");
  std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_REPORTS(shapes_for(kernel, {{"M", huge}, {"N", huge}}).diagnostics(), Rule::argument_memory,
                 "more elements than 64 bits count");
}

TEST(LayoutsTest, StridesNobodyGaveArePacked) {
  ir::Kernel kernel = kernel_from(R"(
kernel k(A: in f32[M, N] strides [lda, 1], B: in f32[M, N] strides [1, ldb], C: out f32[M, N, 2] strides [c0, c1, c2]):
  grid b = M
  C[b, 0, 0] = A[b, 0] + B[b, 0]
)");
  auto layouts = layouts_for(kernel, {{"M", 3}, {"N", 5}});
  ASSERT_TRUE(layouts.ok()) << layouts.diagnostics().render();
  EXPECT_EQ(layouts->at("A").strides, (std::vector<std::int64_t>{5, 1}));
  EXPECT_EQ(layouts->at("B").strides, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(layouts->at("C").strides, (std::vector<std::int64_t>{10, 2, 1}));
  layouts = layouts_for(kernel, {{"M", 3}, {"N", 5}, {"lda", 9}});
  ASSERT_TRUE(layouts.ok());
  EXPECT_EQ(layouts->at("A").strides, (std::vector<std::int64_t>{9, 1}));
}

}  // namespace
}  // namespace plait::runtime
