#include <fmt/format.h>

#include <algorithm>

#include "syntax/format.h"

namespace plait::syntax {
namespace {

/// One parameter of a header with what stands around it.
struct Piece {
  std::string text;  ///< with the separator behind it
  const std::vector<std::string>* leading;
  const std::string* trailing;
  bool ends_group = false;  ///< the ';' of a kernel stands behind it

  bool has_leading() const {
    return std::any_of(leading->begin(), leading->end(), [](const std::string& comment) { return !comment.empty(); });
  }
  bool has_comments() const { return has_leading() || !trailing->empty(); }
};

std::string param_text(const Param& param) {
  std::string text = param.name + ": ";
  if (!param.mode.empty()) text += param.mode + " ";
  text += param.dtype;
  if (!param.shape.empty()) text += fmt::format("[{}]", text_of(param.shape));
  text += text_of(param.clauses);
  if (param.default_value != nullptr) text += " = " + text_of(*param.default_value);
  return text;
}

std::string param_text(const CompileParam& param) {
  std::string text = param.name;
  if (!param.kind.empty()) text += ": " + param.kind;
  if (param.default_value != nullptr) text += " = " + text_of(*param.default_value);
  return text;
}

template <typename P>
void add_pieces(std::vector<Piece>& pieces, const std::vector<P>& params) {
  for (std::size_t i = 0; i < params.size(); ++i) {
    const P& p = params[i];
    pieces.push_back({param_text(p) + (i + 1 < params.size() ? "," : ""), &p.leading, &p.trailing});
  }
}

/// A header that is too long for a line or has comments between its parameters: filled lines that begin below the first
/// parameter, a new line behind ';'.
class HeaderBreaker {
 public:
  HeaderBreaker(Lines& lines, const std::string& begin) : lines_(lines), line_(begin), column_(begin.size()) {
    constexpr std::size_t kMaxColumn = 40;
    if (column_ <= kMaxColumn) return;
    column_ = 2 * kIndent;
    end_line();
  }

  /// `closing` columns must stay free behind the piece.
  void add(const Piece& piece, std::size_t closing) {
    bool full = !fresh_ && width(line_) + 1 + width(piece.text) + closing > kLineWidth;
    if (full || piece.has_leading()) end_line();
    for (const std::string& comment : *piece.leading) {
      if (!comment.empty()) lines_.raw(std::string(column_, ' ') + comment_text(comment));
    }
    append((fresh_ ? "" : " ") + piece.text);
    fresh_ = false;
    if (!piece.trailing->empty()) append("  " + comment_text(*piece.trailing));
    if (!piece.trailing->empty() || piece.ends_group) end_line();
  }

  void finish(const std::string& trailing) {
    append("):");
    if (!trailing.empty()) append("  " + comment_text(trailing));
    end_line();
  }

 private:
  void append(const std::string& text) {
    if (line_.empty()) line_.assign(column_, ' ');
    line_ += text;
  }
  void end_line() {
    if (!line_.empty()) lines_.raw(line_);
    line_.clear();
    fresh_ = true;
  }

  Lines& lines_;
  std::string line_;
  std::size_t column_;
  bool fresh_ = true;  ///< no parameter stands on the line yet
};

void format_header(Lines& lines, const std::string& begin, const std::vector<Piece>& pieces,
                   const std::string& trailing) {
  std::string one_line = begin;
  bool commented = false;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    one_line += (i > 0 && pieces[i].text != ";" ? " " : "") + pieces[i].text;
    commented = commented || pieces[i].has_comments();
  }
  one_line += "):";
  if (!commented && width(one_line) <= kLineWidth) return lines.add(0, one_line, trailing);
  HeaderBreaker breaker(lines, begin);
  for (std::size_t i = 0; i < pieces.size(); ++i) breaker.add(pieces[i], i + 1 == pieces.size() ? 2 : 0);
  breaker.finish(trailing);
}

void format_kernel(Lines& lines, const Item& item, const Kernel& kernel) {
  static const std::vector<std::string> kNoComments;
  static const std::string kNoComment;
  std::vector<Piece> pieces;
  add_pieces(pieces, kernel.params);
  if (!kernel.compile_params.empty()) {
    if (pieces.empty()) pieces.push_back({"", &kNoComments, &kNoComment});
    pieces.back().text += ';';
    pieces.back().ends_group = true;
    add_pieces(pieces, kernel.compile_params);
  }
  format_header(lines, fmt::format("kernel {}(", kernel.name), pieces, item.trailing);
  format_block(lines, kIndent, kernel.body);
}

void format_function(Lines& lines, const Item& item, const Function& function) {
  std::vector<Piece> pieces;
  add_pieces(pieces, function.params);
  format_header(lines, fmt::format("def {}(", function.name), pieces, item.trailing);
  format_block(lines, kIndent, function.body);
}

}  // namespace

std::string format(const File& file) {
  Lines lines;
  for (std::size_t i = 0; i < file.items.size(); ++i) {
    const Item& item = file.items[i];
    if (i > 0) lines.blank();
    lines.comments(0, item.leading, true);
    std::visit(Overload{[&](const Kernel& k) { format_kernel(lines, item, k); },
                        [&](const Function& f) { format_function(lines, item, f); }},
               item.node);
  }
  std::vector<std::string> closing = file.closing;
  while (!closing.empty() && closing.back().empty()) closing.pop_back();
  lines.comments(0, closing, file.items.empty());
  return lines.take();
}

}  // namespace plait::syntax
