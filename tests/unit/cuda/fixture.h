#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "cuda/launch.h"
#include "roles/parse.h"
#include "unit/cuda/fake_driver.h"

namespace plait::cuda {

inline bool reports(const Diagnostics& diags, Rule rule, const std::string& part) {
  for (const Diagnostic& d : diags.list()) {
    if (d.rule == rule && diags.render().find(part) != std::string::npos) return true;
  }
  return false;
}
#define EXPECT_REPORTS(diags, rule, part) EXPECT_TRUE(reports(diags, rule, part)) << (diags).render()

inline roles::Program program_from(const std::string& text) {
  auto program = roles::parse(std::make_shared<SourceFile>("test.roles", text));
  if (!program) throw std::runtime_error(program.diagnostics().render());
  return std::move(*program);
}

/// The compiler of this machine; null where it has none, and then the test is skipped, or fails where the environment
/// says that it must be there.
inline const Nvrtc* compiler_or_skip() {
  auto found = nvrtc();
  if (found) return *found;
  const char* required = std::getenv("PLAIT_REQUIRE_NVRTC");
  if (required != nullptr && std::string(required) == "1") ADD_FAILURE() << found.diagnostics().render();
  return nullptr;
}
#define NEEDS_COMPILER(name)                   \
  const Nvrtc* name = compiler_or_skip();      \
  if ((name) == nullptr) {                     \
    if (::testing::Test::HasFailure()) return; \
    GTEST_SKIP() << "NVRTC is not here";       \
  }

}  // namespace plait::cuda
