#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "interp/interp.h"
#include "random/call.h"
#include "roundtrip.h"
#include "verify/verify.h"

namespace plait::test {

/// The kernel of a text that must be legal.
inline ir::Kernel kernel_of(const std::string& text, const lang::Bindings& bindings = {}) {
  Result<ir::Kernel> kernel = load(text, bindings);
  if (!kernel) throw InternalError(kernel.diagnostics().render());
  const Diagnostics broken = verify::verify(*kernel);
  if (broken.has_errors()) throw InternalError(broken.render());
  return *kernel;
}

/// Fails the test with the rendered diagnostics unless the run ends well.
inline void expect_runs(const ir::Kernel& kernel, Call& call, const interp::Options& options = {}) {
  const Diagnostics found = interp::interpret(kernel, call.args(), options);
  EXPECT_TRUE(found.empty()) << found.render();
}

/// from, from + 1, … count of them.
inline std::vector<double> iota(std::int64_t count, double from = 0) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), from);
  return values;
}

/// Whole numbers in [-range, range] that repeat with no short period.
inline std::vector<double> numbers(std::int64_t count, std::int64_t range, std::uint64_t seed = 1) {
  std::vector<double> values;
  for (std::int64_t n = 0; n < count; ++n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<double>(
        static_cast<std::int64_t>((seed >> 33) % static_cast<std::uint64_t>(2 * range + 1)) - range));
  }
  return values;
}

}  // namespace plait::test
