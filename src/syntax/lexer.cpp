#include "syntax/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "syntax/literal.h"
#include "syntax/utf8.h"

namespace plait::syntax {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr int kTabWidth = 8;

/// What to write instead of a character that C or Python programmers might try.
struct Unknown {
  char character;
  std::string_view message, fix;
};
constexpr Unknown kUnknown[] = {
    {'!', "'!' is no operator", "write not x, or a != b"},
    {'?', "there is no '?:'", "write select(condition, a, b)"},
    {'.', "'.' is no operator: names have no members",
     "put the digits next to the point if a float is meant, as in 0.5"},
    {'\'', "strings stand in double quotes", "write \"text\""},
    {'\\', "a backslash does not join lines", "put the expression in parentheses: inside brackets a statement goes on"},
    {'{', "blocks are made by indentation, not by braces", "end the header with ':' and indent the lines below it"},
    {'}', "blocks are made by indentation, not by braces", "take the brace out"},
};

class Lexer {
 public:
  Lexer(std::string_view text, Errors& errors) : text_(text), errors_(errors) {}

  Lexed run() {
    if (text_.starts_with(kByteOrderMark)) pos_ = kByteOrderMark.size();
    while (pos_ < text_.size() && !errors_.full()) {
      if (at_line_start_) begin_line();
      if (pos_ < text_.size()) next();
    }
    finish();
    return std::move(lexed_);
  }

 private:
  /// A kind of error that would repeat on every line, hence is reported once.
  enum Once : std::uint8_t { tab, nul, bad_utf8, carriage_return, once_count };

  char peek(std::size_t ahead = 0) const { return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0'; }
  bool at(std::string_view what) const { return text_.substr(pos_).starts_with(what); }
  int column() const { return static_cast<int>(pos_ - line_start_) + 1; }

  void begin_line();
  void change_indentation(int to);
  void bad_dedent(int to);
  void next();
  void newline();
  void comment();
  void word();
  void literal(const Scanned& scanned);
  void punctuation();
  void unknown_character();
  void open_or_close(Tok kind);
  void mismatch(const Token& closer, Tok opener);
  void unclosed();
  void finish();

  Token token(Tok kind, std::size_t length) const {
    return {kind, static_cast<std::uint32_t>(pos_), static_cast<std::uint32_t>(length), line_, column()};
  }
  /// Adds a token with the comments that wait for one.
  void add(const Token& token) {
    release(pending_.size());
    lexed_.tokens.push_back(token);
  }
  void release(std::size_t end) {
    for (; first_pending_ < end; ++first_pending_) {
      pending_[first_pending_].token = lexed_.tokens.size();
      lexed_.trivia.push_back(pending_[first_pending_]);
    }
    if (first_pending_ < pending_.size()) return;
    pending_.clear();
    first_pending_ = 0;
  }
  void emit(Tok kind, std::size_t length) {
    add(token(kind, length));
    pos_ += length;
    in_line_ = true;
  }
  void end_logical_line();
  void add_dedent(int level);
  Diagnostic& report(Rule rule, std::string message, std::string fix, std::size_t length = 1) {
    return errors_.add(rule, errors_.loc(line_, column(), length), std::move(message), std::move(fix));
  }
  void report_once(Once what, Rule rule, std::string message, std::string fix) {
    if (!reported_[what]) report(rule, std::move(message), std::move(fix));
    reported_[what] = true;
  }

  std::string_view text_;
  Errors& errors_;
  Lexed lexed_;
  std::size_t pos_ = 0, line_start_ = 0;
  int line_ = 1;
  bool at_line_start_ = true;
  bool mismatched_ = false;         ///< a bracket of the logical line is closed by the wrong kind
  bool in_line_ = false;            ///< the logical line has a token
  std::vector<int> indents_ = {1};  ///< columns in which the open blocks begin
  std::vector<Token> brackets_;
  std::vector<Trivia> pending_;  ///< comments and blank lines that wait for their token, from first_pending_ on
  std::size_t first_pending_ = 0;
  bool reported_[once_count] = {};
};

/// Looks at the spaces a line begins with. Lines without tokens change nothing; inside brackets only a word that begins
/// a statement does, which shows that a bracket was forgotten.
void Lexer::begin_line() {
  at_line_start_ = false;
  int indent = 1;
  for (; peek() == ' ' || peek() == '\t'; ++pos_) {
    if (peek() == ' ') {
      ++indent;
      continue;
    }
    if (brackets_.empty())
      report_once(tab, Rule::indentation, "tab in the indentation", "indent with spaces, two for each level");
    indent += kTabWidth - (indent - 1) % kTabWidth;
  }
  if (pos_ >= text_.size() || peek() == '\n' || at("\r\n") || peek() == '#') return;
  if (!brackets_.empty()) {
    std::size_t length = 0;
    while (pos_ + length < text_.size() && is_word_char(text_[pos_ + length])) ++length;
    WordClass word = word_class(keyword_or_name(text_.substr(pos_, length)));
    if (word != WordClass::statement && word != WordClass::item) return;
    unclosed();
    end_logical_line();
  }
  change_indentation(indent);
}

void Lexer::change_indentation(int to) {
  if (to > indents_.back()) {
    indents_.push_back(to);
    lexed_.tokens.push_back(token(Tok::indent, 0));
    return;
  }
  while (indents_.back() > to) {
    int level = indents_.back();
    indents_.pop_back();
    if (indents_.back() < to) {
      report(Rule::indentation, fmt::format("this line is indented by {} spaces, which fits no block above it", to - 1),
             fmt::format("indent it by {} or by {} spaces", indents_.back() - 1, level - 1));
    }
    add_dedent(level);
  }
}

/// The comments that are indented like the block that ends belong to it.
void Lexer::add_dedent(int level) {
  std::size_t end = first_pending_;
  for (std::size_t i = first_pending_; i < pending_.size(); ++i) {
    if (pending_[i].blank) continue;
    if (pending_[i].column < level) break;
    end = i + 1;
  }
  release(end);
  lexed_.tokens.push_back(token(Tok::dedent, 0));
}

void Lexer::next() {
  char c = peek();
  if (c == ' ' || c == '\t' || at("\r\n")) {
    ++pos_;
  } else if (c == '\n') {
    newline();
  } else if (c == '#') {
    comment();
  } else if ((c >= '0' && c <= '9') || (c == '.' && peek(1) >= '0' && peek(1) <= '9')) {
    literal(scan_number(text_.substr(pos_)));
  } else if (is_word_char(c)) {
    word();
  } else if (c == '"') {
    literal(scan_string(text_.substr(pos_)));
  } else {
    punctuation();
  }
}

void Lexer::newline() {
  bool blank = !in_line_ && brackets_.empty() &&
               text_.substr(line_start_, pos_ - line_start_).find('#') == std::string_view::npos;
  if (blank && (pending_.size() == first_pending_ || !pending_.back().blank))
    pending_.push_back({0, {}, 0, true, true});
  if (brackets_.empty()) end_logical_line();
  ++pos_;
  ++line_;
  line_start_ = pos_;
  at_line_start_ = true;
}

/// Ends a line that has tokens; the token stands directly behind the last of them, comments of the line before it.
void Lexer::end_logical_line() {
  if (!in_line_) return;
  const Token& last = lexed_.tokens.back();
  add({Tok::newline, last.offset + last.length, 0, last.line, last.column + static_cast<int>(last.length)});
  in_line_ = mismatched_ = false;
}

void Lexer::comment() {
  std::size_t begin = pos_ + 1;
  std::size_t end = std::min(text_.find('\n', begin), text_.size());
  bool own_line = text_.substr(line_start_, pos_ - line_start_).find_first_not_of(" \t") == std::string_view::npos;
  if (line_ == 1 && text_.starts_with(kByteOrderMark)) own_line = !in_line_;
  int at_column = column();
  std::string_view text = text_.substr(begin, end - begin);
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool lone_return = text[i] == '\r' && begin + i + 1 < text_.size() && i + 1 < text.size();
    if (text[i] != '\0' && !lone_return) continue;
    pos_ = begin + i;
    unknown_character();
    break;
  }
  std::size_t last = text.find_last_not_of(" \t\r");
  text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  pending_.push_back({0, text, at_column, own_line, false});
  pos_ = end;
}

void Lexer::word() {
  std::size_t length = 1;
  while (pos_ + length < text_.size() && is_word_char(text_[pos_ + length])) ++length;
  emit(keyword_or_name(text_.substr(pos_, length)), length);
}

void Lexer::literal(const Scanned& scanned) {
  if (scanned.message.empty()) return emit(scanned.kind, scanned.length);
  bool string = scanned.kind == Tok::string;
  errors_.add(string ? Rule::string_literal : Rule::number_literal,
              errors_.loc(line_, column() + static_cast<int>(scanned.error_offset), scanned.error_length),
              scanned.message, scanned.fix);
  emit(Tok::error, scanned.length);
  // What was to close the brackets is inside the string.
  if (scanned.endless) brackets_.clear();
}

void Lexer::punctuation() {
  Tok kind = punctuation_at(text_.substr(pos_, 2));
  if (kind == Tok::error) {
    unknown_character();
  } else {
    open_or_close(kind);
  }
}

void Lexer::open_or_close(Tok kind) {
  Token here = token(kind, spelling(kind).size());
  if (kind == Tok::lparen || kind == Tok::lbracket) brackets_.push_back(here);
  if (kind == Tok::rparen || kind == Tok::rbracket) {
    Tok opener = kind == Tok::rparen ? Tok::lparen : Tok::lbracket;
    if (brackets_.empty() || brackets_.back().kind != opener) return mismatch(here, opener);
    brackets_.pop_back();
  }
  emit(kind, here.length);
}

/// Closes the nearest bracket of the closer's kind, else the innermost one, so that the line ends where it was meant
/// to.
void Lexer::mismatch(const Token& closer, Tok opener) {
  if (brackets_.empty()) {
    report(Rule::bracket, fmt::format("'{}' closes nothing", spelling(closer.kind)),
           "take it out, or open a bracket before it");
  } else {
    Token open = brackets_.back();
    report(Rule::bracket, fmt::format("'{}' cannot close '{}'", spelling(closer.kind), spelling(open.kind)),
           fmt::format("close the '{}' first", spelling(open.kind)))
        .notes.push_back({errors_.loc(open), fmt::format("'{}' was opened here", spelling(open.kind))});
    auto same = std::find_if(brackets_.rbegin(), brackets_.rend(), [&](const Token& t) { return t.kind == opener; });
    brackets_.erase(same == brackets_.rend() ? brackets_.end() - 1 : same.base() - 1, brackets_.end());
    mismatched_ = true;
  }
  emit(Tok::error, closer.length);
}

void Lexer::unclosed() {
  const Token& open = brackets_.back();
  // After a mismatch it is not known what is open.
  if (!mismatched_)
    errors_.add(Rule::bracket, errors_.loc(open), fmt::format("'{}' is never closed", spelling(open.kind)));
  brackets_.clear();
  Token last = lexed_.tokens.back();
  add({Tok::error, last.offset + last.length, 0, last.line, last.column + static_cast<int>(last.length)});
}

void Lexer::unknown_character() {
  Utf8Char c = utf8_char(text_.substr(pos_));
  std::size_t length = std::max<std::size_t>(c.length, 1);
  if (c.length == 0) {
    report_once(bad_utf8, Rule::source_text,
                fmt::format("the byte 0x{:02x} is not UTF-8", static_cast<unsigned char>(peek())), "");
  } else if (c.code == 0) {
    report_once(nul, Rule::source_text, "the text contains a NUL byte", "give a text file, not a binary one");
  } else if (c.code == '\r') {
    report_once(carriage_return, Rule::source_text, "a carriage return without a line feed",
                "end lines with LF or CRLF");
  } else if (c.length > 1) {
    report(Rule::syntax, fmt::format("unexpected character '{}' (U+{:04X})", text_.substr(pos_, length), c.code),
           "outside of strings and comments a program is ASCII", length);
  } else {
    auto known =
        std::find_if(std::begin(kUnknown), std::end(kUnknown), [&](const Unknown& u) { return u.character == peek(); });
    if (known != std::end(kUnknown)) {
      report(Rule::syntax, std::string(known->message), std::string(known->fix));
    } else if (c.code < 0x20 || c.code == 0x7f) {
      report(Rule::syntax, fmt::format("unexpected control character 0x{:02x}", c.code), "take it out");
    } else {
      report(Rule::syntax, fmt::format("unexpected character '{}'", peek()), "take it out");
    }
  }
  emit(Tok::error, length);
}

void Lexer::finish() {
  if (!brackets_.empty() && !errors_.full()) unclosed();
  end_logical_line();
  while (indents_.size() > 1) {
    int level = indents_.back();
    indents_.pop_back();
    add_dedent(level);
  }
  add(token(Tok::end_of_file, 0));
}

}  // namespace

Lexed lex(std::string_view text, Errors& errors) { return Lexer(text, errors).run(); }

}  // namespace plait::syntax
