#pragma once

#include <string>
#include <string_view>

namespace plait::store {

/// BLAKE3 of a text, as `digits` hexadecimal digits, at most 64.
std::string digest_of(std::string_view text, std::size_t digits);

}  // namespace plait::store
