#include <algorithm>

#include "syntax/format.h"

namespace plait::syntax {
namespace {

/// A place behind ", " inside brackets, where a line may be broken.
struct LineBreak {
  std::size_t offset;
  int depth;
};

std::vector<LineBreak> breaks(std::string_view text) {
  std::vector<LineBreak> out;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
      continue;
    }
    in_string = c == '"';
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth > 0 && i + 2 < text.size()) out.push_back({i + 2, depth});
  }
  return out;
}

bool is_wider(std::string_view text, std::size_t room) {
  // A character takes at most four bytes, so that there is no need to look at all of a long text.
  return width(text.substr(0, 4 * room + 4)) > room;
}

/// The pieces of a text none of which is wider than the room there is, as far as its commas allow: `first` columns for
/// the first piece, `rest` for the others. Outer commas go before inner ones, later ones before earlier ones.
std::vector<std::string_view> pieces(std::string_view text, std::size_t first, std::size_t rest) {
  std::vector<std::string_view> out;
  std::vector<LineBreak> places = breaks(text);
  std::size_t begin = 0, next = 0, room = first;
  while (is_wider(text.substr(begin), room) && next < places.size()) {
    std::size_t best = next;
    for (std::size_t i = next; i < places.size(); ++i) {
      // The space behind the comma does not count.
      if (is_wider(text.substr(begin, places[i].offset - 1 - begin), room)) break;
      if (places[i].depth <= places[best].depth) best = i;
    }
    out.push_back(text.substr(begin, places[best].offset - 1 - begin));
    begin = places[best].offset;
    next = best + 1;
    room = rest;
  }
  out.push_back(text.substr(begin));
  return out;
}

}  // namespace

std::size_t width(std::string_view text) {
  auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; };
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues));
}

std::string comment_text(std::string_view stored) {
  std::size_t last = stored.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) return "#";
  std::string text(stored.substr(0, last + 1));
  std::replace(text.begin(), text.end(), '\n', ' ');
  bool apart = text.front() == ' ' || text.front() == '#' || text.front() == '!';
  return (apart ? "#" : "# ") + text;
}

void Lines::raw(std::string_view line) {
  text_ += line;
  text_ += '\n';
}

void Lines::add(std::size_t indent, std::string_view text, std::string_view trailing) {
  constexpr std::size_t kContinued = 2 * kIndent;
  // Deep in blocks a line may be wider rather than be cut at each comma.
  constexpr std::size_t kLeastRoom = 40;
  std::size_t first = std::max(kLineWidth, indent + kLeastRoom) - indent;
  std::size_t rest = std::max(kLineWidth, indent + kContinued + kLeastRoom) - indent - kContinued;
  bool continued = false;
  for (std::string_view piece : pieces(text, first, rest)) {
    if (continued) text_ += '\n';
    text_.append(indent + (continued ? kContinued : 0), ' ');
    text_ += piece;
    continued = true;
  }
  if (!trailing.empty()) text_ += "  " + comment_text(trailing);
  text_ += '\n';
}

void Lines::comments(std::size_t indent, const std::vector<std::string>& comments, bool skip_blank) {
  bool last_blank = skip_blank;
  for (const std::string& comment : comments) {
    if (comment.empty()) {
      if (!last_blank) text_ += '\n';
      last_blank = true;
      continue;
    }
    text_.append(indent, ' ');
    text_ += comment_text(comment) + '\n';
    last_blank = false;
  }
}

}  // namespace plait::syntax
