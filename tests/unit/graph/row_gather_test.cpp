#include "graph/row_gather.h"

#include "graph/work.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "roundtrip.h"

namespace plait::graph {
namespace {

/// The parallel nest of a kernel that loads a tile, multiplies nothing and stores a fragment.
ir::StmtRef nest_of(const std::string& body) {
  auto kernel = test::load(
      "kernel k(A: in f16[M, K], B: in f32[M, K], T: in i32[M], C: out f16[M, N]):\n"
      "  grid b = ceildiv(M, 64)\n  A_s = shared f16[64, 32]\n  acc = fragment f32[64, 64]\n  clear(acc)\n" +
      body);
  if (!kernel) throw InternalError(kernel.diagnostics().render());
  for (const ir::StmtRef& stmt : kernel->body) {
    if (std::holds_alternative<ir::For>(stmt->node)) return stmt;
  }
  throw InternalError("no nest");
}
std::optional<TensorRows> gather(const std::string& value, const std::string& lets = {}) {
  return row_gather(*nest_of("  for i, c in parallel(64, 32):\n" + lets + "    A_s[i, c] = " + value + "\n"));
}
std::optional<TensorRows> scatter(const std::string& body) {
  return row_scatter(*nest_of("  for i, c in parallel(64, 64):\n" + body));
}

TEST(RowGather, FindsRowsAndTheirConditions) {
  auto rows = gather("select(r < M and r >= 3 and 32 + c < K, A[r, 32 + c], 0)", "    r = b * 64 + i * 7 % 64\n");
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->tile->name, "A_s");
  EXPECT_EQ(rows->tensor->name, "A");
  EXPECT_EQ(rows->index.size(), 1U);
  EXPECT_EQ(ir::as_int(rows->begin), 32);
  EXPECT_NE(rows->inside, nullptr);
  EXPECT_TRUE(rows->clipped);
}

TEST(RowGather, NeedsNoCondition) {
  auto rows = gather("A[b * 64 + 63 - i, c]");
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->inside, nullptr);
  EXPECT_FALSE(rows->clipped);
  EXPECT_EQ(ir::as_int(rows->begin), 0);
}

TEST(RowGather, IsALoad) {
  const ir::StmtRef nest = nest_of("  for i, c in parallel(64, 32):\n    A_s[i, c] = A[i, c]\n");
  EXPECT_TRUE(is_load(*nest));
  EXPECT_EQ(loaded_tile(*nest)->name, "A_s");
  EXPECT_EQ(loaded_tensor(*nest)->name, "A");
}

TEST(RowGather, IsNothingElse) {
  EXPECT_FALSE(gather("A[c, i]"));                       // columns
  EXPECT_FALSE(gather("A[i, 2 * c]"));                   // apart
  EXPECT_FALSE(gather("A[i, 31 - c]"));                  // backwards
  EXPECT_FALSE(gather("A[i, c + i]"));                   // each from elsewhere
  EXPECT_FALSE(gather("select(i < 5, A[i, c], 1)"));     // other padding
  EXPECT_FALSE(gather("select(i < 5, A[i, c], -0.0)"));  // not the bits of zero
  EXPECT_FALSE(gather("select(c < 5, A[i, c], 0)"));     // a part of a row
  EXPECT_FALSE(gather("select(c < i, A[i, c], 0)"));     // a triangle
  EXPECT_FALSE(gather("f16(B[i, c])"));                  // another type
  EXPECT_FALSE(gather("A[i, c] + A[i, c]"));             // computed
  EXPECT_FALSE(row_gather(*nest_of("  for i, c in parallel(63, 32):\n    A_s[i, c] = A[i, c]\n")));  // a part
  EXPECT_FALSE(row_gather(*nest_of("  for i, c in parallel(64, 32):\n    A_s[63 - i, c] = A[i, c]\n")));
}

TEST(RowScatter, FindsRowsUnderConditions) {
  auto rows = scatter(
      "    m = b * 64 + i\n    if m < M:\n      n = 64 + c\n      if n < N and i != 5:\n        C[M - 1 - m, n] = "
      "acc[i, c]\n");
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->tile->name, "acc");
  EXPECT_EQ(rows->tensor->name, "C");
  EXPECT_EQ(ir::as_int(rows->begin), 64);
  EXPECT_NE(rows->inside, nullptr);
  EXPECT_TRUE(rows->clipped);
}

TEST(RowScatter, IsNothingElse) {
  EXPECT_FALSE(scatter("    C[i, c] = acc[i, c] * 2.0\n"));                // computed
  EXPECT_FALSE(scatter("    C[i, c] = acc[63 - i, c]\n"));                 // of another row
  EXPECT_FALSE(scatter("    C[c, i] = acc[i, c]\n"));                      // columns
  EXPECT_FALSE(scatter("    C[i, c] = f16(acc[i, c], saturate=true)\n"));  // another rounding
  EXPECT_FALSE(scatter("    if i < 5:\n      C[i, c] = acc[i, c]\n    else:\n      C[i, c] = 0\n"));
  EXPECT_FALSE(scatter("    C[i, c] = acc[i, c]\n    C[i + 64, c] = acc[i, c]\n"));  // two stores
}

}  // namespace
}  // namespace plait::graph
