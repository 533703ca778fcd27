// Tile programs on NVIDIA devices through the C interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "plait/plait.h"

namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kProduct = R"(
kernel product(A: in bf16[M, K], B: in bf16[N, K], C: out bf16[M, N]):
  grid bx = ceildiv(N, 64), by = ceildiv(M, 64)
  A_s = shared bf16[64, 64]
  B_s = shared bf16[64, 64]
  acc = fragment f32[64, 64]
  clear(acc)
  for k in pipelined(ceildiv(K, 64), stages=2):
    copy(A[by * 64, k * 64], A_s)
    copy(B[bx * 64, k * 64], B_s)
    gemm(A_s, B_s, acc, trans_B=true)
  copy(acc, C[by * 64, bx * 64])
)";

struct Compiled {
  plait_status status = PLAIT_OK;
  plait_roles* roles = nullptr;
  std::string messages, source;
  ~Compiled() { plait_roles_destroy(roles); }
};

void compile(Compiled& out, plait_roles_options options) {
  options.size = sizeof options;
  options.source_only = 1;
  options.architecture = "sm_90a";
  plait_diagnostics* diagnostics = nullptr;
  std::string text = kProduct;
  out.status =
      plait_roles_compile("product.tile", text.data(), text.size(), nullptr, 0, &options, &out.roles, &diagnostics);
  const char* messages = nullptr;
  if (plait_diagnostics_text(diagnostics, &messages) == PLAIT_OK) out.messages = messages;
  plait_diagnostics_destroy(diagnostics);
  const char* source = nullptr;
  if (out.status == PLAIT_OK && plait_roles_source(out.roles, &source) == PLAIT_OK) out.source = source;
}

TEST(TileTest, BecomesCuda) {
  Compiled product;
  compile(product, {});
  ASSERT_EQ(product.status, PLAIT_OK) << product.messages;
  const char* name = nullptr;
  ASSERT_EQ(plait_roles_name(product.roles, &name), PLAIT_OK);
  EXPECT_STREQ(name, "product");
  EXPECT_THAT(product.source, HasSubstr("wgmma_m64n64k16_f32_bf16"));
  EXPECT_THAT(product.source, HasSubstr("tma_store"));
}

/// The CUDA C++ of the kernel that serves a call with these extents, where the data begins so many bytes behind a
/// multiple of 16.
std::string serving(const Compiled& product, std::int64_t m, std::int64_t n, std::int64_t k, int offset = 0) {
  std::int64_t a[] = {m, k}, b[] = {n, k}, c[] = {m, n};
  auto tensor = [&](const char* name, const std::int64_t* shape, std::uintptr_t address) {
    plait_argument argument{};
    argument.name = name;
    argument.kind = PLAIT_ARGUMENT_TENSOR;
    argument.tensor = {reinterpret_cast<void*>(address), PLAIT_BF16, 2, shape, nullptr,
                       shape[0] * shape[1] * 2,          "cuda"};
    return argument;
  };
  plait_argument arguments[] = {tensor("A", a, 0x10000000 + static_cast<std::uintptr_t>(offset)),
                                tensor("B", b, 0x20000000), tensor("C", c, 0x30000000)};
  const plait_roles* selected = nullptr;
  plait_diagnostics* diagnostics = nullptr;
  plait_status status = plait_roles_select(product.roles, arguments, 3, &selected, &diagnostics);
  plait_diagnostics_destroy(diagnostics);
  const char* source = nullptr;
  if (status != PLAIT_OK || plait_roles_source(selected, &source) != PLAIT_OK) return "refused";
  return selected == product.roles ? "the first" : source;
}

TEST(TileTest, CallsOfOtherAlignmentHaveKernelsOfTheirOwn) {
  Compiled product;
  compile(product, {});
  ASSERT_EQ(product.status, PLAIT_OK) << product.messages;
  EXPECT_EQ(serving(product, 64, 64, 64), "the first");
  EXPECT_EQ(serving(product, 1, 640, 128), "the first");
  std::string no_store = serving(product, 64, 100, 64);
  EXPECT_THAT(no_store, HasSubstr("tma_load"));
  EXPECT_THAT(no_store, Not(HasSubstr("tma_store")));
  EXPECT_EQ(serving(product, 128, 36, 64), no_store);
  EXPECT_THAT(serving(product, 64, 64, 100), Not(HasSubstr("tma_load")));
  EXPECT_THAT(serving(product, 64, 64, 64, 2), HasSubstr("tma_load"));
  EXPECT_NE(serving(product, 64, 64, 64, 2), "the first");
}

TEST(TileTest, AWrongCallIsTheFirstKernelsToRefuse) {
  Compiled product;
  compile(product, {});
  ASSERT_EQ(product.status, PLAIT_OK) << product.messages;
  plait_argument nothing{};
  const plait_roles* selected = nullptr;
  EXPECT_EQ(plait_roles_select(product.roles, &nothing, 0, &selected, nullptr), PLAIT_OK);
  EXPECT_EQ(selected, product.roles);
  EXPECT_EQ(plait_roles_select(nullptr, &nothing, 0, &selected, nullptr), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(selected, nullptr);
  EXPECT_EQ(plait_roles_select(product.roles, &nothing, 0, nullptr, nullptr), PLAIT_BAD_ARGUMENT);
}

TEST(TileTest, DimsDecideWhatTmaMayMove) {
  plait_binding dims[] = {{"M", "64"}, {"N", "100"}, {"K", "64"}};
  plait_roles_options options{};
  options.dims = dims;
  options.dim_count = 3;
  Compiled product;
  compile(product, options);
  ASSERT_EQ(product.status, PLAIT_OK) << product.messages;
  EXPECT_THAT(product.source, Not(HasSubstr("tma_store")));
}

TEST(TileTest, SaysWhatIsWrong) {
  plait_roles_options options{};
  options.device = "h2000";
  Compiled device;
  compile(device, options);
  EXPECT_EQ(device.status, PLAIT_REJECTED);
  EXPECT_THAT(device.messages, HasSubstr("[unknown-device]"));

  options = {};
  options.schedule = "schedule product device h200\nplace:\n  work sideways\n";
  Compiled schedule;
  compile(schedule, options);
  EXPECT_EQ(schedule.status, PLAIT_REJECTED);
  EXPECT_THAT(schedule.messages, HasSubstr("<schedule>:3:8: error: "));

  plait_binding wrong = {"M", "many"};
  options = {};
  options.dims = &wrong;
  options.dim_count = 1;
  Compiled dims;
  compile(dims, options);
  EXPECT_EQ(dims.status, PLAIT_BAD_ARGUMENT);
}

}  // namespace
