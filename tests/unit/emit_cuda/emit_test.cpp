#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "emit/cuda/cuda.h"
#include "roles/parse.h"

namespace plait::emit::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string read(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Result<Module> emit_text(const std::string& text, std::string_view arch, const lang::Bindings& bindings = {}) {
  Result<roles::Program> program = roles::parse(std::make_shared<SourceFile>("t.roles", text), bindings);
  if (!program.ok()) return program.diagnostics();
  return emit(*program, arch);
}

std::string source_of(const std::string& text, std::string_view arch = "sm_90a") {
  Result<Module> module = emit_text(text, arch);
  return module.ok() ? module->source : module.diagnostics().render();
}

std::string role_file(const std::string& name) {
  return read(std::string(PLAIT_SOURCE_DIR) + "/tests/roles/" + name + ".roles");
}

const std::string kHead =
    "roles t(X: in f32[N], Y: out f32[N]) device h200:\n"
    "  launch 1\n"
    "  role all warps 4:\n";

TEST(EmitCuda, KernelArgumentsAreThoseUsedInOrder) {
  Result<Module> module = emit_text(role_file("matmul_coop"), "sm_90a");
  ASSERT_TRUE(module.ok()) << module.diagnostics().render();
  std::string names;
  for (const KernelArg& arg : module->args)
    names += std::visit(Overload{[](const MapArg& a) { return a.map->name; },
                                 [](const TensorArg& a) { return a.tensor->name; },
                                 [](const VarArg& a) { return a.var->name; }},
                        arg) +
             " ";
  EXPECT_EQ(names, "A_map B_map C_map tiles_m tiles_n k_blocks tiles ");
  EXPECT_EQ(module->threads, 384);
  EXPECT_EQ(module->cluster, 1);
  EXPECT_EQ(module->entry, "matmul_coop");
}

TEST(EmitCuda, OnlyUsedHelpersAreThere) {
  std::string text = source_of(kHead + "    put Y[thread] = X[thread]\n");
  EXPECT_THAT(text, HasSubstr("Y[thread] = X[thread];"));
  EXPECT_THAT(text, Not(HasSubstr("mbar")));
  EXPECT_THAT(text, Not(HasSubstr("wgmma")));
  EXPECT_THAT(text, HasSubstr("t(const float* __restrict__ X,\n    float* __restrict__ Y)"));
}

TEST(EmitCuda, NamesOfTheLanguageThatCppReserves) {
  std::string text = source_of(kHead + "    int = thread + 3\n    put Y[int] = 1.0\n");
  EXPECT_THAT(text, HasSubstr("const int int_ = thread + 3;"));
}

TEST(EmitCuda, RefusesWgmmaElsewhereThanOnSm90a) {
  Result<Module> module = emit_text(role_file("matmul_coop"), "sm_80");
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.diagnostics().render(), HasSubstr("wgmma exists on sm_90a alone, and the code is for sm_80"));
  EXPECT_THAT(module.diagnostics().render(), HasSubstr("a TMA load needs sm_90, and the code is for sm_80"));
}

/// A channel is printed as the mbarriers that it becomes.
TEST(EmitCuda, Channels) {
  std::string text = source_of(role_file("matmul_channels")), plain = source_of(role_file("matmul_coop"));
  for (std::size_t at = text.find("ring_"); at != std::string::npos; at = text.find("ring_")) text.erase(at, 5);
  for (std::size_t at = text.find("matmul_channels"); at != std::string::npos; at = text.find("matmul_channels"))
    text.replace(at, 15, "matmul_coop");
  EXPECT_EQ(text, plain);
}

TEST(EmitCuda, RefusesTasks) {
  Result<Module> module = emit_text(kHead + "    issue tensor \"scores\":\n      pass\n", "sm_90a");
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.diagnostics().render(),
              HasSubstr("t.roles:4:5: error: the task \"scores\" is not printed to CUDA [cuda-unsupported]"));
}

/// A thread has two columns of four rows each: elements 2 and 3 of a step read the same half as elements 0 and 1.
TEST(EmitCuda, NarrowValuesOfColumnsLieByTheirColumn) {
  Result<Module> module = emit_text(
      "roles t(W: in e4m3[64]) device h200:\n  launch 1\n  role all warps 4:\n"
      "    fragment x: f32[16, 64] vector vec 2 lanes 32\n    fragment w: e4m3[64] columns of x\n"
      "    load w <- W[0]\n    each i, j in x:\n      x[i, j] = f32(w[j])\n",
      "sm_90a");
  ASSERT_TRUE(module.ok()) << module.diagnostics().render();
  EXPECT_THAT(module->source, HasSubstr("((i + 2) % 2) % 4 * 8"));
}

TEST(EmitCuda, RefusesWhatItCannotPrint) {
  Result<Module> module = emit_text(
      "roles t(X: in f32[N, 1024]) device h200:\n  launch 1\n  role all warps 4:\n"
      "    fragment x: f32[4, 1024] vector vec 4 lanes 32\n    load x <- X[0, 0] hint evict_last\n",
      "sm_90a");
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.diagnostics().render(), HasSubstr("loads into registers take the hint evict_first alone"));
}

}  // namespace
}  // namespace plait::emit::cuda
