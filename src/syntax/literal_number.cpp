#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "syntax/literal.h"

namespace plait::syntax {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// Longest spelling that a message repeats; anything longer is cut.
std::string shown(std::string_view text) {
  return text.size() <= 40 ? std::string(text) : std::string(text.substr(0, 40)) + "...";
}

/// How far the text that the writer meant as one number goes: word characters, points, and the sign of a decimal
/// exponent.
std::size_t extent(std::string_view text) {
  bool prefixed =
      text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X' || text[1] == 'b' || text[1] == 'B');
  std::size_t i = 0;
  while (i < text.size()) {
    bool exponent_sign = (text[i] == '-' || text[i] == '+') && i > 0 && (text[i - 1] == 'e' || text[i - 1] == 'E') &&
                         !prefixed && i + 1 < text.size() && is_digit(text[i + 1]);
    if (!is_word_char(text[i]) && text[i] != '.' && !exponent_sign) break;
    ++i;
  }
  return i;
}

std::string without_underscores(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c != '_') out += c;
  }
  return out;
}

/// Base and digits of an integer spelling.
struct Digits {
  int base;
  std::string text;
};

Digits digits_of(std::string_view spelling) {
  if (spelling.starts_with("0x")) return {16, without_underscores(spelling.substr(2))};
  if (spelling.starts_with("0b")) return {2, without_underscores(spelling.substr(2))};
  return {10, without_underscores(spelling)};
}

std::optional<std::uint64_t> to_integer(const Digits& digits) {
  std::uint64_t value = 0;
  const char* end = digits.text.data() + digits.text.size();
  auto [stop, error] = std::from_chars(digits.text.data(), end, value, digits.base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

struct Fault {
  std::string message, fix;
};

std::optional<Fault> underscore_fault(std::string_view text, std::size_t begin, bool hex) {
  for (std::size_t i = begin; i < text.size(); ++i) {
    auto digit = [&](std::size_t at) {
      return at < text.size() && (hex ? is_hex_digit(text[at]) : is_digit(text[at]));
    };
    if (text[i] == '_' && !(i > begin && digit(i - 1) && digit(i + 1))) {
      return Fault{fmt::format("'_' in the number {} does not stand between two digits", shown(text)),
                   "write it as in 1_000"};
    }
  }
  return std::nullopt;
}

std::optional<Fault> prefixed_fault(std::string_view text) {
  bool hex = text[1] == 'x';
  std::string_view digits = text.substr(2);
  if (digits.empty()) return Fault{fmt::format("the number {} has no digits", shown(text)), ""};
  for (char c : digits) {
    bool good = c == '_' || (hex ? is_hex_digit(c) : c == '0' || c == '1');
    if (!good)
      return Fault{fmt::format("'{}' is no digit of the {} number {}", c, hex ? "hexadecimal" : "binary", shown(text)),
                   ""};
  }
  if (auto fault = underscore_fault(text, 2, hex)) return fault;
  if (!to_integer(digits_of(text)))
    return Fault{fmt::format("the integer {} does not fit 64 bits", shown(text)), "the largest is 0xffffffffffffffff"};
  return std::nullopt;
}

std::optional<Fault> decimal_fault(std::string_view text) {
  for (char c : text) {
    if (is_digit(c) || c == '_') continue;
    return Fault{fmt::format("'{}' is neither a number nor a name", shown(text)),
                 "a name begins with a letter or '_'; put an operator or a space behind a number"};
  }
  if (auto fault = underscore_fault(text, 0, false)) return fault;
  if (text.size() > 1 && text[0] == '0') {
    return Fault{fmt::format("the integer {} begins with 0", shown(text)),
                 "leave out the leading zeros; there are no octal numbers"};
  }
  if (!to_integer(digits_of(text)))
    return Fault{fmt::format("the integer {} does not fit 64 bits", shown(text)),
                 "the largest is 18446744073709551615; write a float with '.0' or an exponent"};
  return std::nullopt;
}

/// Splits off digits and underscores.
std::string_view take_digits(std::string_view& rest) {
  std::size_t n = 0;
  while (n < rest.size() && (is_digit(rest[n]) || rest[n] == '_')) ++n;
  std::string_view digits = rest.substr(0, n);
  rest.remove_prefix(n);
  return digits;
}

std::optional<Fault> float_fault(std::string_view text) {
  if (text[0] == '.')
    return Fault{fmt::format("the number {} has no digit before its point", shown(text)),
                 fmt::format("write 0{}", shown(text))};
  std::string_view rest = text;
  std::string_view whole = take_digits(rest);
  if (whole.size() > 1 && whole[0] == '0')
    return Fault{fmt::format("the number {} begins with 0", shown(text)), "leave out the leading zeros"};
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    if (take_digits(rest).empty()) {
      std::size_t point = whole.size() + 1;
      return Fault{fmt::format("the number {} has no digit behind its point", shown(text)),
                   fmt::format("write {}0{}", shown(text.substr(0, point)), shown(rest))};
    }
  }
  if (rest.starts_with('e') || rest.starts_with('E')) {
    rest.remove_prefix(1);
    if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
    if (take_digits(rest).empty()) return Fault{fmt::format("the exponent of {} has no digits", shown(text)), ""};
  }
  if (!rest.empty())
    return Fault{fmt::format("'{}' is no number", shown(text)),
                 "a float is written 1.5 or 1e-5; types are given by casts such as f16(1.5)"};
  if (auto fault = underscore_fault(text, 0, false)) return fault;
  double value = 0;
  std::string plain = without_underscores(text);
  auto [stop, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (error == std::errc::result_out_of_range) {
    return Fault{fmt::format("the float {} does not fit f64", shown(text)),
                 "write inf for infinity, 0.0 for nothing at all"};
  }
  return std::nullopt;
}

}  // namespace

Scanned scan_number(std::string_view text) {
  std::string_view number = text.substr(0, extent(text));
  bool prefixed = number.starts_with("0x") || number.starts_with("0b");
  bool floating = !prefixed && number.find_first_of(".eE") != std::string_view::npos &&
                  number.find_first_not_of("0123456789_.eE+-") == std::string_view::npos;
  std::optional<Fault> fault;
  if (prefixed) {
    fault = prefixed_fault(number);
  } else if (floating || number.find('.') != std::string_view::npos) {
    fault = float_fault(number);
  } else {
    fault = decimal_fault(number);
  }
  Scanned out{floating ? Tok::floating : Tok::integer, number.size(), "", "", 0, number.size(), false};
  if (fault) {
    out.message = fault->message;
    out.fix = fault->fix;
  }
  return out;
}

std::uint64_t integer_value(std::string_view spelling) {
  std::optional<std::uint64_t> value = to_integer(digits_of(spelling));
  PLAIT_ASSERT(value.has_value(), "an integer token that was not checked");
  return *value;
}

double float_value(std::string_view spelling) {
  double value = 0;
  std::string plain = without_underscores(spelling);
  auto [stop, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  PLAIT_ASSERT(error == std::errc() && stop == plain.data() + plain.size(), "a float token that was not checked");
  return value;
}

}  // namespace plait::syntax
