#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "syntax/tree.h"

namespace plait::syntax {

constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kIndent = 2;

// format_expr.cpp
/// An expression on one line, with the parentheses that precedence needs.
std::string text_of(const Expr& expr);
/// `a, b, c`
std::string text_of(const std::vector<ExprRef>& exprs);
/// `a, n=b`
std::string text_of(const std::vector<Arg>& args);
/// ` layout e pad e`
std::string text_of(const std::vector<Clause>& clauses);

// format_text.cpp
/// Columns that a text takes.
std::size_t width(std::string_view text);
/// `# text` for a stored comment.
std::string comment_text(std::string_view stored);

/// Lines being put together.
class Lines {
 public:
  /// A statement or header at an indentation; one that is too long is broken behind commas.
  void add(std::size_t indent, std::string_view text, std::string_view trailing);
  /// Comments and blank lines, at most one blank line in a row; `skip_blank` drops those at the begin.
  void comments(std::size_t indent, const std::vector<std::string>& comments, bool skip_blank);
  void blank() { text_ += '\n'; }
  void raw(std::string_view line);
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// format_stmt.cpp
void format_block(Lines& lines, std::size_t indent, const Block& block);

}  // namespace plait::syntax
