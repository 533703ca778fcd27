#include "ir/build.h"
#include "unit/interp/run.h"

namespace plait::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// The text of the one finding of a run with the given dims; the kernel need not pass the verifier, which proves some
/// of these.
std::string finding(const std::string& text, const Dims& dims = {}, const interp::Options& options = {}) {
  Result<ir::Kernel> kernel = load(text);
  if (!kernel) return kernel.diagnostics().render();
  Call call(*kernel, dims);
  const Diagnostics found = interp::interpret(*kernel, call.args(), options);
  EXPECT_EQ(found.list().size(), 1u) << found.render();
  return found.render();
}

TEST(Detect, OutOfBoundsLoad) {
  EXPECT_THAT(finding(R"(
kernel k(A: in f32[N], B: out f32[N]):
  grid bx = 2
  for i in range(N):
    B[i] = A[i + bx]
)",
                      {{"N", 3}}),
              AllOf(HasSubstr("test.tile:5:"), HasSubstr("[block-overlap]"), HasSubstr("B[0]")));
  EXPECT_THAT(
      finding(R"(
kernel k(A: in f32[N], B: out f32[2, N]):
  grid bx = 2
  for i in range(N):
    B[bx, i] = A[i + bx]
)",
              {{"N", 3}}),
      AllOf(HasSubstr("test.tile:5:"), HasSubstr("[out-of-bounds]"), HasSubstr("index 3 of dimension 0 of A[3]"),
            HasSubstr("outside [0, 3)"), HasSubstr("at bx = 1, i = 2"), HasSubstr("A[3] is defined here")));
}

TEST(Detect, OutOfBoundsStore) {
  EXPECT_THAT(finding(R"(
kernel k(B: out f32[4, 4]):
  grid bx = 1
  for i, j in parallel(2, 4):
    B[i, j - 1] = 0
)"),
              AllOf(HasSubstr("test.tile:5:5"), HasSubstr("[out-of-bounds]"),
                    HasSubstr("index -1 of dimension 1 of B[4, 4] is outside [0, 4), at bx = 0, i = 0, j = 0")));
}

TEST(Detect, OnChipRegionOutside) {
  EXPECT_THAT(finding(R"(
kernel k(A: in f32[16], B: out f32[16]):
  grid bx = 1
  s = shared f32[16]
  for i in range(3):
    copy(A[0:8], s[i * 8 : i * 8 + 8])
  copy(s, B)
)"),
              AllOf(HasSubstr("test.tile:6:"), HasSubstr("[out-of-bounds]"),
                    HasSubstr("elements 16:24 of dimension 0 of s[16] are not all inside [0, 16), at bx = 0, i = 2")));
}

TEST(Detect, ReadOfNeverWritten) {
  EXPECT_THAT(finding(R"(
kernel k(B: out f32[4]):
  grid bx = 1
  s = shared f32[4, 2]
  for i in range(3):
    s[i, 1] = 1
  for i in range(4):
    B[i] = s[i, 1]
)"),
              AllOf(HasSubstr("test.tile:8:"), HasSubstr("[unwritten-read]"),
                    HasSubstr("s[3, 1] is read, but was never written, at bx = 0, i = 3")));
}

TEST(Detect, ReadOfNeverWrittenByATileOperation) {
  EXPECT_THAT(finding(R"(
kernel k(B: out f32[4]):
  grid bx = 1
  s = shared f32[4]
  sum = shared f32[1]
  s[0] = 1
  reduce_sum(s, sum)
  copy(sum, B[0:1])
)"),
              AllOf(HasSubstr("test.tile:7:"), HasSubstr("[unwritten-read]"), HasSubstr("s[1] is read")));
}

TEST(Detect, ABufferIsNewInEachIteration) {
  EXPECT_THAT(finding(R"(
kernel k(B: out f32[4]):
  grid bx = 1
  for i in range(2):
    s = shared f32[1]
    if i == 0:
      s[0] = 1
    B[i] = s[0]
)"),
              AllOf(HasSubstr("test.tile:8:"), HasSubstr("[unwritten-read]"), HasSubstr("at bx = 0, i = 1")));
}

TEST(Detect, ABufferIsNewInEachBlock) {
  EXPECT_THAT(finding(R"(
kernel k(B: out f32[4]):
  grid bx = 2
  s = shared f32[1]
  if bx == 0:
    s[0] = 1
  B[bx] = s[0]
)"),
              AllOf(HasSubstr("[unwritten-read]"), HasSubstr("at bx = 1")));
}

TEST(Detect, ReadOfAnOutParameter) {
  EXPECT_THAT(finding(R"(
kernel k(B: out f32[4]):
  grid bx = 1
  B[0] = 1
  B[2] = B[0] + B[1]
)"),
              AllOf(HasSubstr("[unwritten-read]"), HasSubstr("B[1] is read")));
}

TEST(Detect, OverlappingWritesOfParallelIterations) {
  EXPECT_THAT(
      finding(R"(
kernel k(B: out f32[4]):
  grid bx = 1
  s = shared f32[8]
  for i, j in parallel(4, 4):
    s[i + j] = 1
  copy(s[0:4], B)
)"),
      AllOf(
          HasSubstr("test.tile:6:"), HasSubstr("[parallel-overlap]"),
          HasSubstr("s[1] is written here, and also touched by the iteration i = 0, j = 1, at bx = 0, i = 1, j = 0")));
}

TEST(Detect, ParallelIterationReadsWhatAnotherWrote) {
  EXPECT_THAT(finding(R"(
kernel k(B: out f32[4]):
  grid bx = 1
  s = shared f32[5]
  fill(s, 1)
  for i in parallel(4):
    s[i + 1] = s[i]
  copy(s[0:4], B)
)"),
              AllOf(HasSubstr("[parallel-overlap]"), HasSubstr("s[1] is read here"), HasSubstr("the iteration i = 0")));
}

TEST(Detect, ParallelIterationWritesWhatAnotherRead) {
  EXPECT_THAT(
      finding(R"(
kernel k(B: out f32[4]):
  grid bx = 1
  s = shared f32[5]
  fill(s, 1)
  for i in parallel(4):
    s[i] = s[i + 1]
  copy(s[0:4], B)
)"),
      AllOf(HasSubstr("[parallel-overlap]"), HasSubstr("s[1] is written here"), HasSubstr("the iteration i = 0")));
}

TEST(Detect, AtomicsOfParallelIterationsAreFine) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in i32[16], B: inout i32[4]):
  grid bx = 2
  s = shared i32[4]
  clear(s)
  for i in parallel(16):
    atomic_add(s[A[i]], 1)
  for i in parallel(16):
    atomic_add(B[A[i]], 1)
  atomic_add(B, s)
)");
  Call call(kernel, {});
  call.set("A", {0, 1, 2, 3, 0, 0, 0, 1, 1, 1, 2, 2, 0, 0, 3, 3}).set("B", {0, 0, 0, 100});
  expect_runs(kernel, call);
  EXPECT_THAT(call.get("B"), testing::ElementsAre(24, 16, 12, 112));
}

TEST(Detect, AtomicMixedWithAPlainRead) {
  EXPECT_THAT(finding(R"(
kernel k(B: inout i32[4]):
  grid bx = 1
  for i in parallel(4):
    atomic_add(B[i / 2], 1)
    B[3] = B[0]
)"),
              AllOf(HasSubstr("[parallel-overlap]"), HasSubstr("B[")));
}

TEST(Detect, BlocksThatWriteOneElement) {
  EXPECT_THAT(
      finding(R"(
kernel k(B: out f32[8]):
  grid bx = 2, by = 2
  s = shared f32[4]
  fill(s, 1)
  copy(s, B[bx * 3 + by * 3])
)"),
      AllOf(HasSubstr("test.tile:6:"), HasSubstr("[block-overlap]"),
            HasSubstr("B[3] is written here, and also touched by the block bx = 0, by = 0, at bx = 1, by = 0")));
}

TEST(Detect, BlockThatReadsWhatAnotherWrote) {
  EXPECT_THAT(finding(R"(
kernel k(B: inout f32[8]):
  grid bx = 2
  B[bx] = B[0] + 1
)"),
              AllOf(HasSubstr("[block-overlap]"), HasSubstr("B[0] is read here"), HasSubstr("the block bx = 0")));
}

TEST(Detect, BlockThatWritesWhatAnotherRead) {
  EXPECT_THAT(finding(R"(
kernel k(B: inout f32[8]):
  grid bx = 2
  B[bx + 2] = B[3]
)"),
              AllOf(HasSubstr("[block-overlap]"), HasSubstr("B[3] is written here"), HasSubstr("another block")));
}

TEST(Detect, LocalBufferWrittenInParallel) {
  EXPECT_THAT(finding(R"(
kernel k(B: out f32[4]):
  grid bx = 1
  x = local f32[1]
  for i in parallel(4):
    x[0] = 1
    B[i] = x[0]
)"),
              AllOf(HasSubstr("test.tile:6:"), HasSubstr("[local-in-parallel]"), HasSubstr("x[1] is local")));
}

TEST(Detect, LocalBufferOfAnIterationIsFine) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(B: out i64[4]):
  grid bx = 1
  base = local i64[1]
  base[0] = 10
  for i in parallel(4):
    x = local i64[2]
    x[0] = i
    x[1] = x[0] * 2
    B[i] = x[1] + base[0]
)");
  Call call(kernel, {});
  expect_runs(kernel, call);
  EXPECT_THAT(call.get("B"), testing::ElementsAre(10, 12, 14, 16));
}

TEST(Detect, DivisionByZero) {
  for (const char* expr : {"7 / (i - 2)", "7 % (i - 2)", "ceildiv(7, i - 2)"}) {
    EXPECT_THAT(finding(std::string(R"(
kernel k(B: out i64[4]):
  grid bx = 1
  for i in range(4):
    B[i] = )") + expr + "\n"),
                AllOf(HasSubstr("test.tile:5:"), HasSubstr("[division-by-zero]"),
                      HasSubstr("7 is divided by zero, at bx = 0, i = 2")));
  }
}

TEST(Detect, FailedAssert) {
  EXPECT_THAT(finding(R"(
kernel k(B: out i64[4], n: i32):
  grid bx = 1
  for i in range(4):
    assert i < 2 or n > 0, "n must be positive"
    B[i] = i
)"),
              AllOf(HasSubstr("test.tile:5:"), HasSubstr("[assert-failed]"),
                    HasSubstr("n must be positive (i < 2 or n > 0 does not hold), at bx = 0, i = 2")));
}

TEST(Detect, TimeLimit) {
  interp::Options options;
  options.max_seconds = 0.05;
  EXPECT_THAT(finding(R"(
kernel k(B: out i64[4]):
  grid bx = 1
  n = shared i64[1]
  n[0] = 0
  while n[0] >= 0:
    n[0] = n[0] * 2
  copy(n, B[0:1])
)",
                      {}, options),
              AllOf(HasSubstr("test.tile:6:3: error: the interpreter has run for more than 0.05 s, at bx = 0 "
                              "[time-limit]")));
  EXPECT_THAT(finding(R"(
kernel k(B: out i64[4]):
  grid bx = 1 << 30
  if bx < 4:
    B[bx] = bx
)",
                      {}, options),
              HasSubstr("test.tile:2:8: error: the interpreter has run for more than 0.05 s [time-limit]"));
}

TEST(Detect, OutputsNotWritten) {
  const char* program = R"(
kernel k(B: out i64[2, 4], C: out i64[2]):
  grid bx = 2
  for i in range(bx):
    B[bx, i] = i
  C[bx] = 1
)";
  const ir::Kernel kernel = kernel_of(program);
  Call call(kernel, {});
  expect_runs(kernel, call);
  interp::Options options;
  options.whole_outputs = true;
  EXPECT_THAT(finding(program, {}, options),
              HasSubstr("test.tile:2:10: error: 7 elements of B[2, 4] were not written: B[0, 0], B[0, 1], B[0, 2], "
                        "B[0, 3], … [output-unwritten]"));
}

TEST(Detect, StepLimit) {
  interp::Options options;
  options.max_steps = 10000;
  EXPECT_THAT(finding(R"(
kernel k(B: out i64[4]):
  grid bx = 1
  n = shared i64[1]
  n[0] = 0
  while n[0] >= 0:
    n[0] = n[0] * 2
  copy(n, B[0:1])
)",
                      {}, options),
              AllOf(HasSubstr("[step-limit]"), HasSubstr("more than 10000 steps")));
  EXPECT_THAT(finding(R"(
kernel k(B: out i64[4]):
  grid bx = 1
  for i in range(1 << 62):
    pass
  B[0] = 1
)",
                      {}, options),
              HasSubstr("[step-limit]"));
  EXPECT_THAT(finding(R"(
kernel k(B: out i64[4]):
  grid bx = 1
  for i in range(1 << 40):
    for j in range(0):
      pass
    continue
  B[0] = 1
)",
                      {}, options),
              HasSubstr("[step-limit]"));
}

TEST(Detect, StepOfALoop) {
  EXPECT_THAT(finding(R"(
kernel k(A: in i64[1], B: out i64[4]):
  grid bx = 1
  for i in range(0, 4, A[0]):
    B[i] = i
)"),
              AllOf(HasSubstr("test.tile:4:"), HasSubstr("[loop-step]"), HasSubstr("the loop over i has step 0")));
}

/// No text gives such a program, as the elaborator wants one extent for both sides; one that is built by hand may.
TEST(Detect, ExtentsThatDiffer) {
  Result<ir::Kernel> kernel = load(R"(
kernel k(A: in f32[N], B: out f32[M]):
  grid bx = 1
  copy(A[0:N], B[0:N])
)");
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics().render();
  auto copy = std::get<ir::TileOp>(kernel->body[0]->node);
  copy.operands[1].ranges[0].extent = kernel->params[1].buffer->shape[0];
  kernel->body[0] = ir::make_stmt(copy, kernel->body[0]->loc);
  Call call(*kernel, {{"N", 3}, {"M", 4}});
  EXPECT_THAT(interp::interpret(*kernel, call.args()).render(),
              AllOf(HasSubstr("test.tile:4:"), HasSubstr("[region-extent]"),
                    HasSubstr("the two sides have the extents (3) of A[3] and (4) of B[4]")));
}

TEST(Detect, NegativeExtent) {
  EXPECT_THAT(finding(R"(
kernel k(A: in f32[N], B: out f32[N]):
  grid bx = 1
  copy(A[4:N], B[4:N])
)",
                      {{"N", 3}}),
              AllOf(HasSubstr("[region-extent]"), HasSubstr("the extent of dimension 0 of this part of A[3] is -1")));
}

TEST(Detect, BuffersBeyondTheInterpretersMemory) {
  EXPECT_THAT(finding(R"(
kernel k(B: out f32[1]):
  grid bx = 1
  s = shared f32[8, 1048576]
  t = shared f32[1024, 65537]
  B[0] = 1
)"),
              AllOf(HasSubstr("test.tile:5:"), HasSubstr("[memory-limit]"),
                    HasSubstr("t[1024, 65537] and the buffers before it")));
}

TEST(Detect, FarRegionsDoNotOverflow) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f32[8], at: i64, B: out f32[8]):
  grid bx = 1
  s = shared f32[8]
  copy(A[at], s, pad=5)
  copy(s, B)
)");
  for (const std::int64_t at : {INT64_MIN, INT64_MAX, std::int64_t{-8}, std::int64_t{8}}) {
    Call call(kernel, {});
    ir::BoundArgs args = call.args();
    args.scalars[0].i = at;
    EXPECT_TRUE(interp::interpret(kernel, args).empty());
    EXPECT_THAT(call.get("B"), testing::Each(5));
  }
}

}  // namespace
}  // namespace plait::test
