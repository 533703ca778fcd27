#include "random/program.h"

#include "lang/elaborate.h"
#include "random/generator.h"

namespace plait::test {

namespace {

ir::Kernel elaborated(const std::string& text) {
  Result<syntax::File> file = syntax::parse(std::make_shared<const SourceFile>("random.tile", text));
  PLAIT_ASSERT(file.ok(), "a random program does not parse:\n" + file.diagnostics().render() + text);
  Result<ir::Kernel> kernel = lang::elaborate(*file, {}, {});
  PLAIT_ASSERT(kernel.ok(), "a random program is refused:\n" + kernel.diagnostics().render() + text);
  return std::move(*kernel);
}

/// Whole and broken numbers, mostly small.
std::vector<double> draw(Rng& rng, std::size_t count, bool whole) {
  std::vector<double> values;
  for (std::size_t n = 0; n < count; ++n) {
    const auto value = static_cast<double>(rng.between(-8, 8));
    values.push_back(whole || rng.chance(70) ? value : value * 0.375);
  }
  return values;
}

}  // namespace

std::string random_program_text(std::uint64_t seed) { return Generator(seed).write(); }

RandomProgram make_random_program(std::uint64_t seed) {
  RandomProgram program;
  program.seed = seed;
  program.text = random_program_text(seed);
  program.kernel = elaborated(program.text);
  Rng rng(seed ^ 0x5bd1e995);
  for (const ir::Var& dim : program.kernel.dims) {
    program.dims[dim->name] = rng.pick({0, 1, 2, 3, 5, 7, 8, 13, 16, 17, 24});
  }
  if (program.dims.count("pitch") != 0) program.dims["pitch"] = program.dims["N"] + rng.between(0, 3);
  const Call layout(program.kernel, program.dims);
  for (const ir::Param& param : program.kernel.params) {
    if (param.kind == ir::ParamKind::scalar) {
      program.scalars[param.scalar->name] = static_cast<double>(rng.between(0, 4));
      continue;
    }
    std::size_t count = 1;
    for (const std::int64_t extent : layout.view(param.buffer->name).shape) count *= static_cast<std::size_t>(extent);
    program.inputs[param.buffer->name] = draw(rng, count, param.kind == ir::ParamKind::inout);
  }
  return program;
}

Call RandomProgram::make_call() const {
  Call call(kernel, dims);
  for (const auto& [name, values] : inputs) call.set(name, values);
  for (const auto& [name, value] : scalars) call.set_scalar(name, value);
  return call;
}

}  // namespace plait::test
