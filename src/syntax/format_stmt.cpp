#include <fmt/format.h>
#include <fmt/ranges.h>

#include "syntax/format.h"
#include "syntax/literal.h"

namespace plait::syntax {
namespace {

std::string with_message(std::string_view keyword, const Expr& cond, const std::string& message) {
  std::string text = fmt::format("{} {}", keyword, text_of(cond));
  return message.empty() ? text : fmt::format("{}, {}", text, quoted(message));
}

std::string grid_text(const Grid& grid) {
  std::string text = "grid ";
  for (std::size_t i = 0; i < grid.axes.size(); ++i) {
    text += fmt::format("{}{} = {}", i > 0 ? ", " : "", grid.axes[i].first, text_of(*grid.axes[i].second));
  }
  return text;
}

class StmtPrinter {
 public:
  StmtPrinter(Lines& lines, std::size_t indent) : lines_(lines), indent_(indent) {}

  void print(const Stmt& stmt);

 private:
  void header(const Stmt& stmt, const std::string& text, const Block& body) {
    lines_.add(indent_, text, stmt.trailing);
    format_block(lines_, indent_ + kIndent, body);
  }
  void if_chain(const Stmt& stmt, const If& node);
  /// The text of a statement without a block.
  void simple(const Stmt& stmt, const std::string& text) { lines_.add(indent_, text, stmt.trailing); }

  Lines& lines_;
  std::size_t indent_;
};

void StmtPrinter::if_chain(const Stmt& stmt, const If& node) {
  for (std::size_t i = 0; i < node.branches.size(); ++i) {
    const If::Branch& branch = node.branches[i];
    lines_.comments(indent_, branch.leading, i == 0);
    lines_.add(indent_, fmt::format("{} {}:", i == 0 ? "if" : "elif", text_of(*branch.cond)),
               i == 0 ? stmt.trailing : branch.trailing);
    format_block(lines_, indent_ + kIndent, branch.body);
  }
  if (node.else_body.empty()) return;
  lines_.comments(indent_, node.else_leading, false);
  lines_.add(indent_, "else:", node.else_trailing);
  format_block(lines_, indent_ + kIndent, node.else_body);
}

void StmtPrinter::print(const Stmt& stmt) {
  std::visit(
      Overload{
          [&](const Assign& s) { simple(stmt, fmt::format("{} {}= {}", text_of(*s.target), s.op, text_of(*s.value))); },
          [&](const Alloc& s) {
            simple(stmt,
                   fmt::format("{} = {} {}[{}]{}", s.name, s.scope, s.dtype, text_of(s.shape), text_of(s.clauses)));
          },
          [&](const For& s) {
            header(stmt, fmt::format("for {} in {}({}):", fmt::join(s.vars, ", "), s.kind, text_of(s.args)), s.body);
          },
          [&](const While& s) { header(stmt, fmt::format("while {}:", text_of(*s.cond)), s.body); },
          [&](const If& s) { if_chain(stmt, s); },
          [&](const CallStmt& s) { simple(stmt, text_of(*s.call)); },
          [&](const Return& s) { simple(stmt, s.value == nullptr ? "return" : "return " + text_of(*s.value)); },
          [&](const Assert& s) { simple(stmt, with_message("assert", *s.cond, s.message)); },
          [&](const Break&) { simple(stmt, "break"); },
          [&](const Continue&) { simple(stmt, "continue"); },
          [&](const Pass&) { simple(stmt, "pass"); },
          [&](const Task& s) { header(stmt, fmt::format("task({}):", text_of(s.args)), s.body); },
          [&](const Grid& s) { simple(stmt, grid_text(s)); },
          [&](const Require& s) { simple(stmt, with_message("require", *s.cond, s.message)); },
          [&](const Threads& s) { simple(stmt, "threads " + text_of(*s.count)); },
          [&](const Option& s) { simple(stmt, "option " + s.name); },
      },
      stmt.node);
}

/// Comments at the end of a block, without blank lines behind them.
std::vector<std::string> trimmed(std::vector<std::string> comments) {
  while (!comments.empty() && comments.back().empty()) comments.pop_back();
  return comments;
}

}  // namespace

void format_block(Lines& lines, std::size_t indent, const Block& block) {
  if (block.empty()) lines.add(indent, "pass", "");
  for (std::size_t i = 0; i < block.size(); ++i) {
    lines.comments(indent, block[i]->leading, i == 0);
    StmtPrinter(lines, indent).print(*block[i]);
    lines.comments(indent, trimmed(block[i]->following), false);
  }
}

}  // namespace plait::syntax
