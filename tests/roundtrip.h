#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "lang/elaborate.h"

namespace plait::test {

inline std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The kernel of a text, or the diagnostics of the parser or the elaborator.
inline Result<ir::Kernel> load(const std::string& text, const lang::Bindings& bindings = {},
                               const std::string& kernel = {}) {
  auto file = syntax::parse(std::make_shared<const SourceFile>("test.tile", text));
  if (!file) return file.diagnostics();
  return lang::elaborate(*file, kernel, bindings);
}

/// Fails the test unless printing the kernel and reading the text gives an equal kernel, whose print is the same text.
inline void expect_round_trip(const ir::Kernel& kernel) {
  std::string text = ir::print(kernel);
  Result<ir::Kernel> again = load(text);
  ASSERT_TRUE(again.ok()) << "the printed kernel is refused:\n" << text << again.diagnostics().render();
  EXPECT_TRUE(ir::equal(kernel, *again)) << "first:\n" << text << "again:\n" << ir::print(*again);
  EXPECT_EQ(text, ir::print(*again));
}

}  // namespace plait::test
