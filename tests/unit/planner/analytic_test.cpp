// The analytic model of copy -> compute (docs/schedules.md, "Models") through the planners and the simulator: issue 1,
// latency 30, compute 20, in thousands of cycles, beside which all else takes next to nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "machine/load.h"
#include "npu/lower/derive.h"
#include "plan/model.h"
#include "planner/planner.h"
#include "sim/trial.h"
#include "unit/plan/fixture.h"

namespace plait::planner {
namespace {

using plan::test::kernel_of;

constexpr std::int64_t kIssue = 1000, kLatency = 30'000, kCompute = 20'000;

ir::Kernel chain(const std::string& stages) {
  return kernel_of(
      fmt::format("kernel chain(X: in f32[N, 64], Y: out f32[N, 64]):\n  grid b = 1\n  x = shared f32[4, 64]\n"
                  "  y = fragment f32[4, 64]\n  for i in pipelined(N / 4{}):\n    task(latency={}, ii={}):\n"
                  "      copy(X[i * 4, 0], x)\n    task(latency={}, ii={}):\n      for r, c in parallel(4, 64):\n"
                  "        y[r, c] = x[r, c] * 2.0\n    copy(y, Y[i * 4, 0])\n",
                  stages, kLatency, kIssue, kCompute, kCompute));
}

int depth_of(const plan::Schedule& schedule) { return schedule.loops.at(0).copies("x"); }

TEST(Analytic, PlannersGiveTheSufficientDepth) {
  const std::int64_t enough = plan::sufficient_depth({8, kIssue, kLatency, kCompute});
  EXPECT_EQ(enough, 3);
  for (Kind kind : {Kind::greedy, Kind::modulo}) {
    Options options;
    options.kind = kind;
    auto made = plan(chain(""), *machine::load_device("h200"), options);
    ASSERT_TRUE(made.ok()) << made.diagnostics().render();
    ASSERT_EQ(made->loops.size(), 1U);
    EXPECT_EQ(depth_of(made->derived.schedule), enough + 1) << name_of(kind);  // and a spare one
    EXPECT_NEAR(static_cast<double>(made->loops[0].ii), static_cast<double>(kCompute), 0.01 * kCompute);
    EXPECT_EQ(made->loops[0].costs.find("2 tasks author; "), 0U) << made->loops[0].costs;
  }
}

std::int64_t cycles_of(const roles::Program& program, const machine::Device& device, std::int64_t iterations) {
  auto call = sim::draw_call(program, {{"N", 4 * iterations}});
  if (!call) throw InternalError(call.diagnostics().render());
  sim::Options options;
  options.costs = sim::costs_of(device);
  auto trial = sim::run_trial(program, *call, 1, options);
  if (!trial) throw InternalError(trial.diagnostics().render());
  EXPECT_EQ(trial->outcome.diagnostics.render(), "");
  return trial->outcome.cycles;
}

/// Of as many stages as slots, on a machine whose programs issue tasks with the costs that the author gives.
TEST(Analytic, SimulatedTimesAreThoseOfTheModel) {
  const machine::Device device = *machine::load_device("ascend950");
  for (int depth = 1; depth <= 4; ++depth) {
    auto made = npu::derive(chain(fmt::format(", stages={}", depth)), device);
    ASSERT_TRUE(made.ok()) << made.diagnostics().render();
    EXPECT_EQ(depth_of(made->made.schedule), depth);
    for (std::int64_t iterations : {8, 16}) {
      const auto model =
          static_cast<double>(plan::run_pipeline({iterations, kIssue, kLatency, kCompute}, depth).makespan);
      const auto simulated = static_cast<double>(cycles_of(made->made.program, device, iterations));
      EXPECT_NEAR(simulated, model, 0.01 * model) << depth << " slots, " << iterations << " iterations";
    }
  }
}

}  // namespace
}  // namespace plait::planner
