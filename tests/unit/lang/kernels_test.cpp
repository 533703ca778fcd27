#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "roundtrip.h"

namespace plait {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(KernelLibrary, EveryKernelElaboratesAndSurvivesPrinting) {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PLAIT_SOURCE_DIR "/kernels")) {
    if (entry.path().extension() != ".tile") continue;
    SCOPED_TRACE(entry.path().filename());
    ++seen;
    auto kernel = test::load(read(entry.path()));
    if (!kernel.ok()) {
      ADD_FAILURE() << kernel.diagnostics().render();
      continue;
    }
    test::expect_round_trip(*kernel);
  }
  EXPECT_GE(seen, 18);
}

}  // namespace
}  // namespace plait
