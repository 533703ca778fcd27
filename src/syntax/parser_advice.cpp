#include <algorithm>

#include "syntax/parser.h"

namespace plait::syntax {
namespace {

/// A pair of tokens that other languages write, or a single one (`before` is Tok::error), and what to write here.
struct Advice {
  Tok before, token;
  std::string_view fix;
};
constexpr Advice kAdvice[] = {
    {Tok::ampersand, Tok::ampersand, "write a and b"},
    {Tok::bar, Tok::bar, "write a or b"},
    {Tok::star, Tok::star, "write pow(a, b)"},
    {Tok::slash, Tok::slash, "write a / b, which truncates on integers; a comment begins with '#'"},
    {Tok::slash, Tok::star, "a comment begins with '#'"},
    {Tok::error, Tok::assign, "'=' defines a name or stores to an element and is no expression; write == to compare"},
    {Tok::error, Tok::semicolon, "write one statement a line"},
    {Tok::error, Tok::kw_if, "write select(condition, a, b) for a choice between values"},
    {Tok::error, Tok::plus, "leave out the unary '+'"},
    {Tok::error, Tok::kw_in, "'in' belongs to a for header or a parameter"},
};

/// Edit distance of two short words, counted up to `limit`.
std::size_t distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() > b.size() + limit || b.size() > a.size() + limit) return limit + 1;
  std::vector<std::size_t> row(b.size() + 1), before(b.size() + 1), last;
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    last = before;
    before = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], last[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string advice_for(const Token& token, const Token& before) {
  bool adjacent = before.offset + before.length == token.offset;
  for (const Advice& advice : kAdvice) {
    bool pair = adjacent && advice.before == before.kind;
    if (advice.token == token.kind && (pair || advice.before == Tok::error)) return std::string(advice.fix);
  }
  WordClass word = word_class(token.kind);
  if (word == WordClass::none || word == WordClass::word) return {};
  return "'" + std::string(spelling(token.kind)) + "' is a reserved word";
}

std::string_view closest(std::string_view id, const std::vector<std::string_view>& words) {
  std::string_view best;
  std::size_t limit = id.size() < 4 ? 1 : 2;
  for (std::string_view word : words) {
    std::size_t d = distance(id, word, limit);
    if (d > limit) continue;
    best = word;
    if (d == 0) break;
    limit = d - 1;
  }
  return best;
}

}  // namespace plait::syntax
