#include "npu/separate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npu/homes.h"
#include "roundtrip.h"

namespace plait::npu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kHead =
    "kernel k(A: in bf16[M, K], B: in bf16[K, N], E: in f32[N], C: out f32[M, N]):\n  grid b = 1\n"
    "  A_s = shared bf16[16, 16]\n  B_s = shared bf16[16, 16]\n  acc = fragment f32[16, 16]\n"
    "  r = fragment f32[16, 16]\n";

ir::Kernel kernel_of(const std::string& body) {
  auto kernel = plait::test::load(kHead + body, {}, "");
  if (!kernel) throw InternalError(kernel.diagnostics().render());
  return *kernel;
}

std::string separated(const std::string& body) {
  auto made = separate(kernel_of(body));
  if (!made) throw InternalError(made.diagnostics().render());
  return ir::print(*made);
}

const std::string kLoad = "  copy(A[0, 0], A_s)\n  copy(B[0, 0], B_s)\n";

TEST(Separate, LeavesAloneWhatLiesInOneMemory) {
  std::string body = kLoad + "  clear(acc)\n  gemm(A_s, B_s, acc)\n  copy(acc, C[0, 0])\n";
  EXPECT_EQ(separated(body), ir::print(kernel_of(body)));
}

TEST(Separate, HandsResultsOnBehindTheLastProduct) {
  std::string text = separated(kLoad +
                               "  clear(acc)\n  for k in range(3):\n    gemm(A_s, B_s, acc)\n"
                               "  for i, j in parallel(16, 16):\n    acc[i, j] = max(acc[i, j], 0)\n"
                               "  copy(acc, C[0, 0])\n");
  EXPECT_THAT(text, HasSubstr("acc_ub = fragment f32[16, 16]"));
  EXPECT_THAT(text, HasSubstr("gemm(A_s, B_s, acc)\n  copy(acc, acc_ub)\n"));
  EXPECT_THAT(text, HasSubstr("acc_ub[i, j] = max(acc_ub[i, j], 0"));
  EXPECT_THAT(text, HasSubstr("copy(acc_ub, C"));
}

TEST(Separate, AddsUpInUbWhatElementWorkChangesInBetween) {
  std::string text = separated(kLoad +
                               "  clear(acc)\n  for k in range(3):\n    for i, j in parallel(16, 16):\n"
                               "      acc[i, j] *= 0.5\n    gemm(A_s, B_s, acc)\n  copy(acc, C[0, 0])\n");
  EXPECT_THAT(text, HasSubstr("gemm(A_s, B_s, acc_l0c, clear_accum=true)\n    copy(acc_l0c, acc_new)\n"));
  EXPECT_THAT(text, HasSubstr("acc[i, j] = acc[i, j] + acc_new[i, j]"));
  EXPECT_THAT(text, HasSubstr("copy(acc, C"));
}

TEST(Separate, BringsWhatElementWorkWritesToProducts) {
  std::string text = separated(kLoad +
                               "  for i, j in parallel(16, 16):\n    A_s[i, j] = A_s[i, j] * 2.0\n"
                               "  gemm(A_s, B_s, acc, clear_accum=true)\n  gemm(A_s, B_s, acc)\n"
                               "  for i, j in parallel(16, 16):\n    A_s[i, j] = A_s[i, j] * 3.0\n"
                               "  gemm(A_s, B_s, acc)\n  copy(acc, C[0, 0])\n");
  EXPECT_THAT(text, HasSubstr("copy(A_s, A_s_l1)\n  gemm(A_s_l1, B_s, acc, clear_accum=true)\n"
                              "  gemm(A_s_l1, B_s, acc)\n"));
  EXPECT_THAT(text, HasSubstr("copy(A_s, A_s_l1_2)\n  gemm(A_s_l1_2, B_s, acc)\n"));
}

TEST(Separate, LoadsTwiceWhatBothCoresRead) {
  std::string text = separated(kLoad +
                               "  gemm(A_s, B_s, acc, clear_accum=true)\n  copy(acc, C[0, 0])\n"
                               "  for i, j in parallel(16, 16):\n    r[i, j] = f32(A_s[i, j])\n");
  EXPECT_THAT(text, HasSubstr("copy(A[0:16, 0:16], A_s)\n  copy(A[0:16, 0:16], A_s_ub)\n"));
  EXPECT_THAT(text, HasSubstr("r[i, j] = f32(A_s_ub[i, j])"));
  EXPECT_THAT(text, Not(HasSubstr("B_s_ub")));
}

TEST(Separate, RefusesPartsOfSumsThatElementWorkChanges) {
  auto made = separate(kernel_of("  half = shared bf16[8, 16]\n" + kLoad +
                                 "  copy(A[0, 0], half)\n  clear(acc)\n  for k in range(3):\n"
                                 "    for i, j in parallel(16, 16):\n      acc[i, j] *= 0.5\n"
                                 "    gemm(half, B_s, acc[0:8, 0:16])\n  copy(acc, C[0, 0])\n"));
  ASSERT_FALSE(made);
  EXPECT_THAT(made.diagnostics().render(), HasSubstr("the product adds to a part of `acc`"));
}

TEST(Homes, FollowFromTheProducts) {
  auto made =
      separate(kernel_of(kLoad + "  gemm(A_s, B_s, acc, clear_accum=true)\n  copy(acc, r)\n  copy(r, C[0, 0])\n"));
  ASSERT_TRUE(made);
  Homes homes(made->body);
  std::map<std::string, machine::MemoryKind> found;
  for (const ir::StmtRef& stmt : made->body) {
    if (const auto* alloc = std::get_if<ir::Alloc>(&stmt->node)) found[alloc->buffer->name] = homes.of(alloc->buffer);
  }
  EXPECT_EQ(found.at("A_s"), machine::MemoryKind::l1);
  EXPECT_EQ(found.at("acc"), machine::MemoryKind::l0c);
  EXPECT_EQ(found.at("acc_ub"), machine::MemoryKind::ub);
  EXPECT_EQ(found.at("r"), machine::MemoryKind::ub);
}

}  // namespace
}  // namespace plait::npu
