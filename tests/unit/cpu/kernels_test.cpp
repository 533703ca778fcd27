#include "roundtrip.h"
#include "unit/cpu/run.h"

// The kernel library on small odd extents, against the interpreter.
namespace plait::test {
namespace {

struct Case {
  const char* file;
  lang::Bindings bindings;
  Dims dims;
  double tolerance;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.file; }

class Library : public testing::TestWithParam<Case> {};

TEST_P(Library, AsInterpreted) {
  const Case& c = GetParam();
  expect_as_interpreted(read_file(std::string(PLAIT_SOURCE_DIR "/kernels/") + c.file + ".tile"), c.dims, c.tolerance,
                        c.bindings);
}

const lang::Bindings small_tiles = {{"block_M", "16"}, {"block_N", "24"}, {"block_K", "8"}};

INSTANTIATE_TEST_SUITE_P(
    Kernels, Library,
    testing::Values(Case{"matmul", small_tiles, {{"M", 19}, {"N", 29}, {"K", 13}}, 0},
                    Case{"matmul",
                         {{"dtype", "f16"}, {"block_M", "16"}, {"block_N", "16"}, {"block_K", "16"}},
                         {{"M", 17}, {"N", 31}, {"K", 20}},
                         0},
                    Case{"matmul_nt", small_tiles, {{"M", 19}, {"N", 29}, {"K", 13}}, 0},
                    Case{"matmul_tn", small_tiles, {{"M", 19}, {"N", 29}, {"K", 13}}, 0},
                    Case{"matmul_bias_act",
                         {{"act", "2"}, {"block_M", "16"}, {"block_N", "16"}, {"block_K", "16"}},
                         {{"M", 19}, {"N", 29}, {"K", 13}},
                         1e-5},
                    Case{"matmul_int4",
                         {{"group", "32"}, {"block_N", "16"}, {"block_K", "32"}},
                         {{"M", 9}, {"N", 21}, {"K", 64}},
                         0.01},
                    Case{"attention",
                         {{"D", "32"}, {"causal", "true"}, {"block_M", "16"}, {"block_N", "16"}},
                         {{"B", 1}, {"H", 2}, {"Hkv", 1}, {"Sq", 21}, {"Sk", 37}},
                         1e-5},
                    Case{"rmsnorm", {{"block_N", "32"}}, {{"M", 3}, {"N", 77}}, 1e-5},
                    Case{"layernorm", {{"block_N", "32"}}, {{"M", 3}, {"N", 77}}, 1e-4},
                    Case{"softmax", {{"block_N", "32"}}, {{"M", 5}, {"N", 77}}, 1e-5},
                    Case{"cumsum", {{"block_N", "32"}}, {{"M", 9}, {"N", 77}}, 1e-5},
                    Case{"gemv", {{"block_K", "32"}}, {{"M", 9}, {"K", 77}}, 1e-5},
                    Case{"histogram", {{"block", "64"}}, {{"N", 300}}, 0},
                    Case{"topk", {{"top", "3"}, {"block_N", "16"}}, {{"M", 3}, {"N", 37}}, 0},
                    Case{"transpose", {}, {{"M", 70}, {"N", 67}}, 0}),
    [](const testing::TestParamInfo<Case>& c) { return std::string(c.param.file) + "_" + std::to_string(c.index); });

}  // namespace
}  // namespace plait::test
