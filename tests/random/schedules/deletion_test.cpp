// What planners make of the kernels, with each synchronisation removed or weakened in turn: the simulator catches it,
// or proves it redundant. A seeded sample of the kernels and of what is removed; all where PLAIT_SOAK is set.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <set>

#include "random/schedules/samples.h"
#include "random/schedules/trial.h"
#include "roles/print.h"
#include "sim/mutate.h"

namespace plait::test {
namespace {

constexpr std::int64_t kTrips = 5;    ///< every ring of a small tile turns
constexpr std::int64_t kMutants = 4;  ///< of each kernel, in the suite

/// A machine, with the seed of its sample.
struct Machine {
  const char* name;
  const machine::Device& (*device)();
  std::uint64_t seed;
  int kernels;  ///< in the suite, of each planner: simulations of NPUs take long
};
constexpr Machine kMachines[] = {{"gpu", gpu, 1, 3},
                                 {"gpu_without_tma", gpu_without_tma, 2, 3},
                                 {"npu", npu, 3, 1},
                                 {"npu_by_way_of_memory", npu_by_way_of_memory, 4, 1}};

/// What was found, over all tests of the process.
struct Counts {
  int caught = 0, redundant = 0, unreached = 0;

  ~Counts() {
    if (caught > 0) std::cout << fmt::format("caught {}, redundant {}, unreached {}\n", caught, redundant, unreached);
  }
};
Counts counts;

/// Of what there is to remove all, or a few drawn from `rng`.
void check(const Sample& sample, const machine::Device& device, planner::Kind kind, Rng* rng) {
  SCOPED_TRACE(fmt::format("{}, planner {}", sample.label, planner::name_of(kind)));
  const Dims dims = sample.dims(kTrips);
  auto kernel = load_sample(sample, kTrips);
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics().render();
  auto planned = planned_program(*kernel, device, kind, dims);
  ASSERT_TRUE(planned.ok()) << planned.diagnostics().render();
  const roles::Program& program = planned->derived.program;
  std::vector<sim::Call> calls;
  auto call = sim::draw_call(program, dims, {}, 7);
  ASSERT_TRUE(call.ok()) << call.diagnostics().render();
  calls.push_back(std::move(*call));
  sim::MutationOptions options;
  options.sms = {program.cluster};
  options.interleavings = 2;
  options.simulation.costs = sim::costs_of(device);
  std::set<std::int64_t> chosen;
  const auto all = static_cast<std::int64_t>(sim::mutants(program).size());
  for (std::int64_t n = 0; rng != nullptr && n < std::min(kMutants, all); ++n) chosen.insert(rng->between(0, all - 1));
  options.chosen = [&](std::size_t number) {
    return rng == nullptr || chosen.contains(static_cast<std::int64_t>(number));
  };
  auto report = sim::test_mutants(program, calls, options);
  ASSERT_TRUE(report.ok()) << report.diagnostics().render();
  counts.caught += report->count(sim::Verdict::caught);
  counts.redundant += report->count(sim::Verdict::redundant);
  counts.unreached += report->count(sim::Verdict::unreached);
  for (const sim::MutantResult& result : report->results)
    EXPECT_NE(result.verdict, sim::Verdict::missed) << result.what << "\n" << roles::print(program);
}

class Deletions : public testing::TestWithParam<std::tuple<std::size_t, planner::Kind>> {};

TEST_P(Deletions, AreCaughtOrRedundant) {
  const auto [at, kind] = GetParam();
  const Machine& machine = kMachines[at];
  const std::vector<Sample> all = samples();
  if (std::getenv("PLAIT_SOAK") != nullptr) {
    for (const Sample& sample : all) check(sample, machine.device(), kind, nullptr);
    return;
  }
  Rng rng(machine.seed * 10 + static_cast<std::uint64_t>(kind));
  for (int n = 0; n < machine.kernels; ++n) check(rng.pick(all), machine.device(), kind, &rng);
}

INSTANTIATE_TEST_SUITE_P(Planners, Deletions,
                         testing::Combine(testing::Range<std::size_t>(0, std::size(kMachines)),
                                          testing::Values(planner::Kind::greedy, planner::Kind::modulo)),
                         [](const auto& at) {
                           return fmt::format("{}_{}", kMachines[std::get<0>(at.param)].name,
                                              planner::name_of(std::get<1>(at.param)));
                         });

}  // namespace
}  // namespace plait::test
