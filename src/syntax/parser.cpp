#include "syntax/parser.h"

#include <fmt/format.h>

namespace plait::syntax {
namespace {

constexpr std::size_t kMaxSource = std::size_t{64} << 20;

std::string stored(const Trivia& trivia) {
  if (trivia.blank) return {};
  // An empty comment is not a blank line.
  return trivia.text.empty() ? std::string(" ") : std::string(trivia.text);
}

}  // namespace

const Token Parser::kPanic = {Tok::error, 0, 0, 1, 1};

Tok Parser::peek(std::size_t ahead) const {
  if (panic_) return Tok::error;
  std::size_t at = pos_ + ahead;
  return at < lexed_.tokens.size() ? lexed_.tokens[at].kind : Tok::end_of_file;
}

void Parser::advance() {
  if (!panic_ && !at(Tok::end_of_file)) ++pos_;
}

bool Parser::accept(Tok kind) {
  if (!at(kind)) return false;
  advance();
  return true;
}

bool Parser::expect(Tok kind, std::string_view what, std::string fix) {
  if (accept(kind)) return true;
  expected(what, std::move(fix));
  return false;
}

void Parser::expected(std::string_view what, std::string fix) {
  if (fix.empty() && !panic_) fix = advice_for(cur(), previous());
  fail(Rule::syntax, cur(), fmt::format("expected {}, found {}", what, found()), std::move(fix));
}

void Parser::fail(Rule rule, const Token& where, std::string message, std::string fix) {
  // What the lexer could not read it has reported itself.
  if (!panic_ && where.kind != Tok::error) report(rule, where, std::move(message), std::move(fix));
  panic_ = true;
}

Diagnostic& Parser::report(Rule rule, const Token& where, std::string message, std::string fix) {
  return errors_.add(rule, errors_.loc(where), std::move(message), std::move(fix));
}

void Parser::close(const Token& open, Tok kind, std::string_view what) {
  if (accept(kind) || panic_) return;
  bool other_line = cur().line != open.line;
  std::size_t before = errors_.size();
  expected(fmt::format("',' or '{}' behind {}", spelling(kind), what));
  if (other_line && errors_.size() > before) {
    errors_.last().notes.push_back({errors_.loc(open), fmt::format("'{}' was opened here", spelling(open.kind))});
  }
}

Loc Parser::span(const Token& start) const {
  const Token& last = previous();
  bool one_line = last.line == start.line && last.offset >= start.offset;
  return errors_.loc(start.line, start.column, one_line ? last.offset + last.length - start.offset : start.length);
}

void Parser::take_comments(std::vector<std::string>& leading) {
  for (; trivia_ < lexed_.trivia.size() && lexed_.trivia[trivia_].token <= pos_; ++trivia_) {
    leading.push_back(stored(lexed_.trivia[trivia_]));
  }
}

void Parser::take_header_comments(CommentSlot previous, CommentSlot next) {
  for (; trivia_ < lexed_.trivia.size() && lexed_.trivia[trivia_].token <= pos_; ++trivia_) {
    const Trivia& comment = lexed_.trivia[trivia_];
    if (comment.blank) continue;
    if (!comment.own_line && previous.trailing != nullptr && previous.trailing->empty()) {
      *previous.trailing = stored(comment);
    } else {
      next.leading->push_back(stored(comment));
    }
  }
}

void Parser::end_line(std::vector<std::string>& leading, std::string& trailing) {
  if (!panic_ && !at(Tok::newline)) expected("end of line");
  if (panic_) return sync_line();
  for (; trivia_ < lexed_.trivia.size() && lexed_.trivia[trivia_].token <= pos_; ++trivia_) {
    const Trivia& comment = lexed_.trivia[trivia_];
    if (comment.token == pos_ && !comment.own_line) {
      trailing = stored(comment);
    } else if (!comment.blank) {
      leading.push_back(stored(comment));
    }
  }
  advance();
}

void Parser::sync_line() {
  panic_ = false;
  while (!at(Tok::newline) && !at(Tok::end_of_file)) advance();
  std::vector<std::string> dropped;
  take_comments(dropped);
  advance();
}

void Parser::skip_block() {
  int open = 0;
  do {
    open += at(Tok::indent) ? 1 : at(Tok::dedent) ? -1 : 0;
    advance();
  } while (open > 0 && !at(Tok::end_of_file));
}

bool Parser::too_deep(const Token& where) {
  // Twice the height, because a node of the tree may take an operator and a pair of parentheses.
  if (depth_ <= 2 * kMaxExprDepth) return false;
  fail(Rule::nesting_limit, where, fmt::format("the expression is nested more than {} deep", kMaxExprDepth));
  return true;
}

bool Parser::tab_before(const Token& token) const {
  std::string_view indentation = text_.substr(token.offset - static_cast<std::size_t>(token.column - 1),
                                              static_cast<std::size_t>(token.column - 1));
  return indentation.find('\t') != std::string_view::npos;
}

Result<File> parse(const SourceRef& source) {
  PLAIT_ASSERT(source != nullptr, "parse() without a source");
  Errors lexical(source);
  Errors grammatical(source);
  if (source->text().size() > kMaxSource) {
    lexical.add(Rule::source_text, lexical.loc(1, 1, 1),
                fmt::format("the text has {} bytes, more than {}", source->text().size(), kMaxSource),
                "split the file");
    return Errors::merge(lexical, grammatical);
  }
  Lexed lexed = lex(source->text(), lexical);
  File file = Parser(source, lexed, grammatical).file();
  if (!lexical.empty() || !grammatical.empty()) return Errors::merge(lexical, grammatical);
  return file;
}

}  // namespace plait::syntax
