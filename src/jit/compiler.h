#pragma once

#include <optional>
#include <string>

namespace plait::jit {

/// Version of the compiler that cuda::nvrtc() would open, e.g. `13.0`; nothing where there is none. Opening it takes
/// longer than a warm start may: what it was found to be is noted in `folder` (empty: nowhere), and holds as long as
/// the files do. `open`: where nothing is noted it is opened. Thread-safe.
std::optional<std::string> compiler_version(const std::string& folder, bool open);

}  // namespace plait::jit
