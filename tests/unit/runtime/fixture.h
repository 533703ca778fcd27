#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/bind.h"
#include "runtime/frontend.h"

namespace plait::runtime {

/// The one kernel of a text that is right.
inline ir::Kernel kernel_from(const std::string& text, const lang::Bindings& bindings = {}) {
  auto file = syntax::parse(std::make_shared<SourceFile>("test.tile", text));
  if (!file) throw std::runtime_error(file.diagnostics().render());
  auto kernel = build_kernel(*file, "", bindings);
  if (!kernel) throw std::runtime_error(kernel.diagnostics().render());
  return std::move(*kernel);
}

inline bool reports(const Diagnostics& diags, Rule rule, const std::string& part) {
  for (const Diagnostic& d : diags.list()) {
    if (d.rule == rule && d.message.find(part) != std::string::npos) return true;
  }
  return false;
}
#define EXPECT_REPORTS(diags, rule, part) EXPECT_TRUE(reports(diags, rule, part)) << (diags).render()

/// A folder that is empty at the start of a test and gone at its end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "plait-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return *this / name;
  }
  std::size_t entries() const {
    auto list = std::filesystem::directory_iterator(path_);
    return static_cast<std::size_t>(std::distance(begin(list), end(list)));
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace plait::runtime
