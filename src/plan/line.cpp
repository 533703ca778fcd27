#include "plan/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace plait::plan {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c); }

/// Length of what stands at the begin of a text that is not empty.
std::size_t length_at(std::string_view text) {
  std::size_t length = 0;
  if (is_digit(text[0]) || (text[0] == '-' && text.size() > 1 && is_digit(text[1]))) {
    for (length = 1; length < text.size() && is_digit(text[length]);) ++length;
    return length;
  }
  while (length < text.size() && is_word(text[length])) ++length;
  if (length > 0) return length;
  return text.starts_with("->") ? 2 : 1;
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) && std::all_of(text.begin(), text.end(), is_word);
}

bool is_device_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return is_word(c) || c == '-'; });
}

Line::Line(SourceRef source, int number, Diagnostics& diags)
    : source_(std::move(source)), number_(number), diags_(diags) {
  split(source_->line(number));
}

void Line::split(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::size_t at = number_ == 1 && text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  const std::size_t begin = at;
  margin_ = static_cast<int>(begin) + 1;
  auto column = [&] { return static_cast<int>(at) + 1; };
  while (true) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r')) ++at;
    bool comment = at < text.size() && text[at] == '#' && (at == begin || text[at - 1] == ' ' || text[at - 1] == '\t');
    if (at == text.size() || comment) break;
    std::string_view found = text.substr(at, length_at(text.substr(at)));
    bool number = is_digit(found.back()) && (is_digit(found[0]) || found[0] == '-');
    Lexeme::Kind kind = number ? Lexeme::integer : is_word(found[0]) ? Lexeme::word : Lexeme::punctuation;
    tokens_.push_back({kind, found, column()});
    at += found.size();
  }
  tokens_.push_back({Lexeme::end, {}, column()});
}

Loc Line::loc(const Lexeme& token) const {
  return {source_, number_, token.column, static_cast<int>(std::max<std::size_t>(token.text.size(), 1))};
}

Loc Line::span(const Lexeme& first) const {
  const Lexeme& last = tokens_[at_ == 0 ? 0 : at_ - 1];
  Loc loc = this->loc(first);
  loc.length = std::max(last.column + static_cast<int>(last.text.size()) - first.column, 1);
  return loc;
}

void Line::fail(Rule rule, std::string message, std::string fix) {
  if (!failed_) diags_.error(rule, loc(), std::move(message), std::move(fix));
  failed_ = true;
}

void Line::expected(std::string_view what) {
  std::string found = cur().kind == Lexeme::end ? "the end of the line" : fmt::format("'{}'", cur().text);
  fail(Rule::schedule_text, fmt::format("expected {}, found {}", what, found));
}

bool Line::accept(std::string_view text) {
  if (!at(text)) return false;
  ++at_;
  return true;
}

bool Line::expect(std::string_view text) {
  if (accept(text)) return true;
  expected(fmt::format("'{}'", text));
  return false;
}

std::string Line::name(std::string_view what) {
  if (failed_) return {};
  if (cur().kind != Lexeme::word) {
    expected(what);
    return {};
  }
  return std::string(tokens_[at_++].text);
}

std::int64_t Line::integer(std::string_view what, std::int64_t least, std::int64_t most) {
  if (failed_) return least;
  std::int64_t value = 0;
  std::string_view text = cur().text;
  if (cur().kind != Lexeme::integer) {
    expected(what);
    return least;
  }
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < least || value > most) {
    bool low = text.starts_with('-') || (error == std::errc() && value < least);
    fail(Rule::schedule_value,
         fmt::format("{}: {} is {}", what, text,
                     low ? fmt::format("less than {}", least) : fmt::format("more than {}", most)));
    return least;
  }
  ++at_;
  return value;
}

graph::StmtName Line::statement() {
  constexpr std::int64_t kMostLines = 1 << 30;
  constexpr std::int64_t kMostInLine = 1 << 20;
  graph::StmtName found;
  found.kind = name("a statement, kind@line");
  expect("@");
  found.line = static_cast<int>(integer("the line of a statement", 1, kMostLines));
  if (accept("#")) found.nth = static_cast<int>(integer("the number of a statement in its line", 2, kMostInLine));
  return found;
}

std::string Line::device() {
  if (failed_) return {};
  std::string_view text = source_->line(number_).substr(static_cast<std::size_t>(cur().column) - 1);
  text = text.substr(0, text.find_first_of(" \t\r"));
  if (cur().kind == Lexeme::end || !is_device_name(text)) {
    expected("the name of a device");
    return {};
  }
  std::size_t end = static_cast<std::size_t>(cur().column) + text.size();
  while (cur().kind != Lexeme::end && static_cast<std::size_t>(cur().column) < end) ++at_;
  return std::string(text);
}

void Line::finish() {
  if (!failed_ && cur().kind != Lexeme::end) expected("the end of the line");
}

}  // namespace plait::plan
