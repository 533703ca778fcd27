#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "syntax/errors.h"
#include "syntax/lexer.h"
#include "syntax/tree.h"

namespace plait::syntax {

/// Recursive descent over the tokens of a file.
///
/// After an error the parser is in panic: the current token reads as Tok::error, so that every rule runs out without
/// consuming or reporting anything, and nodes may have null parts. sync_line() goes on at the next logical line; the
/// tree is thrown away in the end. The parser of role programs (src/roles/parser.h) is made of the same rules for
/// expressions, parameters and lines.
class Parser {
 public:
  Parser(const SourceRef& source, const Lexed& lexed, Errors& errors)
      : source_(source), text_(source->text()), lexed_(lexed), errors_(errors) {}

  File file();

 protected:
  /// An expression with the height of its tree, which is bounded so that later passes may recurse.
  struct Operand {
    ExprRef expr;
    int height = 0;
  };
  /// Where comments found inside a header go to.
  struct CommentSlot {
    std::vector<std::string>* leading;
    std::string* trailing;
  };

  // parser.cpp: tokens, errors, comments
  const Token& cur() const { return panic_ ? kPanic : lexed_.tokens[pos_]; }
  const Token& previous() const { return lexed_.tokens[pos_ == 0 ? 0 : pos_ - 1]; }
  /// Kind of the token `ahead` of the current one.
  Tok peek(std::size_t ahead) const;
  bool at(Tok kind) const { return cur().kind == kind; }
  bool at_name(std::string_view id) const { return at(Tok::name) && text(cur()) == id; }
  std::string_view text(const Token& token) const { return text_.substr(token.offset, token.length); }
  std::string found() const { return describe(cur(), text(cur())); }
  void advance();
  bool accept(Tok kind);
  /// Takes a `kind`, or fails with "expected {what}, found …".
  bool expect(Tok kind, std::string_view what, std::string fix = {});
  void expected(std::string_view what, std::string fix = {});
  void fail(Rule rule, const Token& where, std::string message, std::string fix = {});
  /// An error that does not keep the parser from reading on.
  Diagnostic& report(Rule rule, const Token& where, std::string message, std::string fix = {});
  /// Takes the bracket that closes `open`, or fails.
  void close(const Token& open, Tok kind, std::string_view what);
  /// From `start` to the last token taken.
  Loc span(const Token& start) const;
  void take_comments(std::vector<std::string>& leading);
  void take_header_comments(CommentSlot previous, CommentSlot next);
  /// The end of a logical line: its comments are taken. In panic the rest of the line is dropped.
  void end_line(std::vector<std::string>& leading, std::string& trailing);
  void sync_line();
  void skip_block();
  bool too_deep(const Token& where);
  /// The line of `token` is indented with tabs, which has been reported.
  bool tab_before(const Token& token) const;

  // parser_expr.cpp
  ExprRef expression();
  Operand binary(int least);
  Operand not_operator(int least);
  Operand unary();
  Operand atom();
  Operand word_atom();
  Operand named();
  Operand call(const Token& name);
  Operand index(const Token& name);
  Operand parenthesized();
  Operand list();
  Operand list_items(const Token& open, Tok closer, std::vector<ExprRef> items, int height);
  Operand make(const Token& start, decltype(Expr::node) node, int height);
  int argument(std::vector<Arg>& args);
  int arguments(const Token& open, std::vector<Arg>& args);
  int slice(std::vector<Slice>& slices);
  void check_chain(int level);

  // parser_stmt.cpp
  Block block(std::string_view header, std::vector<std::string>& leading, std::string& trailing);
  Block indented_block();
  Stmt statement();
  void misplaced_grid();
  void keyword_statement(Stmt& stmt);
  void name_statement(Stmt& stmt);
  void unknown_statement();
  void definition(Stmt& stmt);
  void allocation(Stmt& stmt, std::string name);
  void store(Stmt& stmt);
  void call_statement(Stmt& stmt);
  void print_statement(Stmt& stmt);
  void for_loop(Stmt& stmt);
  void while_loop(Stmt& stmt);
  void if_chain(Stmt& stmt);
  void task(Stmt& stmt);
  void grid(Stmt& stmt);
  void return_statement(Stmt& stmt);
  void option(Stmt& stmt);
  /// `, "message"` if there is one.
  std::string optional_message();

  // parser_item.cpp
  void item(File& file);
  void stray_line();
  void kernel(Item& item);
  void function(Item& item);
  void params(Item& item, Kernel& kernel);
  Param param();
  void tensor_type(Param& param);
  CompileParam compile_param(bool in_kernel);
  void compile_params(Item& item, std::vector<CompileParam>& params, CommentSlot before, bool in_kernel);
  std::string new_name(std::string_view what);
  std::string element_type(std::string_view behind);
  std::vector<ExprRef> shape();
  Clause strides_clause();

  static const Token kPanic;

  SourceRef source_;
  std::string_view text_;
  const Lexed& lexed_;
  Errors& errors_;
  std::size_t pos_ = 0;
  std::size_t trivia_ = 0;  ///< the first comment not taken yet
  bool panic_ = false;
  int depth_ = 0;  ///< of the expression being read
  int block_depth_ = 0;
  bool in_kernel_ = false;
  bool at_kernel_start_ = false;
  bool grid_seen_ = false;
};

/// Guards a recursive rule; the depth counts while it lives.
class Deeper {
 public:
  explicit Deeper(int& depth) : depth_(depth) { ++depth_; }
  ~Deeper() { --depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  int& depth_;
};

constexpr int kMaxExprDepth = 200;
constexpr int kMaxBlockDepth = 100;

/// Advice for a token that stands where it cannot, such as `&&`; empty if there is none.
std::string advice_for(const Token& token, const Token& before);
/// The word of `words` that was probably meant by `id`; empty if none is close.
std::string_view closest(std::string_view id, const std::vector<std::string_view>& words);

}  // namespace plait::syntax
