#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "emit/cpu/cpu.h"
#include "interp/interp.h"
#include "interp/reproducer.h"
#include "random/program.h"
#include "verify/verify.h"

// Random programs on the CPU target against the interpreter, bit by bit. PLAIT_RANDOM_SECONDS makes it a long sweep
// from PLAIT_RANDOM_SEED on.
namespace plait::test {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

std::vector<cpu::Slot> slots_of(const ir::BoundArgs& args) {
  std::vector<cpu::Slot> slots;
  for (const ir::TensorView& tensor : args.tensors) slots.push_back({.pointer = tensor.data});
  for (const ir::TensorView& tensor : args.tensors) {
    for (const std::int64_t extent : tensor.shape) slots.push_back({.integer = extent});
    for (const std::int64_t stride : tensor.strides) slots.push_back({.integer = stride});
  }
  for (const ir::ScalarValue& scalar : args.scalars) {
    slots.push_back(ir::is_float(scalar.type) ? cpu::Slot{.floating = scalar.f} : cpu::Slot{.integer = scalar.i});
  }
  for (const std::int64_t dim : args.dims) slots.push_back({.integer = dim});
  for (const std::int64_t extent : args.grid) slots.push_back({.integer = extent});
  return slots;
}

/// Runs every block in order; empty, or what stopped it.
std::string run_compiled(const ir::Kernel& kernel, const ir::BoundArgs& args) {
  const Result<cpu::Code> code = cpu::compile(kernel);
  if (!code) return code.diagnostics().render();
  const std::vector<cpu::Slot> slots = slots_of(args);
  const auto bytes = static_cast<std::size_t>((code->scratch_bytes + 63) / 64 * 64 + 64);
  const std::unique_ptr<void, Free> scratch(std::aligned_alloc(64, bytes));
  std::vector<std::int64_t> grid = args.grid;
  grid.resize(3, 1);
  for (std::int64_t block = 0; block < grid[0] * grid[1] * grid[2]; ++block) {
    cpu::Trap trap;
    const std::int64_t x = block % grid[0], y = block / grid[0] % grid[1], z = block / grid[0] / grid[1];
    if (code->block(slots.data(), x, y, z, scratch.get(), &trap) != 0) {
      const cpu::TrapInfo& info = code->traps.at(static_cast<std::size_t>(trap.code - 1));
      return info.loc.str() + ": " + info.message;
    }
  }
  return {};
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
