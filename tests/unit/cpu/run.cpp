#include "unit/cpu/run.h"

#include <algorithm>
#include <cmath>

#include "interp/interp.h"
#include "ir/numeric.h"
#include "random/blocks.h"
#include "roundtrip.h"
#include "verify/verify.h"

namespace plait::test {
namespace {

std::string describe(const cpu::Code& code, const cpu::Trap& trap) {
  const cpu::TrapInfo& info = code.traps.at(static_cast<std::size_t>(trap.code - 1));
  std::string text = info.message;
  for (const auto value : trap.values) {
    if (info.rule == Rule::assert_failed) break;  // has no values
    const auto at = text.find("{}");
    if (at != std::string::npos) text.replace(at, 2, std::to_string(value));
  }
  return std::to_string(info.loc.line) + ": " + text + " [" + std::string(rule_name(info.rule)) + "]";
}

void set_inputs(const ir::Kernel& kernel, Call& call) {
  std::uint64_t seed = 1;
  for (const auto& param : kernel.params) {
    if (param.kind == ir::ParamKind::scalar || param.kind == ir::ParamKind::out) continue;
    std::int64_t count = 1;
    for (const auto extent : call.view(param.buffer->name).shape) count *= extent;
    call.set(param.buffer->name, numbers(param.buffer->type, count, seed++));
  }
}

void expect_close(const std::string& name, const std::vector<double>& want, const std::vector<double>& got,
                  double tolerance) {
  ASSERT_EQ(want.size(), got.size());
  double largest = 0;
  for (const double value : want) largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
  int shown = 0;
  for (std::size_t i = 0; i < want.size() && shown < 5; ++i) {
    const bool both_nan = std::isnan(want[i]) && std::isnan(got[i]);
    if (both_nan || want[i] == got[i] || std::abs(want[i] - got[i]) <= tolerance * largest) continue;
    ADD_FAILURE() << name << " element " << i << ": interpreted " << want[i] << ", compiled " << got[i];
    ++shown;
  }
}

/// Code of the program, compiled anew only where it is not the one of the last call: tests run one program on many
/// extents.
const cpu::Code& code_for(const std::string& text, const lang::Bindings& bindings, const ir::Kernel& kernel) {
  static std::pair<std::string, lang::Bindings> last;
  static cpu::Code code;
  if (code.block == nullptr || last != std::pair(text, bindings)) code = code_of(kernel);
  last = {text, bindings};
  return code;
}

}  // namespace

ir::Kernel kernel_of(const std::string& text, const lang::Bindings& bindings) {
  Result<ir::Kernel> kernel = load(text, bindings);
  if (!kernel) throw InternalError(kernel.diagnostics().render());
  const Diagnostics broken = verify::verify(*kernel);
  if (broken.has_errors()) throw InternalError(broken.render());
  return *kernel;
}

cpu::Code code_of(const ir::Kernel& kernel, const cpu::Options& options) {
  Result<cpu::Code> code = cpu::compile(kernel, options);
  if (!code) throw InternalError(code.diagnostics().render());
  return std::move(*code);
}

std::string run_blocks(const cpu::Code& code, const ir::BoundArgs& args) {
  const std::optional<cpu::Trap> trap = first_trap(code, args);
  return trap ? describe(code, *trap) : "";
}

void expect_runs(const ir::Kernel& kernel, Call& call, const cpu::Options& options) {
  EXPECT_EQ(run_blocks(code_of(kernel, options), call.args()), "");
}

std::vector<double> numbers(ir::DType type, std::int64_t count, std::uint64_t seed) {
  std::vector<double> values;
  for (std::int64_t n = 0; n < count; ++n) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const auto draw = static_cast<std::int64_t>((seed >> 33) % 2001) - 1000;
    double value = static_cast<double>(draw) / 125.0;
    if (ir::is_float(type))
      value = ir::round_to(type, value);
    else if (ir::is_bool(type))
      value = draw % 2 != 0 ? 1 : 0;
    else
      value = static_cast<double>(ir::int_to_int(type, draw));
    values.push_back(value);
  }
  return values;
}

void expect_as_interpreted(const std::string& text, const Dims& dims, double tolerance,
                           const lang::Bindings& bindings) {
  const ir::Kernel kernel = kernel_of(text, bindings);
  const cpu::Code& code = code_for(text, bindings, kernel);
  Call want(kernel, dims);
  Call got(kernel, dims);
  set_inputs(kernel, want);
  set_inputs(kernel, got);
  const Diagnostics found = interp::interpret(kernel, want.args());
  ASSERT_TRUE(found.empty()) << found.render();
  EXPECT_EQ(run_blocks(code, got.args()), "");
  for (const auto& param : kernel.params) {
    if (param.kind == ir::ParamKind::scalar || param.kind == ir::ParamKind::in) continue;
    const std::string& name = param.buffer->name;
    expect_close(name, want.get(name), got.get(name), tolerance);
  }
}

}  // namespace plait::test
