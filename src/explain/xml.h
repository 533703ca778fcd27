#pragma once

#include <string>
#include <string_view>

namespace plait::explain {

/// The text with the characters that XML keeps for itself replaced.
std::string xml(std::string_view text);

}  // namespace plait::explain
