#pragma once

#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "syntax/token.h"

namespace plait::syntax {

/// Where the lexer and the parser put what they find. Takes a bounded number; a text with more errors than that is not
/// read to its end.
class Errors {
 public:
  /// `lines`: where each line of the text came from, for a text that was printed from another one; empty: from here.
  explicit Errors(SourceRef source, std::vector<Loc> lines = {})
      : source_(std::move(source)), lines_(std::move(lines)) {}

  /// The result is valid until the next call; when full() it is a scrap that is thrown away.
  Diagnostic& add(Rule rule, Loc loc, std::string message, std::string fix = {});
  bool full() const { return list_.size() >= kMax; }
  bool empty() const { return list_.empty(); }
  std::size_t size() const { return list_.size(); }
  Diagnostic& last() { return list_.back(); }
  /// Of both, in the order of the text, at most kMax.
  static Diagnostics merge(const Errors& a, const Errors& b);

  Loc loc(int line, int column, std::size_t length) const;
  Loc loc(const Token& token) const { return loc(token.line, token.column, token.length); }

 private:
  static constexpr std::size_t kMax = 20;

  SourceRef source_;
  std::vector<Loc> lines_;
  std::vector<Diagnostic> list_;
  Diagnostic scrap_;
};

}  // namespace plait::syntax
