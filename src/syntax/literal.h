#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/diagnostic.h"
#include "syntax/token.h"

namespace plait::syntax {

/// A number or string at the begin of a text: how far it goes, and what is wrong with it (message empty: nothing).
struct Scanned {
  Tok kind = Tok::error;
  std::size_t length = 0;
  std::string message, fix;
  std::size_t error_offset = 0, error_length = 0;  ///< of the faulty part
  bool endless = false;                            ///< a string without its closing quote
};

/// `text` begins with a digit, or with a point and a digit.
Scanned scan_number(std::string_view text);
/// `text` begins with a double quote.
Scanned scan_string(std::string_view text);

/// Values of literals that were scanned without a message.
std::uint64_t integer_value(std::string_view spelling);
double float_value(std::string_view spelling);
std::string string_value(std::string_view spelling);

/// The canonical spelling of a string, quotes included.
std::string quoted(std::string_view value);

bool is_word_char(char c);

}  // namespace plait::syntax
