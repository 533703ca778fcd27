#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plait::syntax {

enum class Tok : std::uint8_t {
  end_of_file,
  newline,
  indent,
  dedent,
  error,  ///< something the lexer has reported already
  name,
  integer,
  floating,
  string,
#define PLAIT_PUNCTUATION(id, spelling) id,
#define PLAIT_KEYWORD(id, spelling, word_class) id,
#include "syntax/tokens.def"
#undef PLAIT_PUNCTUATION
#undef PLAIT_KEYWORD
};

/// `none` stands for everything that is no keyword.
enum class WordClass : std::uint8_t { none, item, statement, loop, scope, word };

struct Token {
  Tok kind = Tok::end_of_file;
  std::uint32_t offset = 0;  ///< in bytes from the begin of the text
  std::uint32_t length = 0;
  int line = 1;
  int column = 1;
};

/// Spelling of punctuation and keywords; empty for the other kinds.
std::string_view spelling(Tok kind);
WordClass word_class(Tok kind);
/// The keyword spelled `text`, else Tok::name.
Tok keyword_or_name(std::string_view text);
/// The punctuation `text` begins with, the longest that fits, else Tok::error.
Tok punctuation_at(std::string_view text);
/// Name of an element type of the language, such as `f16`.
bool is_type_name(std::string_view text);
/// All keywords of a class in the order of tokens.def.
std::vector<std::string_view> words_of(WordClass word_class);
/// A token as a message names it: `name 'x'`, `','`, `end of line`.
std::string describe(const Token& token, std::string_view text);

}  // namespace plait::syntax
