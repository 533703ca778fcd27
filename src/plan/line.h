#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "support/diagnostic.h"

namespace plait::plan {

bool is_name(std::string_view text);         ///< letters, digits and underscores, no digit first
bool is_device_name(std::string_view text);  ///< the same with hyphens and digits first

/// A word, an integer, a character of punctuation or `->`.
struct Lexeme {
  enum Kind { word, integer, punctuation, end } kind = end;
  std::string_view text;
  int column = 1;
};

/// One line of a schedule, read from left to right. After an error everything is refused in silence until the line
/// ends. A comment begins with a `#` that stands at the line's begin or behind a space.
class Line {
 public:
  Line(SourceRef source, int number, Diagnostics& diags);

  bool blank() const { return tokens_.size() == 1; }
  bool indented() const { return tokens_.front().column > margin_; }
  bool failed() const { return failed_; }
  int number() const { return number_; }

  const Lexeme& cur() const { return tokens_[at_]; }
  const Lexeme& ahead(std::size_t n) const { return tokens_[std::min(at_ + n, tokens_.size() - 1)]; }
  bool at(std::string_view text) const { return !failed_ && cur().kind != Lexeme::end && cur().text == text; }
  bool accept(std::string_view text);
  bool expect(std::string_view text);
  /// A word that names something.
  std::string name(std::string_view what);
  std::int64_t integer(std::string_view what, std::int64_t least, std::int64_t most);
  /// kind@line or kind@line#2
  graph::StmtName statement();
  /// The name of a machine model.
  std::string device();
  /// What is left of a line that nobody looks at.
  void skip() { at_ = tokens_.size() - 1; }
  void finish();

  void expected(std::string_view what);
  void fail(Rule rule, std::string message, std::string fix = {});
  Loc loc() const { return loc(cur()); }
  Loc loc(const Lexeme& token) const;
  /// From a token to the last one taken.
  Loc span(const Lexeme& first) const;

 private:
  void split(std::string_view text);

  SourceRef source_;
  int number_;
  Diagnostics& diags_;
  std::vector<Lexeme> tokens_;
  std::size_t at_ = 0;
  int margin_ = 1;  ///< the first column, which a byte order mark shifts
  bool failed_ = false;
};

}  // namespace plait::plan
