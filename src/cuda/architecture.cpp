#include "cuda/architecture.h"

#include <fmt/format.h>

#include <charconv>

namespace plait::cuda {
namespace {

constexpr int kOldest = 70;

}  // namespace

std::optional<Architecture> parse_architecture(std::string_view text) {
  constexpr std::string_view prefix = "sm_";
  if (text.substr(0, prefix.size()) != prefix) return std::nullopt;
  std::string_view rest = text.substr(prefix.size());
  Architecture found;
  if (!rest.empty() && rest.back() == 'a') {
    found.is_specific = true;
    rest.remove_suffix(1);
  }
  auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), found.number);
  if (error != std::errc() || stop != rest.data() + rest.size() || found.number < kOldest) return std::nullopt;
  return found;
}

bool runs_on(const Architecture& code, const DeviceInfo& device) {
  int number = 10 * device.major + device.minor;
  if (code.is_specific) return code.number == number;
  return code.number / 10 == device.major && code.number <= number;
}

std::string architecture_of(const DeviceInfo& device) {
  return fmt::format("sm_{}{}{}", device.major, device.minor, device.major >= 9 ? "a" : "");
}

}  // namespace plait::cuda
