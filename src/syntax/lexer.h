#pragma once

#include "syntax/errors.h"
#include "syntax/token.h"

namespace plait::syntax {

/// A comment or a blank line; it stands before the token with index `token`.
struct Trivia {
  std::size_t token = 0;
  std::string_view text;  ///< behind the '#', without spaces at its end; of a blank line empty
  int column = 1;
  bool own_line = false;
  bool blank = false;
};

/// A text as tokens. Each logical line ends in `newline` (brackets join lines), blocks stand between `indent` and
/// `dedent`, and the last token is `end_of_file`. Comments behind the last statement of a block, indented as it, stand
/// before its `dedent`.
struct Lexed {
  std::vector<Token> tokens;
  std::vector<Trivia> trivia;
};

/// The views in the result point into `text`.
Lexed lex(std::string_view text, Errors& errors);

}  // namespace plait::syntax
