#include <fmt/format.h>

#include "syntax/parser.h"

namespace plait::syntax {
namespace {

/// Words that begin a function in other languages.
constexpr std::string_view kFunctionWords[] = {"fn", "func", "function", "fun", "void", "sub"};

bool one_of(std::string_view id, std::initializer_list<std::string_view> words) {
  for (std::string_view word : words) {
    if (id == word) return true;
  }
  return false;
}

}  // namespace

File Parser::file() {
  File file{source_, {}, {}};
  bool stray = false;
  while (!at(Tok::end_of_file) && !errors_.full()) {
    bool is_item = word_class(cur().kind) == WordClass::item;
    if (is_item) {
      item(file);
    } else if (!stray) {
      stray_line();
    } else if (!at(Tok::indent)) {
      // One message is enough for a run of lines that belong to nothing.
      sync_line();
    }
    stray = !is_item;
    if (stray && at(Tok::indent)) skip_block();
  }
  take_comments(file.closing);
  return file;
}

void Parser::item(File& file) {
  Item item;
  take_comments(item.leading);
  if (at(Tok::kw_kernel)) {
    kernel(item);
  } else {
    function(item);
  }
  file.items.push_back(std::move(item));
}

void Parser::stray_line() {
  Token first = cur();
  if (first.kind == Tok::indent) {
    if (!tab_before(first))
      report(Rule::indentation, first, "the first line of a kernel or function is indented",
             "begin it in the first column");
    return;
  }
  std::string fix = "statements stand inside a kernel or function, indented below its header";
  if (at(Tok::name)) {
    std::string_view word = closest(text(first), words_of(WordClass::item));
    if (!word.empty()) fix = fmt::format("did you mean '{}'?", word);
    for (std::string_view other : kFunctionWords) {
      if (text(first) == other) fix = "a function begins with def";
    }
  }
  expected("'kernel' or 'def' at the start of the line", fix);
  sync_line();
}

void Parser::kernel(Item& item) {
  advance();
  item.loc = errors_.loc(cur());
  Token name = cur();
  std::size_t errors = errors_.size();
  Kernel kernel;
  kernel.name = new_name("the name of the kernel");
  params(item, kernel);
  in_kernel_ = at_kernel_start_ = true;
  grid_seen_ = false;
  kernel.body = block("the kernel header", item.leading, item.trailing);
  if (errors_.size() == errors && !grid_seen_) {
    report(Rule::grid_statement, name, fmt::format("kernel '{}' has no grid", kernel.name));
  }
  in_kernel_ = at_kernel_start_ = false;
  item.node = std::move(kernel);
}

void Parser::function(Item& item) {
  advance();
  item.loc = errors_.loc(cur());
  Function function;
  function.name = new_name("the name of the function");
  Token open = cur();
  expect(Tok::lparen, "'(' behind the name of the function");
  if (!at(Tok::rparen)) compile_params(item, function.params, {nullptr, nullptr}, false);
  take_header_comments({nullptr, nullptr}, {&item.leading, nullptr});
  if (at(Tok::semicolon))
    fail(Rule::syntax, cur(), "a function's parameters are of one sort, without ';'", "separate them by commas");
  close(open, Tok::rparen, "the parameter");
  function.body = block("the function header", item.leading, item.trailing);
  item.node = std::move(function);
}

/// `( parameters ; compile-time parameters )`
void Parser::params(Item& item, Kernel& kernel) {
  Token open = cur();
  expect(Tok::lparen, "'(' behind the name of the kernel", "write kernel name(A: in f32[N], B: out f32[N]):");
  CommentSlot last{nullptr, nullptr};
  if (!at(Tok::rparen) && !at(Tok::semicolon)) {
    do {
      std::vector<std::string> leading;
      take_header_comments(last, {&leading, nullptr});
      Param read = param();
      read.leading = std::move(leading);
      take_header_comments({&read.leading, &read.trailing}, {&read.leading, &read.trailing});
      kernel.params.push_back(std::move(read));
      last = {&kernel.params.back().leading, &kernel.params.back().trailing};
    } while (accept(Tok::comma));
  }
  if (accept(Tok::semicolon)) compile_params(item, kernel.compile_params, last, true);
  if (!panic_ && at(Tok::semicolon))
    fail(Rule::syntax, cur(), "a second ';' in the kernel header", "separate compile-time parameters by commas");
  if (last.leading == nullptr) last = {&item.leading, nullptr};
  take_header_comments(last, last);
  close(open, Tok::rparen, "the parameter");
}

void Parser::compile_params(Item& item, std::vector<CompileParam>& params, CommentSlot before, bool in_kernel) {
  do {
    std::vector<std::string> leading;
    take_header_comments(before, {&leading, nullptr});
    CompileParam read = compile_param(in_kernel);
    read.leading = std::move(leading);
    take_header_comments({&read.leading, &read.trailing}, {&read.leading, &read.trailing});
    params.push_back(std::move(read));
    before = {&params.back().leading, &params.back().trailing};
  } while (accept(Tok::comma));
  take_header_comments(before, before.leading == nullptr ? CommentSlot{&item.leading, nullptr} : before);
}

Param Parser::param() {
  Token start = cur();
  Param param;
  param.name = new_name("a parameter");
  if (at(Tok::assign)) {
    fail(Rule::syntax, cur(), fmt::format("expected ':' behind the parameter '{}', found '='", param.name),
         "compile-time parameters stand behind a ';'; a scalar argument is written alpha: f32 = 1.0");
  }
  expect(Tok::colon, fmt::format("':' behind the parameter '{}'", param.name),
         "a tensor is written A: in f16[M, K], a scalar argument alpha: f32");
  bool word_mode = at(Tok::name) && one_of(text(cur()), {"out", "inout"}) && peek(1) == Tok::name;
  if (at(Tok::kw_in) || word_mode) {
    param.mode = text(cur());
    advance();
  }
  tensor_type(param);
  if (at(Tok::assign)) {
    if (!param.mode.empty())
      fail(Rule::syntax, cur(), fmt::format("the tensor '{}' has a default value", param.name),
           "only scalar arguments have one");
    advance();
    param.default_value = expression();
  }
  param.loc = errors_.loc(start);
  return param;
}

/// Element type, shape and strides; a scalar has the type alone.
void Parser::tensor_type(Param& param) {
  bool tensor = !param.mode.empty();
  param.dtype = element_type(tensor ? fmt::format("'{}'", param.mode) : fmt::format("the parameter '{}'", param.name));
  if (at(Tok::lbracket) && !tensor) {
    fail(Rule::syntax, cur(), fmt::format("the tensor '{}' is neither in, out nor inout", param.name),
         fmt::format("write {}: in {}[...] if it is only read", param.name, param.dtype));
  }
  if (!tensor) return;
  if (!at(Tok::lbracket))
    expected("'[' and the shape of the tensor", "a scalar argument is written without in, out or inout");
  param.shape = shape();
  if (at_name("strides")) param.clauses.push_back(strides_clause());
}

CompileParam Parser::compile_param(bool in_kernel) {
  Token start = cur();
  CompileParam param;
  param.name = new_name("a compile-time parameter");
  param.loc = errors_.loc(start);
  if (accept(Tok::colon)) {
    Token kind = cur();
    bool mode = at(Tok::kw_in) || (at(Tok::name) && one_of(text(kind), {"out", "inout"}));
    if (mode && in_kernel)
      fail(Rule::syntax, kind, fmt::format("the tensor '{}' stands behind the ';'", param.name),
           "move it before the ';'");
    if (at(Tok::name) && !one_of(text(kind), {"int", "float", "bool", "type"})) {
      fail(Rule::syntax, kind,
           fmt::format("unknown kind '{}' of the compile-time parameter '{}'", text(kind), param.name),
           "write one of int, float, bool, type");
    }
    if (expect(Tok::name, "int, float, bool or type")) param.kind = text(kind);
  }
  if (accept(Tok::assign)) param.default_value = expression();
  if (in_kernel && param.kind.empty() && param.default_value == nullptr) {
    fail(Rule::syntax, start,
         fmt::format("the compile-time parameter '{}' has neither a kind nor a default", param.name),
         fmt::format("write {} = 128 or {}: int", param.name, param.name));
  }
  return param;
}

std::string Parser::new_name(std::string_view what) {
  Token name = cur();
  if (word_class(name.kind) != WordClass::none || (name.kind == Tok::name && is_type_name(text(name)))) {
    fail(Rule::reserved_name, name, fmt::format("expected {}, found the reserved word '{}'", what, text(name)));
    return {};
  }
  if (!expect(Tok::name, what)) return {};
  return std::string(text(name));
}

/// A type name, or a compile-time parameter that stands for one.
std::string Parser::element_type(std::string_view behind) {
  Token name = cur();
  if (!expect(Tok::name, fmt::format("an element type such as f16 behind {}", behind))) return {};
  return std::string(text(name));
}

std::vector<ExprRef> Parser::shape() {
  std::vector<ExprRef> extents;
  Token open = cur();
  if (!accept(Tok::lbracket)) return extents;
  if (at(Tok::rbracket))
    expected("an extent", "every buffer and tensor has at least one dimension; write [1] for one element");
  do {
    extents.push_back(expression());
  } while (accept(Tok::comma));
  close(open, Tok::rbracket, "the extent");
  return extents;
}

Clause Parser::strides_clause() {
  Clause clause{"strides", nullptr, errors_.loc(cur())};
  advance();
  bool list = at(Tok::lbracket) || at(Tok::lparen);
  if (!list) expected("a list of strides", "write strides [lda, 1]");
  Token open = cur();
  clause.value = expression();
  if (!panic_ && !std::holds_alternative<List>(clause.value->node)) {
    fail(Rule::syntax, open, "the strides are not a list", "write strides [lda, 1]; a single stride is strides [s]");
  }
  return clause;
}

}  // namespace plait::syntax
