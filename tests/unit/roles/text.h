#pragma once

#include <gtest/gtest.h>

#include "roles/parse.h"
#include "roundtrip.h"

namespace plait::test {

inline Result<roles::Program> read_roles(const std::string& text, const lang::Bindings& bindings = {}) {
  return roles::parse(std::make_shared<const SourceFile>("test.roles", text), bindings);
}

/// The program of a text that is right; fails the test and gives an empty program otherwise.
inline roles::Program good_roles(const std::string& text, const lang::Bindings& bindings = {}) {
  auto program = read_roles(text, bindings);
  EXPECT_TRUE(program.ok()) << text << program.diagnostics().render();
  return program.ok() ? *program : roles::Program{};
}

inline std::string program_file(const std::string& name) {
  return read_file(std::string(PLAIT_SOURCE_DIR) + "/tests/roles/" + name);
}

}  // namespace plait::test
