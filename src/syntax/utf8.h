#pragma once

#include <cstdint>
#include <string_view>

namespace plait::syntax {

/// A character and the bytes it takes; `length` 0 where the text does not begin with well-formed UTF-8 (overlong forms,
/// surrogates and values beyond U+10FFFF are not well formed).
struct Utf8Char {
  std::uint32_t code = 0;
  std::size_t length = 0;
};

Utf8Char utf8_char(std::string_view text);

}  // namespace plait::syntax
