#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>

#include "emit/cpu/cpu.h"
#include "interp/interp.h"
#include "interp/reproducer.h"
#include "random/blocks.h"
#include "random/program.h"
#include "verify/verify.h"

// Random programs on the CPU target against the interpreter, bit by bit. PLAIT_RANDOM_SECONDS makes it a long sweep
// from PLAIT_RANDOM_SEED on.
namespace plait::test {
namespace {

/// Runs every block in order; empty, or what stopped it.
std::string run_compiled(const ir::Kernel& kernel, const ir::BoundArgs& args) {
  const Result<cpu::Code> code = cpu::compile(kernel);
  if (!code) return code.diagnostics().render();
  const std::optional<cpu::Trap> trap = first_trap(*code, args);
  if (!trap) return {};
  const cpu::TrapInfo& info = code->traps.at(static_cast<std::size_t>(trap->code - 1));
  return info.loc.str() + ": " + info.message;
}

/// The first element of any tensor that differs, or nothing.
std::string first_difference(const RandomProgram& program, const Call& want, const Call& got) {
  for (const auto& [name, values] : program.inputs) {
    const std::vector<double> a = want.get(name), b = got.get(name);
    for (std::size_t n = 0; n < a.size(); ++n) {
      if (a[n] == b[n] || (std::isnan(a[n]) && std::isnan(b[n]))) continue;
      return name + " element " + std::to_string(n) + ": interpreted " + std::to_string(a[n]) + ", compiled " +
             std::to_string(b[n]);
    }
  }
  return {};
}

/// What is wrong with one program, or nothing.
std::string problem_of(const RandomProgram& program) {
  const Diagnostics broken = verify::verify(program.kernel);
  if (broken.has_errors()) return broken.render();
  Call want = program.make_call(), got = program.make_call();
  const Diagnostics found = interp::interpret(program.kernel, want.args());
  if (!found.empty()) return found.render();
  const std::string stopped = run_compiled(program.kernel, got.args());
  return stopped.empty() ? first_difference(program, want, got) : stopped;
}

void check(std::uint64_t seed) {
  const RandomProgram program = make_random_program(seed);
  const std::string problem = problem_of(program);
  if (problem.empty()) return;
  interp::FailedRun run{"random program " + std::to_string(seed) + "\n" + problem, program.dims, seed, {"--verify"}};
  const std::string path = testing::TempDir() + "random_" + std::to_string(seed) + ".tile";
  const Diagnostics unwritten = interp::write_reproducer(program.kernel, run, path);
  ADD_FAILURE() << "random program " << seed << " (" << path << ")\n" << problem << unwritten.render();
}

std::uint64_t number_from(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

class RandomPrograms : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomPrograms, CompiledAsInterpreted) {
  for (std::uint64_t seed = GetParam() * 100; seed < GetParam() * 100 + 6; ++seed) check(seed);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range<std::uint64_t>(1, 9));

TEST(RandomProgramsSoak, CompiledAsInterpreted) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(number_from("PLAIT_RANDOM_SECONDS"));
  std::uint64_t seed = number_from("PLAIT_RANDOM_SEED") << 20;
  while (std::chrono::steady_clock::now() < until && !HasFailure()) check(seed++);
}

}  // namespace
}  // namespace plait::test
