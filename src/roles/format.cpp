#include "roles/format.h"

#include <algorithm>

#include "roles/parser.h"
#include "syntax/format.h"

namespace plait::roles {
namespace {

using syntax::Tok;
using syntax::Token;

/// Puts the tokens of a text into lines. No token is changed, so that the text keeps its meaning.
class Formatter {
 public:
  Formatter(std::string_view text, const syntax::Lexed& lexed) : text_(text), lexed_(lexed) {}

  std::string run() {
    while (token(pos_).kind != Tok::end_of_file) {
      if (token(pos_).kind == Tok::indent) {
        ++depth_;
        opened_ = true;
        ++pos_;
      } else if (token(pos_).kind == Tok::dedent) {
        comments();
        --depth_;
        ++pos_;
      } else {
        comments();
        line();
      }
    }
    comments();
    return lines_.take();
  }

 private:
  const Token& token(std::size_t at) const { return lexed_.tokens[std::min(at, lexed_.tokens.size() - 1)]; }
  std::string_view spelling(const Token& t) const { return text_.substr(t.offset, t.length); }
  std::size_t indent() const { return depth_ * syntax::kIndent; }

  static std::string stored(const syntax::Trivia& trivia) {
    if (trivia.blank) return {};
    return trivia.text.empty() ? std::string(" ") : std::string(trivia.text);
  }
  void comments();
  void line();
  std::string joined();
  bool apart(std::size_t at) const;
  bool spaced(std::size_t at) const;
  bool is_sign(std::size_t at) const;

  std::string_view text_;
  const syntax::Lexed& lexed_;
  syntax::Lines lines_;
  std::size_t pos_ = 0, trivia_ = 0, depth_ = 0;
  std::size_t first_ = 0;  ///< token that begins the line
  bool opened_ = true;     ///< nothing stands in this block yet
};

void Formatter::comments() {
  std::vector<std::string> found;
  for (; trivia_ < lexed_.trivia.size() && lexed_.trivia[trivia_].token <= pos_; ++trivia_) {
    found.push_back(stored(lexed_.trivia[trivia_]));
  }
  bool block_ends = token(pos_).kind == Tok::dedent || token(pos_).kind == Tok::end_of_file;
  // A blank line before the end of a block belongs to what stands behind it.
  if (block_ends && token(pos_).kind == Tok::dedent) {
    while (!found.empty() && found.back().empty()) {
      found.pop_back();
      --trivia_;
    }
  }
  if (token(pos_).kind == Tok::end_of_file) {
    while (!found.empty() && found.back().empty()) found.pop_back();
  }
  lines_.comments(indent(), found, opened_);
  opened_ = opened_ && std::all_of(found.begin(), found.end(), [](const std::string& c) { return c.empty(); });
}

/// One logical line; comments inside its brackets go before it.
void Formatter::line() {
  first_ = pos_;
  std::string out = joined();
  std::vector<std::string> before;
  std::string trailing;
  for (; trivia_ < lexed_.trivia.size() && lexed_.trivia[trivia_].token <= pos_; ++trivia_) {
    const syntax::Trivia& comment = lexed_.trivia[trivia_];
    if (comment.token == pos_ && !comment.own_line) {
      trailing = stored(comment);
    } else if (!comment.blank) {
      before.push_back(stored(comment));
    }
  }
  lines_.comments(indent(), before, true);
  lines_.raw(trailing.empty() ? out : out + "  " + syntax::comment_text(trailing));
  opened_ = false;
  if (token(pos_).kind == Tok::newline) ++pos_;
}

/// The tokens up to the end of the logical line. It is broken where its author broke it, behind the open bracket.
std::string Formatter::joined() {
  std::string out(indent(), ' ');
  std::size_t begin = 0;
  std::vector<std::size_t> brackets;
  for (; token(pos_).kind != Tok::newline && token(pos_).kind != Tok::end_of_file; ++pos_) {
    const Token& now = token(pos_);
    bool closes = now.kind == Tok::rparen || now.kind == Tok::rbracket;
    if (closes && !brackets.empty()) brackets.pop_back();
    if (pos_ != first_ && now.line != token(pos_ - 1).line && !brackets.empty()) {
      out += '\n';
      begin = out.size();
      out.append(brackets.back(), ' ');
    } else if (pos_ != first_ && apart(pos_)) {
      out += ' ';
    }
    out += spelling(now);
    if (now.kind == Tok::lparen || now.kind == Tok::lbracket)
      brackets.push_back(syntax::width(std::string_view(out).substr(begin)));
  }
  return out;
}

/// Whether the text has a space between this token and the one before.
bool Formatter::spaced(std::size_t at) const {
  const Token& before = token(at - 1);
  return before.offset + before.length < token(at).offset;
}

/// Whether a `-` or `~` stands before its operand and not between two.
bool Formatter::is_sign(std::size_t at) const {
  Tok kind = token(at).kind;
  if (kind == Tok::tilde) return true;
  if (kind != Tok::minus || at == first_) return false;
  Tok before = token(at - 1).kind;
  if (before == Tok::rparen || before == Tok::rbracket || before == Tok::integer || before == Tok::floating)
    return false;
  // Behind a word such as `parity` only the spaces tell.
  if (before == Tok::name) return spaced(at) && !spaced(at + 1);
  bool arrow = before == Tok::less && !spaced(at);
  return !arrow;
}

bool Formatter::apart(std::size_t at) const {
  const Token &before = token(at - 1), &now = token(at);
  if (before.kind == Tok::lparen || before.kind == Tok::lbracket) return false;
  if (before.kind == Tok::less && now.kind == Tok::minus && !spaced(at)) return false;  // <-
  bool turned = now.kind == Tok::caret || before.kind == Tok::caret;
  if (turned && !spaced(at) && spelling(token(now.kind == Tok::caret ? at + 1 : at)) == "T") return false;
  if (is_sign(at - 1)) return false;
  if (now.kind == Tok::lparen || now.kind == Tok::lbracket) {
    bool word = before.kind == Tok::name || syntax::word_class(before.kind) == syntax::WordClass::loop;
    if (!word) return true;
    // A word of a statement or the name of a function: only the author knows.
    if (now.kind == Tok::lparen) return spaced(at);
    std::string_view line = spelling(token(first_)), list = spelling(before);
    return (line == "map" && list == "box") || (line == "roles" && list == "strides");
  }
  return now.kind != Tok::rparen && now.kind != Tok::rbracket && now.kind != Tok::comma && now.kind != Tok::colon &&
         now.kind != Tok::semicolon;
}

}  // namespace

Result<std::string> format(const SourceRef& source) {
  syntax::Errors lexical(source), grammatical(source);
  syntax::Lexed lexed = syntax::lex(source->text(), lexical);
  Diagnostics unused;
  RoleParser(source, lexed, grammatical, unused).program({});
  if (!lexical.empty() || !grammatical.empty()) return syntax::Errors::merge(lexical, grammatical);
  return Formatter(source->text(), lexed).run();
}

}  // namespace plait::roles
