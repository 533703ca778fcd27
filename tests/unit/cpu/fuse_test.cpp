#include "emit/cpu/fuse.h"

#include "unit/cpu/run.h"

// Copies that become loads and stores of the parallel loop between them. Every program runs on inner tiles and on edge
// tiles.
namespace plait::test {
namespace {

const std::string head =
    "kernel k(A: in f32[M, N], B: in f16[N], C: out f32[M, N], D: inout f32[M, N]):\n"
    "  grid x = ceildiv(N, 24), y = ceildiv(M, 4)\n  a = shared f32[4, 24]\n  b = shared f32[24]\n"
    "  c = shared f32[4, 24]\n  d = shared f32[4, 24]\n";

/// Number of fusions among the statements of the body, and whether the program computes what the interpreter does.
int fusions(const std::string& body) {
  const std::string text = head + body;
  expect_as_interpreted(text, {{"M", 9}, {"N", 61}});
  expect_as_interpreted(text, {{"M", 8}, {"N", 48}});
  const ir::Kernel kernel = kernel_of(text);
  int count = 0;
  for (std::size_t i = 0; i < kernel.body.size();) {
    const cpu::Place place{&kernel.body, i, false, nullptr};
    const auto fusion = cpu::plan_fusion(place, [](const ir::Load&, std::size_t) { return true; });
    i += fusion.has_value() ? fusion->count : 1;
    count += fusion.has_value() ? 1 : 0;
  }
  return count;
}

const std::string in_a = "  copy(A[y * 4, x * 24], a)\n";
const std::string in_b = "  copy(B[x * 24], b)\n";
const std::string out_c = "  copy(c, C[y * 4, x * 24])\n";
const std::string loop = "  for i, j in parallel(4, 24):\n";

TEST(Fuse, LoadsAndStores) {
  EXPECT_EQ(fusions(in_a + in_b + loop + "    c[i, j] = a[i, j] * b[j]\n" + out_c), 1);
  EXPECT_EQ(fusions(in_a + loop + "    a[i, j] = a[i, j] * 2 + a[i, j]\n  copy(a, C[y * 4, x * 24])\n"), 1);
  EXPECT_EQ(fusions("  fill(c, 3)\n" + loop + "    c[i, j] += f32(i)\n" + out_c), 1);
  EXPECT_EQ(fusions(in_a + loop + "    c[i, j] = a[3 - i, 23 - j]\n" + out_c), 1);
  EXPECT_EQ(fusions(in_a + loop + "    if a[i, j] > 0:\n      a[i, j] = -a[i, j]\n  copy(a, C[y * 4, x * 24])\n"), 1);
}

TEST(Fuse, TwoResults) {
  EXPECT_EQ(fusions(in_a + loop + "    c[i, j] = a[i, j] + 1\n    d[i, j] = a[i, j] - 1\n" + out_c +
                    "  copy(d, D[y * 4, x * 24])\n"),
            1);
  EXPECT_EQ(
      fusions(in_a + loop + "    c[i, j] = a[i, j] + 1\n" + out_c + "  copy(c, D[y * 4, x * 24], cache=evict_first)\n"),
      1);
}

TEST(Fuse, BuffersReadLaterKeepTheirContents) {
  // a is read again: its copy stays. c is not.
  EXPECT_EQ(fusions(in_a + loop + "    c[i, j] = a[i, j] + 1\n" + out_c + "  copy(a, D[y * 4, x * 24])\n"), 1);
  // c is read again: nothing to gain but the load of a.
  EXPECT_EQ(fusions(in_a + loop + "    c[i, j] = a[i, j] + 1\n" + out_c +
                    "  fill(b, c[0, 0])\n  copy(c, D[y * 4, x * 24])\n"),
            1);
  EXPECT_EQ(fusions(loop + "    c[i, j] = 1\n" + out_c + "  fill(d, c[0, 0])\n  copy(d, D[y * 4, x * 24])\n"), 0);
}

TEST(Fuse, OneTensorWrittenTwice) {
  EXPECT_EQ(fusions(in_a + loop + "    c[i, j] = a[i, j] + 1\n    d[i, j] = a[i, j] * 2\n" + out_c +
                    "  copy(d, C[y * 4, x * 24])\n"),
            1);
}

TEST(Fuse, TensorsReadAndWrittenInOneLoop) {
  const std::string in_d = "  copy(D[y * 4, x * 24], d)\n";
  EXPECT_EQ(
      fusions(in_d + loop + "    d[i, j] = d[i, j] * 2\n  copy(d, D[y * 4, x * 24])\n  copy(d, C[y * 4, x * 24])\n"),
      1);
  // All of D is read before any of it is written.
  EXPECT_EQ(fusions(in_d + loop + "    c[i, j] = d[3 - i, j]\n  copy(c, D[y * 4, x * 24])\n" + out_c), 1);
}

TEST(Fuse, NotForPadValidOrRows) {
  EXPECT_EQ(fusions("  copy(A[y * 4, x * 24], a, valid=(3, 20))\n" + loop +
                    "    c[i, j] = a[i, j]\n  fill(d, c[0, 0])\n" + out_c),
            0);
  EXPECT_EQ(fusions("  copy(A[y * 4, x * 24], a, pad=5)\n" + loop + "    c[i, j] = a[i, j]\n" + out_c), 1);
}

TEST(Fuse, InsideLoops) {
  expect_as_interpreted(head + R"(
  clear(c)
  for k in pipelined(3, stages=2):
    copy(A[y * 4 + k, x * 24 - k], a)
    copy(B[x * 24 + k], b)
    for i, j in parallel(4, 24):
      c[i, j] += a[i, j] * b[j]
  for i, j in parallel(4, 24):
    c[i, j] *= 2
  copy(c, C[y * 4, x * 24], cache=evict_first)
)",
                        {{"M", 9}, {"N", 61}});
  // The next iteration reads what this one left in a.
  expect_as_interpreted(head + R"(
  clear(a)
  clear(c)
  for k in range(3):
    for i, j in parallel(4, 24):
      c[i, j] += a[i, j]
    copy(A[y * 4 + k, x * 24], a)
    for i, j in parallel(4, 24):
      c[i, j] += a[i, j] * 3
    if k == 1:
      continue
  copy(c, C[y * 4, x * 24])
)",
                        {{"M", 9}, {"N", 61}});
}

TEST(Fuse, ChecksOfTheLoopStay) {
  const ir::Kernel kernel = kernel_of(R"(
kernel k(A: in f32[64], I: in i32[1], C: out f32[32]):
  grid b = 1
  a = shared f32[32]
  c = shared f32[32]
  n = i64(I[0])
  copy(A[0], a)
  for i in parallel(32):
    c[i] = a[i + n]
  copy(c, C[0])
)");
  Call call(kernel, {});
  call.set("I", {3});
  EXPECT_EQ(run_blocks(code_of(kernel), call.args()),
            "9: index 34 leaves dimension 0 of a, whose extent is 32 [out-of-bounds]");
}

struct Program {
  ir::Kernel kernel;
  const ir::BufferDecl* buffer(const std::string& name) const {
    for (const auto& stmt : kernel.body) {
      const auto* alloc = std::get_if<ir::Alloc>(&stmt->node);
      if (alloc != nullptr && alloc->buffer->name == name) return alloc->buffer.get();
    }
    return nullptr;
  }
};

bool dead_at_the_end_of(const std::string& body, std::size_t statement) {
  const Program p{kernel_of(head + "  fill(a, 1)\n  fill(c, 1)\n  t = local i32[1]\n  t[0] = 1\n" + body +
                            "  copy(c, C[y * 4, x * 24])\n  fill(D[0:0, 0:0], 0)\n")};
  return cpu::dead_after(p.buffer("a"), cpu::Place{&p.kernel.body, 8 + statement, false, nullptr}, 1);
}

TEST(Liveness, StraightLists) {
  EXPECT_TRUE(dead_at_the_end_of("  pass\n", 0));
  EXPECT_FALSE(dead_at_the_end_of("  t[0] = 2\n  copy(a, c)\n", 0));
  EXPECT_TRUE(dead_at_the_end_of("  t[0] = 2\n  clear(a)\n  copy(a, c)\n", 0));
  EXPECT_FALSE(dead_at_the_end_of("  t[0] = 2\n  clear(a[0:2, 0:24])\n  copy(a, c)\n", 0));
  EXPECT_FALSE(dead_at_the_end_of("  t[0] = 2\n  t[0] = i32(a[1, 1])\n  clear(a)\n", 0));
}

TEST(Liveness, Branches) {
  EXPECT_TRUE(dead_at_the_end_of("  t[0] = 2\n  if M > 3:\n    clear(a)\n  else:\n    fill(a, 2)\n  copy(a, c)\n", 0));
  EXPECT_FALSE(dead_at_the_end_of("  t[0] = 2\n  if M > 3:\n    clear(a)\n  copy(a, c)\n", 0));
  EXPECT_FALSE(dead_at_the_end_of("  t[0] = 2\n  if M > 3:\n    clear(a)\n  else:\n    copy(a, c)\n", 0));
}

TEST(Liveness, Loops) {
  EXPECT_FALSE(dead_at_the_end_of("  t[0] = 2\n  for k in range(M):\n    clear(a)\n  copy(a, c)\n", 0));
  EXPECT_FALSE(dead_at_the_end_of("  t[0] = 2\n  for k in range(M):\n    copy(a, c)\n    clear(a)\n", 0));
  EXPECT_TRUE(dead_at_the_end_of("  t[0] = 2\n  for k in range(M):\n    clear(a)\n    copy(a, c)\n", 0));
  EXPECT_TRUE(dead_at_the_end_of(
      "  t[0] = 2\n  for k in range(M):\n    if k == 2:\n      break\n    clear(a)\n    copy(a, c)\n", 0));
}

}  // namespace
}  // namespace plait::test
