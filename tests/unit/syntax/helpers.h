#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "syntax/tree.h"

namespace plait::syntax {

inline Result<File> parse_text(std::string text) {
  return parse(std::make_shared<const SourceFile>("t.tile", std::move(text)));
}

/// The file of a text that is right.
inline File parsed(const std::string& text) {
  Result<File> file = parse_text(text);
  if (!file) {
    ADD_FAILURE() << "does not parse:\n" << text << "\n" << file.diagnostics().render();
    return {};
  }
  return *file;
}

inline std::string formatted(const std::string& text) { return format(parsed(text)); }

/// `line:column message [rule] fix: …`, one line for each error.
inline std::string errors_of(const std::string& text) {
  Result<File> file = parse_text(text);
  if (file) return "no error";
  std::string out;
  for (const Diagnostic& d : file.diagnostics().list()) {
    out += std::to_string(d.loc.line) + ":" + std::to_string(d.loc.column) + " " + d.message + " [" +
           std::string(rule_name(d.rule)) + "]";
    out += " fix: " + (d.fix.empty() ? std::string(rule_fix(d.rule)) : d.fix) + "\n";
    for (const Note& note : d.notes) {
      out +=
          "  note " + std::to_string(note.loc.line) + ":" + std::to_string(note.loc.column) + " " + note.message + "\n";
    }
  }
  return out;
}

/// A kernel whose body is a grid and then `body`, whose first line is line 3.
inline std::string in_kernel(const std::string& body) { return "kernel f(A: inout f32[M]):\n  grid bx = 1\n" + body; }

/// The text of the expression `text`, as the formatter writes it.
inline std::string expr(const std::string& text) {
  std::string all = formatted("def f():\n  return " + text + "\n");
  std::size_t at = all.find("  return ");
  return at == std::string::npos ? all : all.substr(at + 9, all.size() - at - 10);
}

/// The tree of the expression `text`.
inline ExprRef expr_tree(const std::string& text) {
  File file = parsed("def f():\n  return " + text + "\n");
  return file.items.empty() ? nullptr : std::get<Return>(std::get<Function>(file.items[0].node).body.at(0)->node).value;
}

/// The shape of a tree in prefix form, every operator with its parentheses.
std::string structure(const ExprRef& expr);

/// The matmul of the design.
extern const std::string kMatmul;
/// A file with every item, statement, clause and expression, comments in each place, not in canonical form; and what
/// format makes of it.
extern const std::string kEverything;
extern const std::string kEverythingFormatted;

}  // namespace plait::syntax
