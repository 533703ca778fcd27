// Random programs under random legal schedules, in the simulator: no schedule changes a byte of a result, and none has
// a race, a deadlock or a read of what nobody wrote. The environment variable PLAIT_SOAK multiplies the programs,
// PLAIT_RANDOM_SEED is the first one; a failure prints the program, the schedule and the seed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "random/schedules/trial.h"
#include "roundtrip.h"
#include "verify/verify.h"

namespace plait::test {
namespace {

constexpr int kSchedules = 5;  ///< of each program
constexpr std::uint64_t kParts = 8, kPrograms = 5;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// What was run, over all tests of the process.
struct Counts {
  int programs = 0, pairs = 0, run = 0, overlapped = 0;
  std::map<std::string, int> refused;

  ~Counts() {
    if (programs == 0) return;
    std::cout << fmt::format("{} programs, {} pairs: {} run, {} of them with overlap\n", programs, pairs, run,
                             overlapped);
    for (const auto& [why, count] : refused) std::cout << fmt::format("{:6} refused: {}\n", count, why);
  }
};
Counts counts;

std::string dims_text(const std::map<std::string, std::int64_t>& dims) {
  std::string text;
  for (const auto& [name, value] : dims) text += fmt::format(" --dim {}={}", name, value);
  return text;
}

void check(std::uint64_t seed, const machine::Device& device, Rows rows) {
  const PipelinedText text = PipelinedWriter(seed).write();
  const std::string program = fmt::format("program {},{}\n{}", seed, dims_text(text.dims), text.text);
  auto kernel = load(text.text);
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics().render() << program;
  const Diagnostics broken = verify::verify(*kernel);
  ASSERT_FALSE(broken.has_errors()) << broken.render() << program;
  ++counts.programs;
  ScheduledProgram made(std::move(*kernel), text.dims, seed, device, rows);
  const ScheduledProgram::Finding serial = made.run_serial();
  if (!serial.refused.empty()) ++counts.refused[serial.refused];
  if (!serial.problem.empty()) ADD_FAILURE() << serial.problem << "\n" << program;
  if (!serial.refused.empty() || !serial.problem.empty()) return;
  Rng rng(seed ^ 0x7c0ffee);
  for (int n = 0; n < kSchedules; ++n) {
    const plan::Schedule schedule = draw_schedule(made.scheduled(), rng);
    ++counts.pairs;
    const ScheduledProgram::Finding found = made.run(schedule);
    if (!found.problem.empty()) ADD_FAILURE() << found.problem << "\n" << program << plan::print(schedule);
    if (!found.refused.empty()) {
      ++counts.refused[found.refused];
      continue;
    }
    ++counts.run;
    for (const plan::LoopPlan& loop : schedule.loops) counts.overlapped += loop.stages() > 1 ? 1 : 0;
  }
}

class Schedules : public testing::TestWithParam<std::uint64_t> {
 protected:
  static void check_all(const machine::Device& device, Rows rows = Rows::as_they_are,
                        std::uint64_t programs = kPrograms) {
    const std::uint64_t each = programs * number_from("PLAIT_SOAK", 1);
    const std::uint64_t first = number_from("PLAIT_RANDOM_SEED", 1) + GetParam() * each;
    for (std::uint64_t seed = first; seed < first + each; ++seed) check(seed, device, rows);
  }
};

TEST_P(Schedules, ChangeNoByte) { check_all(gpu()); }
TEST_P(Schedules, ChangeNoByteWithoutTma) { check_all(gpu_without_tma()); }
TEST_P(Schedules, ChangeNoByteOfUnalignedTensors) { check_all(gpu(), Rows::anywhere); }
TEST_P(Schedules, ChangeNoByteOnAnNpu) { check_all(npu(), Rows::as_they_are, 2); }

INSTANTIATE_TEST_SUITE_P(Parts, Schedules, testing::Range<std::uint64_t>(0, kParts));

}  // namespace
}  // namespace plait::test
