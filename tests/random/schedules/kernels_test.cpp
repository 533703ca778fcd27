// Every kernel of kernels/ that has a pipelined loop, with every number of stages and every trip count around it, plain
// and persistent: a seeded pairwise sample of them, all of them where the environment variable PLAIT_SOAK is set.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <set>

#include "random/schedules/samples.h"
#include "random/schedules/trial.h"
#include "roundtrip.h"

namespace plait::test {
namespace {

struct Case {
  std::size_t sample;
  int stages;
  std::int64_t trips;
  plan::WorkKind work;
};

/// Trip counts around a number of stages: none, one, where the loop is as long as the ring is deep, and behind it.
std::int64_t trips_of(int kind, int stages) {
  const int depth = std::max(stages, 1);
  return std::vector<int>{0, 1, depth, depth + 1, 2 * depth + 1}.at(static_cast<std::size_t>(kind));
}

/// Cases that have every pair of values of two of their columns.
std::vector<Case> pairwise(std::size_t count, Rng& rng) {
  using Row = std::array<int, 4>;
  const Row extents = {static_cast<int>(count), 5, 5, 2};
  std::set<std::array<int, 4>> open;  // two columns and their values
  auto pairs_of = [](const Row& row) {
    std::vector<std::array<int, 4>> pairs;
    for (int a = 0; a < 4; ++a) {
      for (int b = a + 1; b < 4; ++b)
        pairs.push_back({a, b, row[static_cast<std::size_t>(a)], row[static_cast<std::size_t>(b)]});
    }
    return pairs;
  };
  auto draw = [&] {
    Row row{};
    for (std::size_t c = 0; c < row.size(); ++c) row[c] = static_cast<int>(rng.between(0, extents[c] - 1));
    return row;
  };
  for (int n = 0; n < extents[0] * extents[1] * extents[2] * extents[3]; ++n) {
    const Row row = {n % extents[0], n / extents[0] % 5, n / extents[0] / 5 % 5, n / extents[0] / 25};
    for (const auto& pair : pairs_of(row)) open.insert(pair);
  }
  std::vector<Case> cases;
  while (!open.empty()) {
    const std::array<int, 4> must = *open.begin();
    Row best{};
    std::size_t most = 0;
    for (int n = 0; n < 30; ++n) {
      Row row = draw();
      for (std::size_t c : {0U, 1U}) row[static_cast<std::size_t>(must[c])] = must[c + 2];
      const auto pairs = pairs_of(row);
      const auto fresh = static_cast<std::size_t>(
          std::count_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return open.contains(pair); }));
      if (fresh > most) best = row;
      most = std::max(most, fresh);
    }
    for (const auto& pair : pairs_of(best)) open.erase(pair);
    cases.push_back({static_cast<std::size_t>(best[0]), best[1], trips_of(best[2], best[1]),
                     best[3] == 0 ? plan::WorkKind::plain : plan::WorkKind::persistent});
  }
  return cases;
}

std::vector<Case> all_cases(std::size_t count) {
  std::vector<Case> cases;
  for (std::size_t sample = 0; sample < count; ++sample) {
    for (int stages = 0; stages <= 4; ++stages) {
      for (std::int64_t trips = 0; trips <= 2 * std::max(stages, 1) + 1; ++trips) {
        for (auto work : {plan::WorkKind::plain, plan::WorkKind::persistent})
          cases.push_back({sample, stages, trips, work});
      }
    }
  }
  return cases;
}

/// The programs of one sample by trip count, each with what its serial schedule gives.
class Programs {
 public:
  Programs(const Sample& sample, const machine::Device& device) : sample_(sample), device_(device) {}

  void check(const Case& c) {
    SCOPED_TRACE(
        fmt::format("{}: {} stages, {} iterations, {}", sample_.label, c.stages, c.trips, plan::name_of(c.work)));
    // Where the length is one of compile time, a loop has an iteration.
    const std::int64_t trips = sample_.each == 0 ? c.trips : std::max<std::int64_t>(c.trips, 1);
    ScheduledProgram* program = of(trips);
    if (program == nullptr) return;
    plan::Schedule schedule = serial_schedule(program->scheduled(), 0);
    schedule.loops = staged_loops(program->scheduled(), c.stages);
    schedule.place.work.kind = c.work;
    run(*program, schedule);
  }

  /// What a planner makes of all loops, whatever their author says.
  void check(planner::Kind kind, std::int64_t trips) {
    SCOPED_TRACE(fmt::format("{}: planner {}, {} iterations", sample_.label, planner::name_of(kind), trips));
    if (sample_.each != 0) trips = std::max<std::int64_t>(trips, 1);
    ScheduledProgram* program = of(trips);
    if (program == nullptr) return;
    auto planned = planned_program(*load_sample(sample_, trips), device_, kind, sample_.dims(trips));
    ASSERT_TRUE(planned.ok()) << planned.diagnostics().render();
    EXPECT_FALSE(planned->told.loops.empty()) << planner::text(planned->told);
    run(*program, planned->derived.schedule);
  }

 private:
  static void run(ScheduledProgram& program, const plan::Schedule& schedule) {
    const ScheduledProgram::Finding found = program.run(schedule);
    EXPECT_EQ(found.refused, "");
    if (!found.problem.empty()) ADD_FAILURE() << found.problem << "\n" << plan::print(schedule);
  }

  ScheduledProgram* of(std::int64_t trips) {
    auto [it, fresh] = made_.emplace(trips, nullptr);
    if (!fresh) return it->second.get();
    auto kernel = load_sample(sample_, trips);
    if (!kernel) {
      ADD_FAILURE() << kernel.diagnostics().render();
      return nullptr;
    }
    auto program = std::make_unique<ScheduledProgram>(std::move(*kernel), sample_.dims(trips), 7, device_);
    const ScheduledProgram::Finding found = program->run_serial();
    if (!found.problem.empty() || !found.refused.empty()) {
      ADD_FAILURE() << found.problem << found.refused;
      return nullptr;
    }
    it->second = std::move(program);
    return it->second.get();
  }

  const Sample& sample_;
  const machine::Device& device_;
  std::map<std::int64_t, std::unique_ptr<ScheduledProgram>> made_;
};

/// A machine, with the seed of its sample.
struct Machine {
  const char* suffix;  ///< of tests' names
  const machine::Device& (*device)();
  std::uint64_t seed;
  std::size_t most;  ///< cases of a kernel in the suite
};
constexpr Machine kMachines[] = {{"", gpu, 20, 20}, {"_without_tma", gpu_without_tma, 80, 20}, {"_npu", npu, 140, 2}};

class Kernels : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {};

TEST_P(Kernels, AnyStagesAndTripsGiveTheSameBytes) {
  const auto [at, number] = GetParam();
  const Machine& machine = kMachines[at];
  const std::vector<Sample> all = samples();
  Rng rng(machine.seed);
  const bool whole = std::getenv("PLAIT_SOAK") != nullptr;
  Programs programs(all.at(number), machine.device());
  std::size_t left = whole ? std::numeric_limits<std::size_t>::max() : machine.most;
  for (const Case& c : whole ? all_cases(all.size()) : pairwise(all.size(), rng)) {
    if (c.sample == number && left-- > 0) programs.check(c);
  }
}

/// Machines whose loops planners weigh, each with the planners that the suite tries.
struct Planned {
  const char* suffix;
  const machine::Device& (*device)();
  std::vector<planner::Kind> kinds;
  bool twice;         ///< all of them, with two trip counts; else one of them, with one
  std::int64_t most;  ///< trips: more than twice as many as there are stages
};
const std::vector<Planned>& planned_machines() {
  using planner::Kind;
  static const std::vector<Planned> machines = {
      {"", gpu, {Kind::greedy, Kind::modulo}, true, 7},
      {"_without_tma", gpu_without_tma, {Kind::greedy, Kind::modulo}, true, 7},
      {"_npu", npu, {Kind::greedy, Kind::modulo, Kind::automatic}, false, 13},
      {"_npu_by_way_of_memory", npu_by_way_of_memory, {Kind::greedy, Kind::modulo, Kind::automatic}, false, 13},
  };
  return machines;
}

constexpr std::int64_t kFewTrips = 5;  // on an NPU, in the suite

class PlannedKernels : public Kernels {};

/// In the suite each planner meets each kernel on each GPU with two trip counts, one planner each kernel on each NPU.
TEST_P(PlannedKernels, AnyPlannerGivesTheSameBytes) {
  const auto [at, number] = GetParam();
  const Planned& machine = planned_machines().at(at);
  const std::vector<Sample> all = samples();
  Rng rng(900 + 2 * number + at);
  const bool whole = std::getenv("PLAIT_SOAK") != nullptr;
  Programs programs(all.at(number), machine.device());
  if (!whole && !machine.twice) {
    const auto drawn = static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(machine.kinds.size()) - 1));
    programs.check(machine.kinds[drawn], rng.between(0, kFewTrips));
    return;
  }
  for (planner::Kind kind : machine.kinds) {
    if (whole) {
      for (std::int64_t trips = 0; trips <= machine.most; ++trips) programs.check(kind, trips);
      continue;
    }
    programs.check(kind, rng.between(0, 2));
    programs.check(kind, rng.between(3, machine.most));
  }
}

using Param = testing::TestParamInfo<std::tuple<std::size_t, std::size_t>>;
std::string label_of(const Param& at) {
  return samples()[std::get<1>(at.param)].label + kMachines[std::get<0>(at.param)].suffix;
}
std::string planned_label_of(const Param& at) {
  return samples()[std::get<1>(at.param)].label + planned_machines()[std::get<0>(at.param)].suffix;
}
INSTANTIATE_TEST_SUITE_P(Samples, Kernels,
                         testing::Combine(testing::Range<std::size_t>(0, std::size(kMachines)),
                                          testing::Range<std::size_t>(0, samples().size())),
                         label_of);
INSTANTIATE_TEST_SUITE_P(Samples, PlannedKernels,
                         testing::Combine(testing::Range<std::size_t>(0, planned_machines().size()),
                                          testing::Range<std::size_t>(0, samples().size())),
                         planned_label_of);

TEST(KernelSamples, HaveEveryKernelWithAPipelinedLoop) {
  std::set<std::string> known;
  for (const Sample& sample : samples()) known.insert(sample.kernel);
  for (const auto& entry : std::filesystem::directory_iterator(std::string(PLAIT_SOURCE_DIR) + "/kernels")) {
    if (entry.path().extension() != ".tile") continue;
    const bool pipelined = read_file(entry.path()).find("in pipelined(") != std::string::npos;
    EXPECT_TRUE(!pipelined || known.contains(entry.path().stem())) << entry.path();
  }
}

}  // namespace
}  // namespace plait::test
