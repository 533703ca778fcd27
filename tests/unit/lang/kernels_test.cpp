#include <gtest/gtest.h>

#include <filesystem>

#include "roundtrip.h"

namespace plait {
namespace {

TEST(KernelLibrary, EveryKernelElaboratesAndSurvivesPrinting) {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PLAIT_SOURCE_DIR "/kernels")) {
    if (entry.path().extension() != ".tile") continue;
    SCOPED_TRACE(entry.path().filename());
    ++seen;
    auto kernel = test::load(test::read_file(entry.path()));
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
