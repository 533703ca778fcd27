#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "syntax/literal.h"
#include "syntax/parser.h"

namespace plait::syntax {

/// `':' NEWLINE INDENT statements DEDENT` behind a header. A header that was not understood still has its block read,
/// for the errors in it.
Block Parser::block(std::string_view header, std::vector<std::string>& leading, std::string& trailing) {
  if (!at(Tok::colon))
    expected(fmt::format("':' behind {}", header), at(Tok::newline) ? "end the header with ':'" : "");
  accept(Tok::colon);
  if (!panic_ && !at(Tok::newline)) {
    fail(Rule::syntax, cur(), fmt::format("expected end of line behind ':', found {}", found()),
         "write the body on the lines below, indented");
  }
  bool understood = !panic_;
  end_line(leading, trailing);
  if (at(Tok::indent)) return indented_block();
  if (understood) {
    fail(Rule::indentation, cur(), fmt::format("expected an indented block behind {}, found {}", header, found()),
         "indent its statements by two more spaces; write pass for an empty block");
    panic_ = false;
  }
  return {};
}

Block Parser::indented_block() {
  if (block_depth_ >= kMaxBlockDepth) {
    report(Rule::nesting_limit, cur(), fmt::format("blocks are nested more than {} deep", kMaxBlockDepth));
    skip_block();
    return {};
  }
  Deeper deeper(block_depth_);
  advance();
  std::vector<Stmt> stmts;
  while (!at(Tok::dedent) && !at(Tok::end_of_file) && !errors_.full()) {
    if (at(Tok::indent)) {
      if (!tab_before(cur()))
        report(Rule::indentation, cur(), "this line is indented deeper than the one above it, which opens no block",
               "begin it in the column of the statements around it");
      indented_block();
      continue;
    }
    stmts.push_back(statement());
  }
  if (!stmts.empty()) take_comments(stmts.back().following);
  accept(Tok::dedent);
  Block block;
  block.reserve(stmts.size());
  for (Stmt& stmt : stmts) block.push_back(std::make_shared<const Stmt>(std::move(stmt)));
  return block;
}

void Parser::misplaced_grid() {
  if (!in_kernel_) {
    report(Rule::grid_statement, cur(), "a function has no grid",
           "take it out: the kernel that calls the function has one");
  } else if (grid_seen_) {
    report(Rule::grid_statement, cur(), "a second grid statement", "name all axes in the first one");
  } else {
    report(Rule::grid_statement, cur(), "the grid statement is not the first of the kernel",
           "move it to the line below the header");
  }
}

Stmt Parser::statement() {
  Stmt stmt;
  take_comments(stmt.leading);
  stmt.loc = errors_.loc(cur());
  bool first = std::exchange(at_kernel_start_, false);
  if (at(Tok::kw_grid) && !first) misplaced_grid();
  std::size_t errors = errors_.size();
  if (at(Tok::name)) {
    name_statement(stmt);
  } else {
    keyword_statement(stmt);
  }
  auto failed = [&] { return panic_ || errors_.size() > errors; };
  // A first statement that was not understood may have been meant as the grid.
  at_kernel_start_ = first && failed();
  bool has_block = std::holds_alternative<For>(stmt.node) || std::holds_alternative<While>(stmt.node) ||
                   std::holds_alternative<If>(stmt.node) || std::holds_alternative<Task>(stmt.node);
  bool misread = failed();
  if (panic_ || !has_block) end_line(stmt.leading, stmt.trailing);
  // It may have been meant as a header.
  if ((misread || failed()) && at(Tok::indent)) indented_block();
  return stmt;
}

void Parser::keyword_statement(Stmt& stmt) {
  Token first = cur();
  if (at(Tok::kw_for)) return for_loop(stmt);
  if (at(Tok::kw_while)) return while_loop(stmt);
  if (at(Tok::kw_if)) return if_chain(stmt);
  if (at(Tok::kw_task)) return task(stmt);
  if (at(Tok::kw_grid)) return grid(stmt);
  if (at(Tok::kw_print)) return print_statement(stmt);
  if (at(Tok::kw_option)) return option(stmt);
  if (at(Tok::kw_return)) return return_statement(stmt);
  stmt.node = Pass{};
  if (accept(Tok::kw_pass)) return;
  if (accept(Tok::kw_break)) {
    stmt.node = Break{};
  } else if (accept(Tok::kw_continue)) {
    stmt.node = Continue{};
  } else if (accept(Tok::kw_threads)) {
    stmt.node = Threads{expression()};
  } else if (accept(Tok::kw_require)) {
    ExprRef cond = expression();
    stmt.node = Require{cond, optional_message()};
  } else if (accept(Tok::kw_assert)) {
    ExprRef cond = expression();
    stmt.node = Assert{cond, optional_message()};
  } else if (at(Tok::kw_elif) || at(Tok::kw_else)) {
    fail(Rule::syntax, first, fmt::format("'{}' without an if before it", text(first)),
         "put it in the column of its if, behind the block");
  } else if (word_class(first.kind) == WordClass::item) {
    fail(Rule::syntax, first, fmt::format("'{}' inside a block", text(first)),
         "begin kernels and functions in the first column");
  } else if (word_class(first.kind) == WordClass::scope) {
    fail(Rule::syntax, first, "a buffer without a name", fmt::format("write name = {} f16[64, 64]", text(first)));
  } else if (word_class(first.kind) == WordClass::loop) {
    fail(Rule::syntax, first, fmt::format("'{}' outside a for header", text(first)),
         fmt::format("write for i in {}(n):", text(first)));
  } else {
    expected("a statement");
  }
}

std::string Parser::optional_message() {
  if (!accept(Tok::comma)) return {};
  Token message = cur();
  if (!expect(Tok::string, "the message in double quotes")) return {};
  return string_value(text(message));
}

void Parser::name_statement(Stmt& stmt) {
  switch (peek(1)) {
    case Tok::assign:
      return definition(stmt);
    case Tok::lbracket:
      return store(stmt);
    case Tok::lparen:
      return call_statement(stmt);
    default:
      return unknown_statement();
  }
}

/// A statement that begins with a name and means nothing: says what was probably meant.
void Parser::unknown_statement() {
  Token first = cur();
  std::string id(text(first));
  advance();
  Token next = cur();
  std::string_view op = spelling(next.kind);
  if (next.kind >= Tok::plus_assign && next.kind <= Tok::caret_assign) {
    return fail(Rule::syntax, next,
                fmt::format("'{}' changes an element, and {} is not indexed", op, describe(first, id)),
                fmt::format("a name is defined once: write {}[...] {} e for a buffer, or a new name", id, op));
  }
  if (next.kind == Tok::colon) {
    return fail(Rule::syntax, next, fmt::format("expected '=' behind {}, found ':'", describe(first, id)),
                "a value is defined by x = e, a buffer by x = local f32[16]");
  }
  std::string_view word = closest(id, words_of(WordClass::statement));
  bool begins_statement = next.kind == Tok::name || word_class(next.kind) != WordClass::none;
  if (id == "let" || id == "var" || id == "const") {
    return fail(Rule::syntax, first, fmt::format("expected a statement, found {}", describe(first, id)),
                "a value is defined by x = e alone");
  }
  if (!word.empty() && (begins_statement || next.kind == Tok::newline || next.kind == Tok::colon)) {
    return fail(Rule::syntax, first, fmt::format("expected a statement, found {}", describe(first, id)),
                fmt::format("did you mean '{}'?", word));
  }
  if (next.kind == Tok::newline) {
    return fail(Rule::syntax, first, fmt::format("{} alone is no statement", describe(first, id)),
                fmt::format("write {}() to call a function", id));
  }
  fail(Rule::syntax, next,
       fmt::format("expected '=', '[' or '(' behind {}, found {}", describe(first, id), describe(next, text(next))),
       advice_for(next, first));
}

void Parser::definition(Stmt& stmt) {
  Token first = cur();
  std::string name = new_name("the name to define");
  expect(Tok::assign, "'='");
  if (word_class(cur().kind) == WordClass::scope) return allocation(stmt, std::move(name));
  auto target = std::make_shared<const Expr>(Expr{errors_.loc(first), Name{std::move(name)}});
  stmt.node = Assign{target, "", expression()};
  if (!in_kernel_ || grid_seen_ || !at(Tok::comma)) return;
  fail(Rule::grid_statement, first, "the axes of the grid stand without the word grid",
       fmt::format("write grid {} = ...", text(first)));
}

void Parser::allocation(Stmt& stmt, std::string name) {
  Alloc alloc{std::move(name), std::string(spelling(cur().kind)), "", {}, {}};
  advance();
  alloc.dtype = element_type(fmt::format("'{}'", alloc.scope));
  if (!at(Tok::lbracket))
    expected("'[' and the extents of the buffer",
             fmt::format("write {} {}[64, 64]; one element is [1]", alloc.scope, alloc.dtype));
  alloc.shape = shape();
  while (at(Tok::name)) {
    Token word = cur();
    Clause clause{std::string(text(word)), nullptr, errors_.loc(word)};
    if (clause.keyword == "strides") {
      clause = strides_clause();
    } else if (clause.keyword == "layout" || clause.keyword == "pad") {
      advance();
      clause.value = expression();
    } else {
      fail(Rule::syntax, word,
           fmt::format("expected layout, pad, strides or end of line behind the buffer, found {}", found()));
      break;
    }
    for (const Clause& other : alloc.clauses) {
      if (other.keyword == clause.keyword)
        fail(Rule::syntax, word, fmt::format("a second {} clause", clause.keyword), "keep one of them");
    }
    alloc.clauses.push_back(std::move(clause));
    if (panic_) break;
  }
  stmt.node = std::move(alloc);
}

void Parser::store(Stmt& stmt) {
  Operand target = named();
  Token op = cur();
  bool compound = op.kind >= Tok::plus_assign && op.kind <= Tok::caret_assign;
  if (panic_) return;
  if (op.kind == Tok::newline)
    return fail(Rule::syntax, op, "an element alone is no statement", "write A[...] = e to store into it");
  if (!compound && op.kind != Tok::assign)
    return expected("'=' or one of += -= *= /= &= |= ^= behind the element", "write A[...] = e to store into it");
  advance();
  std::string name(spelling(op.kind));
  name.pop_back();
  stmt.node = Assign{target.expr, name, expression()};
}

void Parser::call_statement(Stmt& stmt) {
  Operand call = named();
  if (at(Tok::assign))
    return fail(Rule::syntax, cur(), "a call cannot be assigned to", "write A[...] = e to store into an element");
  if (!panic_ && !at(Tok::newline)) return expected("end of line behind the call");
  stmt.node = CallStmt{call.expr};
}

void Parser::print_statement(Stmt& stmt) {
  Token word = cur();
  advance();
  Token open = cur();
  Call call{"print", {}};
  if (!expect(Tok::lparen, "'(' behind 'print'")) return;
  Token format = cur();
  if (!expect(Tok::string, "the text to print, in double quotes", "write print(\"x = {}\", x)")) return;
  Operand literal = make(format, StrLit{string_value(text(format))}, 1);
  call.args.push_back({"", literal.expr, errors_.loc(format)});
  while (accept(Tok::comma)) {
    if (at(Tok::name) && peek(1) == Tok::assign)
      return fail(Rule::syntax, cur(), "print has no named arguments", "give the value alone");
    argument(call.args);
  }
  close(open, Tok::rparen, "the argument");
  stmt.node = CallStmt{make(word, std::move(call), 2).expr};
}

void Parser::for_loop(Stmt& stmt) {
  advance();
  For loop;
  do {
    loop.var_locs.push_back(errors_.loc(cur()));
    loop.vars.push_back(new_name("a loop variable"));
  } while (accept(Tok::comma));
  expect(Tok::kw_in, "'in' behind the loop variables");
  Token kind = cur();
  loop.kind = text(kind);
  std::string kinds = fmt::format("write one of {}", fmt::join(words_of(WordClass::loop), ", "));
  if (word_class(kind.kind) == WordClass::loop) {
    advance();
    Token open = cur();
    if (!at(Tok::lparen)) expected(fmt::format("'(' behind '{}'", loop.kind));
    arguments(open, loop.args);
  } else if (kind.kind == Tok::name) {
    fail(Rule::syntax, kind, fmt::format("unknown kind of loop '{}'", text(kind)), kinds);
  } else {
    expected("the kind of the loop behind 'in'", kinds);
  }
  loop.body = block("the for header", stmt.leading, stmt.trailing);
  stmt.node = std::move(loop);
}

void Parser::while_loop(Stmt& stmt) {
  advance();
  While loop{expression(), {}};
  loop.body = block("the while condition", stmt.leading, stmt.trailing);
  stmt.node = std::move(loop);
}

void Parser::if_chain(Stmt& stmt) {
  advance();
  If chain;
  chain.branches.push_back({expression(), {}, {}, ""});
  chain.branches.back().body = block("the if condition", stmt.leading, stmt.trailing);
  while (at(Tok::kw_elif)) {
    If::Branch branch;
    take_comments(branch.leading);
    advance();
    branch.cond = expression();
    branch.body = block("the elif condition", branch.leading, branch.trailing);
    chain.branches.push_back(std::move(branch));
  }
  if (at(Tok::kw_else)) {
    take_comments(chain.else_leading);
    advance();
    if (at(Tok::kw_if)) fail(Rule::syntax, cur(), "expected ':' behind else, found 'if'", "write elif");
    chain.else_body = block("else", chain.else_leading, chain.else_trailing);
  }
  stmt.node = std::move(chain);
}

void Parser::task(Stmt& stmt) {
  advance();
  Task task;
  Token open = cur();
  if (!at(Tok::lparen)) expected("'(' behind 'task'", "write task(latency=500, ii=64):");
  arguments(open, task.args);
  task.body = block("the task header", stmt.leading, stmt.trailing);
  stmt.node = std::move(task);
}

void Parser::grid(Stmt& stmt) {
  constexpr std::size_t kMaxAxes = 3;
  advance();
  grid_seen_ = true;
  Grid grid;
  do {
    Token axis = cur();
    if (grid.axes.size() == kMaxAxes)
      return fail(Rule::grid_statement, axis, "a grid has at most three axes", "fold two axes into one");
    std::string name = new_name("the name of a grid axis");
    expect(Tok::assign, fmt::format("'=' behind the grid axis '{}'", name),
           "write grid bx = ceildiv(N, 128), by = ceildiv(M, 128)");
    grid.axes.emplace_back(std::move(name), expression());
  } while (accept(Tok::comma));
  stmt.node = std::move(grid);
}

void Parser::return_statement(Stmt& stmt) {
  advance();
  if (at(Tok::newline)) expected("the value to return", "write return e, or leave the statement out");
  stmt.node = Return{expression()};
}

void Parser::option(Stmt& stmt) {
  advance();
  Token name = cur();
  if (expect(Tok::name, "the name of an option", "write option fast_math")) stmt.node = Option{std::string(text(name))};
}

}  // namespace plait::syntax
