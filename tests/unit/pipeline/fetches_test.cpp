// Tiles of tensors that TMA cannot address, on a machine that has it: which copy is made how, and what is told of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/load.h"
#include "pipeline/derive.h"
#include "roles/print.h"
#include "roundtrip.h"

namespace plait::pipeline {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kProduct =
    "kernel k(A: in bf16[M, K], B: in bf16[N, K], C: out bf16[M, N]):\n"
    "  grid bx = ceildiv(N, 64), by = ceildiv(M, 64)\n"
    "  A_s = shared bf16[64, 64]\n  B_s = shared bf16[64, 64]\n  acc = fragment f32[64, 64]\n  clear(acc)\n"
    "  for k in pipelined(ceildiv(K, 64), stages=3):\n    copy(A[by * 64, k * 64], A_s)\n"
    "    copy(B[bx * 64, k * 64], B_s)\n    gemm(A_s, B_s, acc, trans_B=true)\n  copy(acc, C[by * 64, bx * 64])\n";

struct Made {
  std::string program, remarks;
};

/// `granules`: the multiples of bytes at which rows of unaligned tensors start.
Made made(const std::map<std::string, int>& granules, double smem = 0) {
  auto kernel = plait::test::load(kProduct, {}, "");
  if (!kernel) throw InternalError(kernel.diagnostics().render());
  machine::Device device = *machine::load_device("h200");
  if (smem > 0) device.limits->smem_per_block.value = smem;
  DeriveOptions options;
  for (const auto& [name, bytes] : granules) {
    options.assumptions.unaligned.insert(name);
    options.assumptions.ragged.insert(name);
    options.assumptions.granules[name] = bytes;
  }
  auto derived = derive(*kernel, device, options);
  if (!derived) throw InternalError(derived.diagnostics().render());
  Made out{roles::print(derived->program), ""};
  for (const place::Remark& remark : derived->remarks) out.remarks += remark.text + "\n";
  return out;
}

TEST(Fetches, OfTheUnalignedOperandAlone) {
  const Made one = made({{"A", 8}});
  EXPECT_THAT(one.program, HasSubstr("cp_async A_s["));
  EXPECT_THAT(one.program, HasSubstr("pieces 8"));
  EXPECT_THAT(one.program, HasSubstr("tma_load B_s["));
  EXPECT_THAT(one.program, Not(HasSubstr("tma_load A_s[")));
  EXPECT_THAT(one.remarks, HasSubstr("`A_s` is loaded by the threads that compute (cp.async, 8 bytes a piece), not by "
                                     "TMA: the rows of `A` do not start at multiples of 16 bytes"));
  EXPECT_THAT(one.remarks, Not(HasSubstr("`B_s`")));
}

TEST(Fetches, NeedFourBytes) {
  EXPECT_THAT(made({{"A", 4}, {"B", 4}}).program, HasSubstr("pieces 4"));
  const Made two = made({{"A", 2}, {"B", 2}});
  EXPECT_THAT(two.program, Not(HasSubstr("cp_async")));
  EXPECT_THAT(two.remarks, HasSubstr("no 4 bytes of a row of `A` are known to be aligned together"));
}

/// Another role would do with fewer slots; these are as many as the stages take, or none.
TEST(Fetches, GiveWayWhereABlockHasNoMemoryForThem) {
  constexpr double kThreeSlots = 3 * 16384 + 4096;  // and not what the result is stored through
  EXPECT_THAT(made({{"A", 4}, {"B", 4}}).program, HasSubstr("smem A_s: bf16[3, 64, 64]"));
  const Made less = made({{"A", 4}, {"B", 4}}, kThreeSlots);
  EXPECT_THAT(less.program, HasSubstr("smem A_s: bf16[64, 64]"));
  EXPECT_THAT(less.remarks, HasSubstr("a block has no memory for the slots that its stages take"));
}

}  // namespace
}  // namespace plait::pipeline
