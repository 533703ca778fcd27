// Pairs of kernels of kernels/, fused and simulated: the bytes of each alone, whatever the interleaving. A seeded
// sample of the pairs; all of them where the environment variable PLAIT_SOAK is set.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "fuse/fuse.h"
#include "machine/load.h"
#include "pipeline/assume.h"
#include "random/rng.h"
#include "roles/parse.h"
#include "roundtrip.h"
#include "sim/occupancy.h"
#include "sim/trial.h"

namespace plait::fuse {
namespace {

using Dims = std::map<std::string, std::int64_t>;

/// A kernel with small tiles, and a call of it with tails.
struct Sample {
  std::string kernel;
  lang::Bindings bindings;
  Dims dims;
};

std::vector<Sample> samples() {
  const lang::Bindings small = {{"dtype", "bf16"}, {"block_M", "64"}, {"block_N", "32"}, {"block_K", "32"}};
  const Dims product = {{"M", 72}, {"N", 40}, {"K", 88}};
  const lang::Bindings line = {{"dtype", "bf16"}, {"block_N", "64"}};
  return {
      {"matmul", small, product},
      {"matmul_nt", small, {{"M", 200}, {"N", 72}, {"K", 62}}},
      {"matmul_bias_act", small, product},
      {"batched_matmul", small, {{"batch", 3}, {"M", 40}, {"N", 40}, {"K", 72}}},
      {"attention",
       {{"dtype", "bf16"}, {"block_M", "64"}, {"block_N", "32"}, {"D", "32"}},
       {{"B", 1}, {"H", 2}, {"Hkv", 1}, {"Sq", 72}, {"Sk", 91}}},
      {"softmax", line, {{"M", 13}, {"N", 150}}},
      {"rmsnorm", line, {{"M", 21}, {"N", 200}}},
      {"layernorm", line, {{"M", 5}, {"N", 130}}},
      {"gemv", {{"dtype", "bf16"}, {"block_K", "64"}}, {{"M", 13}, {"K", 152}}},
      {"cumsum", {}, {{"M", 9}, {"N", 100}}},
      {"transpose", {}, {{"M", 70}, {"N", 133}}},
      {"histogram", {}, {{"N", 1000}}},
  };
}

Subject subject_of(const Sample& sample) {
  auto kernel =
      test::load(test::read_file(fmt::format("{}/kernels/{}.tile", PLAIT_SOURCE_DIR, sample.kernel)), sample.bindings);
  EXPECT_TRUE(kernel.ok()) << kernel.diagnostics().render();
  Subject subject{*kernel, {}, {}, {}};
  subject.planning.dims = sample.dims;
  subject.planning.assumptions = pipeline::assume(subject.kernel, sample.dims);
  return subject;
}

/// The tensors, scalars and dims of a call of both that belong to one of the two.
class Split {
 public:
  explicit Split(const sim::Call& whole) : whole_(whole) {}

  sim::Call take(const roles::Program& program) {
    sim::Call out;
    for (const ir::Param& param : program.params) {
      if (param.scalar != nullptr) {
        out.args.scalars.push_back(whole_.args.scalars[scalar_++]);
        continue;
      }
      out.tensors.push_back(whole_.tensors[tensor_].clone());
      out.args.tensors.push_back(whole_.args.tensors[tensor_++]);
      out.args.tensors.back().data = out.tensors.back().data();
    }
    for (std::size_t i = 0; i < program.dims.size(); ++i) out.args.dims.push_back(whole_.args.dims[dim_++]);
    return out;
  }

 private:
  const sim::Call& whole_;
  std::size_t tensor_ = 0, scalar_ = 0, dim_ = 0;
};

std::vector<runtime::HostTensor> run(const roles::Program& program, const machine::Device& device,
                                     const sim::Call& call, std::uint64_t interleaving) {
  constexpr int kSms = 3;
  sim::Options options;
  options.costs = sim::costs_of(device);
  options.occupancy = sim::resident_blocks(program, device);
  options.interleaving = interleaving;
  auto trial = sim::run_trial(program, call, kSms, options);
  EXPECT_TRUE(trial.ok()) << trial.diagnostics().render();
  if (!trial) return {};
  EXPECT_FALSE(trial->outcome.diagnostics.has_errors()) << trial->outcome.diagnostics.render();
  return std::move(trial->tensors);
}

Dims dims_of(const Fused& fused, const std::vector<Sample>& both) {
  Dims dims;
  std::size_t dim = 0;
  std::size_t side = 0;
  for (const FusedPart* part : {&fused.first, &fused.second}) {
    for (const ir::Var& own : part->derived.program.dims)
      dims[fused.program.dims[dim++]->name] = both[side].dims.at(own->name);
    ++side;
  }
  return dims;
}

void expect_both(const Sample& first, const Sample& second, const machine::Device& device) {
  SCOPED_TRACE(fmt::format("{} and {} on {}", first.kernel, second.kernel, device.name));
  auto fused = fuse(subject_of(first), subject_of(second), device);
  ASSERT_TRUE(fused.ok()) << fused.diagnostics().render();
  const std::string text = roles::print(fused->program);
  auto again = roles::parse(std::make_shared<const SourceFile>("fused.roles", text));
  ASSERT_TRUE(again.ok()) << again.diagnostics().render() << text;
  EXPECT_TRUE(roles::equal(fused->program, *again)) << text;
  auto call = sim::draw_call(*again, dims_of(*fused, {first, second}));
  ASSERT_TRUE(call.ok()) << call.diagnostics().render();
  Split split(*call);
  std::vector<runtime::HostTensor> want;
  for (const FusedPart* part : {&fused->first, &fused->second}) {
    for (runtime::HostTensor& t : run(part->alone.program, device, split.take(part->alone.program), 0))
      want.push_back(std::move(t));
  }
  for (std::uint64_t i = 0; i < 2; ++i) {
    std::vector<runtime::HostTensor> got = run(*again, device, *call, i);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t t = 0; t < got.size(); ++t)
      EXPECT_EQ(std::memcmp(got[t].data(), want[t].data(), want[t].bytes()), 0) << "tensor " << t << "\n" << text;
  }
}

class FusedKernels : public testing::TestWithParam<const char*> {};

TEST_P(FusedKernels, GiveTheBytesOfEachAlone) {
  const machine::Device device = *machine::load_device(GetParam());
  const std::vector<Sample> all = samples();
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = 0; b < all.size(); ++b) pairs.emplace_back(a, b);
  }
  if (std::getenv("PLAIT_SOAK") == nullptr) {  // NOLINT(concurrency-mt-unsafe)
    constexpr int kSample = 16;
    test::Rng rng(7);
    std::vector<std::pair<std::size_t, std::size_t>> drawn;
    for (int n = 0; n < kSample; ++n) drawn.push_back(rng.pick(pairs));
    pairs = std::move(drawn);
  }
  for (const auto& [a, b] : pairs) {
    expect_both(all[a], all[b], device);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, FusedKernels, testing::Values("h200", "a100"),
                         [](const auto& device) { return std::string(device.param); });

std::string first_message(const Result<Fused>& fused) {
  return fused ? "not refused" : fused.diagnostics().list().front().message;
}

TEST(Fuse, OneOfThemGivesWay) {
  Sample matmul{"matmul", {{"dtype", "bf16"}, {"block_N", "64"}, {"stages", "8"}}, {{"M", 200}, {"N", 72}, {"K", 700}}};
  Sample other{"attention",
               {{"dtype", "bf16"}, {"block_M", "64"}, {"block_N", "64"}, {"D", "64"}},
               {{"B", 1}, {"H", 1}, {"Hkv", 1}, {"Sq", 72}, {"Sk", 91}}};
  const machine::Device device = *machine::load_device("h200");
  auto fused = fuse(subject_of(matmul), subject_of(other), device);
  ASSERT_TRUE(fused.ok()) << fused.diagnostics().render();
  ASSERT_EQ(fused->first.changed.size(), 1U);
  EXPECT_NE(fused->first.changed[0].find("bytes of shared memory"), std::string::npos);
  expect_both(matmul, other, device);
}

/// Registers are for whole warpgroups: four blocks of a warp fit where three do not.
TEST(Fuse, RingsGiveUpSlotsForBlocks) {
  Sample attention{"attention",
                   {{"dtype", "bf16"}, {"block_M", "128"}, {"block_N", "128"}, {"D", "128"}},
                   {{"B", 1}, {"H", 1}, {"Hkv", 1}, {"Sq", 72}, {"Sk", 291}}};
  const machine::Device device = *machine::load_device("h200");
  auto fused =
      fuse(subject_of(attention), subject_of({"rmsnorm", {{"dtype", "bf16"}, {"block_N", "256"}}, {}}), device);
  ASSERT_TRUE(fused.ok()) << fused.diagnostics().render();
  EXPECT_EQ(fused->second.blocks, 4);
  for (const roles::Role& role : fused->program.roles) EXPECT_TRUE(role.regs.has_value());
}

TEST(Fuse, BlocksThatWereAskedForStay) {
  Subject product = subject_of({"matmul", {{"dtype", "bf16"}}, {}});
  Subject rows = subject_of({"rmsnorm", {{"dtype", "bf16"}, {"block_N", "256"}}, {}});
  const machine::Device device = *machine::load_device("h200");
  rows.blocks = 3;
  auto fused = fuse(product, rows, device);
  ASSERT_TRUE(fused.ok()) << fused.diagnostics().render();
  EXPECT_EQ(fused->second.blocks, 3);
  rows.blocks = 30;
  EXPECT_EQ(first_message(fuse(product, rows, device)),
            "threads: 384 of matmul, 960 of 30 blocks of rmsnorm, and a block has at most 1024");
  rows = subject_of({"softmax", {{"dtype", "bf16"}}, {}});
  rows.blocks = 8;
  const std::string refused = first_message(fuse(product, rows, device));
  EXPECT_EQ(refused.find("8 blocks at once: the fragments of role `math` take"), 0U) << refused;
}

TEST(Fuse, ProcessorsAndNpusRunNoFusedKernels) {
  Subject rows = subject_of({"rmsnorm", {}, {}});
  EXPECT_EQ(first_message(fuse(rows, rows, *machine::load_device("host"))),
            "kernels are fused for GPUs, and host is none");
}

}  // namespace
}  // namespace plait::fuse
