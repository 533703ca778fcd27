#include <fmt/format.h>

#include <optional>

#include "syntax/literal.h"
#include "syntax/utf8.h"

namespace plait::syntax {
namespace {

/// Escapes of one character behind the backslash.
struct Escape {
  char letter, value;
};
constexpr Escape kEscapes[] = {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'\\', '\\'}, {'"', '"'}};

std::optional<int> hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

struct Unescaped {
  char value;
  std::size_t length;
};

/// `text` begins with a backslash.
std::optional<Unescaped> unescape(std::string_view text) {
  if (text.size() >= 4 && text[1] == 'x') {
    auto high = hex_value(text[2]);
    auto low = hex_value(text[3]);
    if (!high || !low) return std::nullopt;
    return Unescaped{static_cast<char>(*high * 16 + *low), 4};
  }
  for (const Escape& e : kEscapes) {
    if (text.size() >= 2 && text[1] == e.letter) return Unescaped{e.value, 2};
  }
  return std::nullopt;
}

bool ends_line(char c) { return c == '\n' || c == '\r' || c == '\0'; }

void append_quoted_byte(std::string& out, char c) {
  for (const Escape& e : kEscapes) {
    if (c == e.value) {
      out += '\\';
      out += e.letter;
      return;
    }
  }
  auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20 || byte >= 0x7f) {
    out += fmt::format("\\x{:02x}", byte);
  } else {
    out += c;
  }
}

}  // namespace

bool is_word_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

Scanned scan_string(std::string_view text) {
  Scanned out{Tok::string, 0, "", "", 0, 1, false};
  std::size_t i = 1;
  while (i < text.size() && !ends_line(text[i])) {
    if (text[i] == '"') {
      out.length = i + 1;
      return out;
    }
    if (text[i] != '\\') {
      ++i;
      continue;
    }
    auto escape = unescape(text.substr(i));
    bool cut = i + 1 >= text.size() || ends_line(text[i + 1]);
    if (!escape && !cut && out.message.empty()) {
      out.message = "unknown escape in a string";
      out.fix = "the escapes are \\n \\t \\r \\\\ \\\" and \\x with two hexadecimal digits; print writes {{ as {";
      out.error_offset = i;
      out.error_length = 2;
    }
    // Behind an unknown escape the string goes on, an escaped quote included.
    i += escape ? escape->length : (cut ? 1 : 2);
  }
  // The string is cut at its line; a fault in it is not worth a message of its own.
  out.length = i;
  out.endless = true;
  out.message = "the string that begins here has no end on this line";
  out.fix.clear();
  out.error_offset = 0;
  out.error_length = 1;
  return out;
}

std::string string_value(std::string_view spelling) {
  std::string_view body = spelling.substr(1, spelling.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < body.size();) {
    if (body[i] != '\\') {
      out += body[i++];
      continue;
    }
    auto escape = unescape(body.substr(i));
    PLAIT_ASSERT(escape.has_value(), "a string token that was not checked");
    out += escape->value;
    i += escape->length;
  }
  return out;
}

std::string quoted(std::string_view value) {
  std::string out = "\"";
  for (std::size_t i = 0; i < value.size();) {
    std::size_t length = utf8_char(value.substr(i)).length;
    if (length > 1) {
      out += value.substr(i, length);
      i += length;
    } else {
      append_quoted_byte(out, value[i++]);
    }
  }
  return out + '"';
}

}  // namespace plait::syntax
