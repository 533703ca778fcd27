#include "machine/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace plait::machine {
namespace {

constexpr int kDeepest = 32;

}  // namespace

/// One pass over the text. The parser has checked the grammar, so that only the ends of tokens are looked for.
struct JsonPlaces::Scan {
  JsonPlaces& places;
  Diagnostics& diagnostics;
  Rules rules;
  const std::string& text;
  std::size_t at = 0;
  bool too_deep = false;

  void skip_space() {
    while (at < text.size() && std::strchr(" \t\r\n", text[at]) != nullptr) ++at;
  }

  void string() {
    for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
    ++at;
  }

  void value(const std::string& path, int depth) {
    skip_space();
    std::size_t begin = at;
    if (depth > kDeepest) {
      diagnostics.error(rules.text, JsonPlaces::at(places.source_, at),
                        fmt::format("values are nested more than {} deep", kDeepest));
      too_deep = true;
    } else if (at < text.size() && text[at] == '{') {
      object(path, depth);
    } else if (at < text.size() && text[at] == '[') {
      array(path, depth);
    } else if (at < text.size() && text[at] == '"') {
      string();
    } else {
      while (at < text.size() && std::strchr(",]} \t\r\n", text[at]) == nullptr) ++at;
    }
    bool nests = begin < text.size() && (text[begin] == '{' || text[begin] == '[');
    places.values_.try_emplace(path, Span{begin, nests ? 1 : std::max<std::size_t>(at - begin, 1)});
  }

  void object(const std::string& path, int depth) {
    for (++at; !too_deep && at < text.size(); ++at) {
      skip_space();
      if (at < text.size() && text[at] == '"') member(path, depth);
      skip_space();
      if (at < text.size() && text[at] == '}') break;
    }
    ++at;
  }

  void member(const std::string& path, int depth) {
    std::size_t begin = at;
    string();
    std::string key = text.substr(begin + 1, at - begin - 2);
    Span span{begin, at - begin};
    // Finding a place counts the lines before it.
    auto loc = [&] { return JsonPlaces::at(places.source_, span.offset, span.length); };
    if (key.find('\\') != std::string::npos)
      diagnostics.error(rules.field, loc(), fmt::format("the key \"{}\" is written with escapes", key));
    std::string inner = path.empty() ? key : path + "." + key;
    if (!places.keys_.try_emplace(inner, span).second)
      diagnostics.error(rules.text, loc(), fmt::format("{} is given twice", inner), "keep one of the two");
    skip_space();
    ++at;  // the colon
    value(inner, depth + 1);
  }

  void array(const std::string& path, int depth) {
    std::size_t index = 0;
    for (++at; !too_deep && at < text.size(); ++at) {
      skip_space();
      if (at < text.size() && text[at] != ']') value(fmt::format("{}[{}]", path, index++), depth + 1);
      skip_space();
      if (at < text.size() && text[at] == ']') break;
    }
    ++at;
  }
};

JsonPlaces::JsonPlaces(SourceRef source, Diagnostics& diagnostics, Rules rules) : source_(std::move(source)) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  const std::string& text = source_->text();
  Scan scan{*this, diagnostics, rules, text, text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0};
  scan.value("", 0);
}

std::string JsonPlaces::fault(const std::string& text, std::size_t offset, std::string_view kind) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    return fmt::format("the text is empty, and a {} is a JSON object", kind);
  if (offset >= text.size()) return "the text is no JSON: it ends in the middle of a value";
  auto byte = static_cast<unsigned char>(text[offset]);
  std::string what = byte > ' ' && byte < 127 ? fmt::format("'{}'", text[offset]) : fmt::format("byte 0x{:02x}", byte);
  return fmt::format("the text is no JSON: {} cannot stand here", what);
}

Loc JsonPlaces::at(const SourceRef& source, std::size_t offset, std::size_t length) {
  const std::string& text = source->text();
  offset = std::min(offset, text.size());
  auto begin = text.begin(), end = begin + static_cast<std::ptrdiff_t>(offset);
  std::size_t line_start = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
  line_start = line_start == std::string::npos ? 0 : line_start + 1;
  Loc loc;
  loc.source = source;
  loc.line = static_cast<int>(std::count(begin, end, '\n')) + 1;
  loc.column = static_cast<int>(offset - line_start) + 1;
  std::size_t line_end = std::min(text.find('\n', offset), text.size());
  loc.length = static_cast<int>(std::max<std::size_t>(std::min(length, line_end - offset), 1));
  return loc;
}

Loc JsonPlaces::find(std::string path) const {
  for (auto found = values_.find(path); !path.empty() && found == values_.end(); found = values_.find(path)) {
    std::size_t cut = path.find_last_of(".[");
    path.resize(cut == std::string::npos ? 0 : cut);
  }
  auto found = values_.find(path);
  return found == values_.end() ? at(source_, 0) : at(source_, found->second.offset, found->second.length);
}

Loc JsonPlaces::find_key(const std::string& path) const {
  auto found = keys_.find(path);
  return found == keys_.end() ? find(path) : at(source_, found->second.offset, found->second.length);
}

}  // namespace plait::machine
