#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "syntax/literal.h"
#include "syntax/operators.h"
#include "syntax/parser.h"

namespace plait::syntax {

ExprRef Parser::expression() { return binary(kOr).expr; }

Parser::Operand Parser::make(const Token& start, decltype(Expr::node) node, int height) {
  if (panic_) return {};
  if (height > kMaxExprDepth) {
    fail(Rule::nesting_limit, start, fmt::format("the expression is nested more than {} deep", kMaxExprDepth));
    return {};
  }
  return {std::make_shared<const Expr>(Expr{span(start), std::move(node)}), height};
}

/// Operators of precedence `least` and above; those of one precedence group to the left.
Parser::Operand Parser::binary(int least) {
  Token start = cur();
  Operand left = at(Tok::kw_not) ? not_operator(least) : unary();
  for (Precedence level = binary_precedence(cur().kind); level != kNone && level >= least;
       level = binary_precedence(cur().kind)) {
    std::string op(spelling(cur().kind));
    advance();
    Operand right = binary(level + 1);
    left = make(start, Binary{op, left.expr, right.expr}, std::max(left.height, right.height) + 1);
    check_chain(level);
  }
  return left;
}

/// Behind a comparison: another one would have to take its truth value as an operand.
void Parser::check_chain(int level) {
  if (level != kCompare || binary_precedence(cur().kind) != kCompare) return;
  fail(Rule::syntax, cur(), "comparisons do not chain", "write a < b and b < c");
}

Parser::Operand Parser::not_operator(int least) {
  Token op = cur();
  if (least > kNot) return word_atom();
  Deeper deeper(depth_);
  if (too_deep(op)) return {};
  advance();
  Operand a = binary(kNot);
  return make(op, Unary{"not", a.expr}, a.height + 1);
}

Parser::Operand Parser::unary() {
  if (!at(Tok::minus) && !at(Tok::tilde)) return atom();
  Token op = cur();
  Deeper deeper(depth_);
  if (too_deep(op)) return {};
  advance();
  Operand a = unary();
  return make(op, Unary{std::string(spelling(op.kind)), a.expr}, a.height + 1);
}

Parser::Operand Parser::atom() {
  Token start = cur();
  Operand result;
  if (at(Tok::integer)) {
    advance();
    result = make(start, IntLit{integer_value(text(start)), std::string(text(start))}, 1);
  } else if (at(Tok::floating)) {
    advance();
    result = make(start, FloatLit{float_value(text(start)), std::string(text(start))}, 1);
  } else if (at(Tok::name)) {
    result = named();
  } else if (at(Tok::lparen)) {
    result = parenthesized();
  } else if (at(Tok::lbracket)) {
    result = list();
  } else {
    result = word_atom();
  }
  if (at(Tok::lbracket))
    fail(Rule::syntax, cur(), "only a name can be indexed",
         "write A[i, j] for an element of a buffer of two dimensions");
  if (at(Tok::lparen)) fail(Rule::syntax, cur(), "only a name can be called", "put an operator before the parenthesis");
  return result;
}

Parser::Operand Parser::word_atom() {
  Token start = cur();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (accept(Tok::kw_true)) return make(start, BoolLit{true}, 1);
  if (accept(Tok::kw_false)) return make(start, BoolLit{false}, 1);
  if (accept(Tok::kw_inf)) return make(start, FloatLit{kInf, "inf"}, 1);
  if (accept(Tok::kw_nan)) return make(start, FloatLit{kNan, "nan"}, 1);
  if (at(Tok::string)) {
    fail(Rule::syntax, start, "a string is no value", "strings stand in print, and as messages of assert and require");
  } else if (at(Tok::kw_not)) {
    fail(Rule::syntax, start, "'not' binds weaker than the operator before it", "put it in parentheses: (not x)");
  } else {
    expected("an expression");
  }
  return {};
}

Parser::Operand Parser::named() {
  Token name = cur();
  advance();
  if (at(Tok::lparen)) return call(name);
  if (at(Tok::lbracket)) return index(name);
  return make(name, Name{std::string(text(name))}, 1);
}

Parser::Operand Parser::call(const Token& name) {
  Token open = cur();
  Deeper deeper(depth_);
  if (too_deep(name)) return {};
  Call call{std::string(text(name)), {}};
  int height = arguments(open, call.args);
  return make(name, std::move(call), height + 1);
}

/// What stands between parentheses, both included; gives the greatest height.
int Parser::arguments(const Token& open, std::vector<Arg>& args) {
  int height = 0;
  if (!expect(Tok::lparen, "'('") || accept(Tok::rparen)) return height;
  do {
    height = std::max(height, argument(args));
  } while (accept(Tok::comma));
  close(open, Tok::rparen, "the argument");
  return height;
}

int Parser::argument(std::vector<Arg>& args) {
  Token start = cur();
  Arg arg;
  if (at(Tok::name) && peek(1) == Tok::assign) {
    arg.name = text(start);
    advance();
    advance();
  } else if (word_class(start.kind) != WordClass::none && peek(1) == Tok::assign) {
    fail(Rule::reserved_name, start, fmt::format("'{}' is a reserved word and names no argument", text(start)));
  }
  Operand value = binary(kOr);
  if (!panic_ && arg.name.empty() && !args.empty() && !args.back().name.empty()) {
    fail(Rule::syntax, start, "an argument without a name stands behind one with a name",
         "write the arguments without names first");
  }
  arg.value = value.expr;
  arg.loc = span(start);
  args.push_back(std::move(arg));
  return value.height;
}

Parser::Operand Parser::index(const Token& name) {
  Token open = cur();
  Deeper deeper(depth_);
  if (too_deep(name)) return {};
  Operand base = make(name, Name{std::string(text(name))}, 1);
  advance();
  if (at(Tok::rbracket))
    expected("an index", "write one index for each dimension, or the bare name for the whole buffer");
  Index index{base.expr, {}};
  int height = 0;
  do {
    height = std::max(height, slice(index.slices));
  } while (accept(Tok::comma));
  close(open, Tok::rbracket, "the index");
  return make(name, std::move(index), height + 1);
}

int Parser::slice(std::vector<Slice>& slices) {
  Operand begin, end;
  if (!at(Tok::colon)) begin = binary(kOr);
  bool is_range = accept(Tok::colon);
  if (is_range && !at(Tok::comma) && !at(Tok::rbracket)) end = binary(kOr);
  if (is_range && at(Tok::colon)) fail(Rule::syntax, cur(), "a range has no step", "write begin:end");
  slices.push_back({is_range, begin.expr, end.expr});
  return std::max(begin.height, end.height);
}

Parser::Operand Parser::parenthesized() {
  Token open = cur();
  Deeper deeper(depth_);
  if (too_deep(open)) return {};
  advance();
  Operand first = binary(kOr);
  if (at(Tok::comma)) return list_items(open, Tok::rparen, {first.expr}, first.height);
  close(open, Tok::rparen, "the expression");
  return first;
}

Parser::Operand Parser::list() {
  Token open = cur();
  Deeper deeper(depth_);
  if (too_deep(open)) return {};
  advance();
  if (at(Tok::rbracket)) expected("an element of the list", "a list has at least one element");
  Operand first = binary(kOr);
  return list_items(open, Tok::rbracket, {first.expr}, first.height);
}

Parser::Operand Parser::list_items(const Token& open, Tok closer, std::vector<ExprRef> items, int height) {
  while (accept(Tok::comma)) {
    Operand item = binary(kOr);
    items.push_back(item.expr);
    height = std::max(height, item.height);
  }
  close(open, closer, "the element");
  return make(open, List{std::move(items)}, height + 1);
}

}  // namespace plait::syntax
