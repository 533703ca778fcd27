#include "syntax/token.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace plait::syntax {
namespace {

struct Spelled {
  Tok kind;
  std::string_view text;
  WordClass word_class;
};

constexpr std::array kSpelled = {
#define PLAIT_PUNCTUATION(id, spelling) Spelled{Tok::id, spelling, WordClass::none},
#define PLAIT_KEYWORD(id, spelling, word_class) Spelled{Tok::id, spelling, WordClass::word_class},
#include "syntax/tokens.def"
#undef PLAIT_PUNCTUATION
#undef PLAIT_KEYWORD
};

constexpr std::string_view kTypeNames[] = {
#define PLAIT_DTYPE(id, name, bits, dtype_class) name,
#include "ir/types.def"
#undef PLAIT_DTYPE
};

/// Longest piece of the program that a message quotes, in bytes.
constexpr std::size_t kMaxQuote = 40;

/// tokens.def lists the kinds in the order of Tok, so that a kind is its own index.
const Spelled* find(Tok kind) {
  auto first = static_cast<std::size_t>(kSpelled.front().kind);
  auto index = static_cast<std::size_t>(kind);
  return index < first ? nullptr : &kSpelled[index - first];
}

std::string quote(std::string_view text) {
  return text.size() <= kMaxQuote ? std::string(text) : std::string(text.substr(0, kMaxQuote)) + "...";
}

}  // namespace

std::string_view spelling(Tok kind) {
  const Spelled* spelled = find(kind);
  return spelled == nullptr ? std::string_view{} : spelled->text;
}

WordClass word_class(Tok kind) {
  const Spelled* spelled = find(kind);
  return spelled == nullptr ? WordClass::none : spelled->word_class;
}

Tok keyword_or_name(std::string_view text) {
  static const std::unordered_map<std::string_view, Tok> keywords = [] {
    std::unordered_map<std::string_view, Tok> map;
    for (const Spelled& s : kSpelled) {
      if (s.word_class != WordClass::none) map.emplace(s.text, s.kind);
    }
    return map;
  }();
  auto found = keywords.find(text);
  return found == keywords.end() ? Tok::name : found->second;
}

Tok punctuation_at(std::string_view text) {
  if (text.empty()) return Tok::error;
  Tok best = Tok::error;
  std::size_t length = 0;
  // Punctuation stands first in tokens.def.
  for (const Spelled& s : kSpelled) {
    if (s.word_class != WordClass::none) break;
    if (s.text.front() == text.front() && s.text.size() > length && text.starts_with(s.text)) {
      best = s.kind;
      length = s.text.size();
    }
  }
  return best;
}

bool is_type_name(std::string_view text) {
  return std::find(std::begin(kTypeNames), std::end(kTypeNames), text) != std::end(kTypeNames);
}

std::vector<std::string_view> words_of(WordClass word_class) {
  std::vector<std::string_view> words;
  for (const Spelled& s : kSpelled) {
    if (s.word_class == word_class) words.push_back(s.text);
  }
  return words;
}

std::string describe(const Token& token, std::string_view text) {
  switch (token.kind) {
    case Tok::end_of_file:
      return "end of file";
    case Tok::newline:
      return "end of line";
    case Tok::indent:
      return "a deeper indentation";
    case Tok::dedent:
      return "the end of the block";
    case Tok::error:
      return "something unreadable";
    case Tok::name:
      return fmt::format("name '{}'", quote(text));
    case Tok::integer:
    case Tok::floating:
      return fmt::format("number {}", quote(text));
    case Tok::string:
      return "a string";
#define PLAIT_PUNCTUATION(id, spelling) case Tok::id:
#define PLAIT_KEYWORD(id, spelling, word_class) case Tok::id:
#include "syntax/tokens.def"
#undef PLAIT_PUNCTUATION
#undef PLAIT_KEYWORD
      return fmt::format("'{}'", spelling(token.kind));
  }
  return {};
}

}  // namespace plait::syntax
