#pragma once

#include <gtest/gtest.h>

#include "explain/explain.h"
#include "machine/load.h"
#include "roundtrip.h"

namespace plait::explain::test {

/// A kernel of the library on the H200.
struct Subject {
  machine::Device device = *machine::load_device("h200");
  ir::Kernel kernel;
  pipeline::Derived derived;
};

inline Subject subject(const std::string& name, const lang::Bindings& bindings) {
  Subject out;
  std::string text = plait::test::read_file(std::string(PLAIT_SOURCE_DIR) + "/kernels/" + name + ".tile");
  auto kernel = plait::test::load(text, bindings, {});
  if (!kernel) throw InternalError(kernel.diagnostics().render());
  out.kernel = *kernel;
  auto derived = pipeline::derive(out.kernel, out.device);
  if (!derived) throw InternalError(derived.diagnostics().render());
  out.derived = *derived;
  return out;
}
inline Explanation explained(const Subject& s) { return explain(s.derived.program, s.device, &s.kernel, &s.derived); }

}  // namespace plait::explain::test
