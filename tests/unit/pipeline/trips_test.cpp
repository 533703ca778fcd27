// Every number of stages with every trip count around them, in the simulator, under several interleavings.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/load.h"
#include "pipeline/derive.h"
#include "roundtrip.h"
#include "runtime/compare.h"
#include "sim/occupancy.h"
#include "sim/trial.h"

namespace plait::pipeline {
namespace {

using Dims = std::map<std::string, std::int64_t>;

const machine::Device& h200() {
  static const machine::Device device = *machine::load_device("h200");
  return device;
}

Derived derived(const std::string& text, const DeriveOptions& options = {}) {
  auto kernel = plait::test::load(text, {}, "");
  if (!kernel) throw InternalError(kernel.diagnostics().render());
  auto made = derive(*kernel, h200(), options);
  if (!made) throw InternalError(made.diagnostics().render());
  return *made;
}

std::string product(const std::string& loop) {
  return "kernel k(A: in bf16[M, K], B: in bf16[N, K], C: out bf16[M, N]):\n"
         "  grid bx = ceildiv(N, 64), by = ceildiv(M, 64)\n"
         "  A_s = shared bf16[64, 64]\n  B_s = shared bf16[64, 64]\n  acc = fragment f32[64, 64]\n  clear(acc)\n"
         "  for k in " +
         loop +
         ":\n    copy(A[by * 64, k * 64], A_s)\n    copy(B[bx * 64, k * 64], B_s)\n"
         "    gemm(A_s, B_s, acc, trans_B=true)\n  copy(acc, C[by * 64, bx * 64])\n";
}

/// C = A·Bᵀ in f64.
std::vector<double> reference(const sim::Call& call, const Dims& dims) {
  std::vector<double> a = runtime::to_doubles(call.tensors[0].view()), b = runtime::to_doubles(call.tensors[1].view());
  auto m = static_cast<std::size_t>(dims.at("M")), n = static_cast<std::size_t>(dims.at("N")),
       k = static_cast<std::size_t>(dims.at("K"));
  std::vector<double> c(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t x = 0; x < k; ++x) c[i * n + j] += a[i * k + x] * b[j * k + x];
    }
  }
  return c;
}

/// Runs a product under three interleavings on `sms` multiprocessors; the bytes of the first.
std::string run_product(const Derived& made, const Dims& dims, int sms) {
  auto call = sim::draw_call(made.program, dims);
  if (!call) throw InternalError(call.diagnostics().render());
  std::optional<sim::Trial> first;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    sim::Options options;
    options.costs = sim::costs_of(h200());
    options.interleaving = seed;
    auto trial = sim::run_trial(made.program, *call, sms, options);
    if (!trial) throw InternalError(trial.diagnostics().render());
    EXPECT_FALSE(trial->outcome.diagnostics.has_errors()) << trial->outcome.diagnostics.render();
    if (first) {
      EXPECT_EQ(sim::first_difference(*first, *trial), -1) << "interleaving " << seed;
    } else {
      first = std::move(*trial);
    }
  }
  runtime::Comparison c =
      runtime::compare(first->tensors[2].view(), reference(*call, dims), runtime::default_tolerance(ir::DType::bf16));
  EXPECT_TRUE(c.ok()) << c.failures << " of " << c.elements << " differ";
  ir::TensorView view = first->tensors[2].view();
  return {static_cast<const char*>(view.data), static_cast<std::size_t>(dims.at("M") * dims.at("N") * 2)};
}

/// Depths change no bit: all stages give the bytes of the serial loop.
TEST(Trips, AnyNumberOfStagesGivesTheSameBytes) {
  std::map<std::int64_t, std::string> serial;
  for (int stages = 0; stages <= 4; ++stages) {
    Derived made = derived(product(fmt::format("pipelined(ceildiv(K, 64), stages={})", stages)));
    for (std::int64_t trips : {0, 1, 2, 3, 4, 5, 9}) {
      SCOPED_TRACE(fmt::format("{} stages, {} trips", stages, trips));
      Dims dims = {{"M", 72}, {"N", 136}, {"K", 64 * trips}};
      std::string bytes = run_product(made, dims, 1 + stages % 2);
      EXPECT_EQ(serial.emplace(trips, bytes).first->second, bytes);
    }
  }
}

TEST(Trips, SerialLoopsRunToo) {
  run_product(derived(product("range(ceildiv(K, 64))")), {{"M", 64}, {"N", 64}, {"K", 200}}, 1);
}

TEST(Trips, TheLargestRingThatFits) {
  Derived made = derived(product("pipelined(ceildiv(K, 64), stages=12)"));
  EXPECT_EQ(made.program.channels.front()->depth, 12);
  run_product(made, {{"M", 64}, {"N", 64}, {"K", 1600}}, 1);
}

/// A block that stays takes several tiles through one ring, in any order of tiles.
TEST(Work, EveryOrderCoversEveryTile) {
  using plan::TileOrder, plan::WorkKind;
  Derived made = derived(product("pipelined(ceildiv(K, 64), stages=2)"));
  for (WorkKind kind : {WorkKind::plain, WorkKind::persistent}) {
    for (TileOrder order : {TileOrder::rows, TileOrder::grouped, TileOrder::longest_first, TileOrder::paired}) {
      DeriveOptions options;
      options.schedule = made.schedule;
      options.schedule->place.work.kind = kind;
      options.schedule->place.work.order = order;
      options.schedule->place.work.group = order == TileOrder::grouped ? 2 : 1;
      SCOPED_TRACE(fmt::format("{} {}", plan::name_of(kind), plan::name_of(order)));
      Derived other = derived(product("pipelined(ceildiv(K, 64), stages=2)"), options);
      run_product(other, {{"M", 300}, {"N", 184}, {"K", 72}}, 3);
    }
  }
}

}  // namespace
}  // namespace plait::pipeline
