#pragma once

#include <optional>
#include <string_view>

#include "cuda/context.h"

namespace plait::cuda {

/// What "sm_90a" names: compute capability 9.0, with the features of that architecture alone.
struct Architecture {
  int number = 0;
  bool is_specific = false;
};
/// Nothing for a text of another form, and for architectures older than 7.0, which NVRTC does not know.
std::optional<Architecture> parse_architecture(std::string_view text);

/// Plain code runs on later devices of its generation too, specific code on that one architecture.
bool runs_on(const Architecture& code, const DeviceInfo& device);

/// The architecture of a device, with the features of it alone, which role programs may use.
std::string architecture_of(const DeviceInfo& device);

}  // namespace plait::cuda
