#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/expr_util.h"
#include "roles/parser.h"

// Statements with a body.
namespace plait::roles {

namespace {

constexpr std::int64_t kMaxWarp = 31;

}  // namespace

/// Reads `(end)`, `(begin, end)` or `(begin, end, step)` and gives the three their common type, i32 for literals alone.
bool RoleParser::loop_bounds(For& loop, std::string_view kind, const Loc& loc) {
  Token open = cur();
  if (!at(Tok::lparen)) expected(fmt::format("'(' behind '{}'", kind));
  std::vector<syntax::Arg> args;
  arguments(open, args);
  if (panic_) return false;
  bool named = std::any_of(args.begin(), args.end(), [](const syntax::Arg& arg) { return !arg.name.empty(); });
  if (args.empty() || args.size() > 3 || named) {
    bind_.diags().error(Rule::call_form, loc, fmt::format("{} takes 1 to 3 bounds", kind),
                        fmt::format("write {}(end), {}(begin, end) or {}(begin, end, step)", kind, kind, kind));
    return false;
  }
  std::array<ExprRef, 3> bounds = {ir::int_literal(0, loc), nullptr, ir::int_literal(1, loc)};
  for (std::size_t i = 0; i < args.size(); ++i) {
    bounds[args.size() == 1 ? 1 : i] = bind_.raw(args[i].value);
  }
  if (std::find(bounds.begin(), bounds.end(), nullptr) != bounds.end()) return false;
  if (!ir::unify(bounds, kind, loc, bind_.diags())) return false;
  for (ExprRef& bound : bounds) bound = bind_.settle(bound, loc);
  loop.begin = bounds[0];
  loop.end = bounds[1];
  loop.step = bounds[2];
  return true;
}

void RoleParser::for_loop(const Loc& loc) {
  constexpr std::int64_t kMaxFactor = 1024;
  advance();
  Loc name_loc = errors_.loc(cur());
  std::string name = new_name("a loop variable");
  expect(Tok::kw_in, "'in' behind the loop variable");
  For loop;
  std::string kind(text(cur()));
  if (at(Tok::kw_unrolled)) loop.unroll = Unroll::full;
  if (!accept(Tok::kw_unrolled) && !accept(Tok::kw_range))
    expected("range or unrolled behind 'in'", "write for k in range(n): or for k in unrolled(4):");
  bool ok = loop_bounds(loop, kind, loc) && loop.end != nullptr;
  if (loop.unroll == Unroll::none && accept_word("unroll")) {
    loop.unroll = Unroll::by;
    loop.factor = static_cast<int>(count("the factor of unroll", 1, kMaxFactor));
  }
  bind_.names().push();
  if (!panic_) loop.var = bind_.declare(name, ok ? loop.end->type : DType::i32, ir::VarKind::loop, name_loc);
  loop.body = body("the for header");
  bind_.names().pop();
  emit(loc, std::move(loop));
}

void RoleParser::while_loop(const Loc& loc) {
  advance();
  While loop{bind_.value(expression()), {}};
  loop.body = body("the while condition");
  emit(loc, std::move(loop));
}

void RoleParser::if_chain(const Loc& loc) {
  advance();
  ExprRef cond = bind_.value(expression());
  auto known = cond != nullptr && ir::is_bool(cond->type) ? ir::as_int(cond) : std::nullopt;
  if (!known) {
    If node{cond, body("the if condition"), {}};
    Body* outer = std::exchange(body_, &node.else_body);
    bind_.names().push();
    if_rest();
    bind_.names().pop();
    body_ = outer;
    return emit(loc, std::move(node));
  }
  // Of a static if only the chosen branch is there, and what it defines is visible behind it.
  if (*known != 0) {
    block("the if condition", [&] { statement(); });
    dead([&] { if_rest(); });
  } else {
    dead([&] { body("the if condition"); });
    if_rest();
  }
}

/// The `elif` or `else` behind a branch, into the current body.
void RoleParser::if_rest() {
  if (at(Tok::kw_elif)) {
    if (block_depth_ >= syntax::kMaxBlockDepth) {
      return fail(Rule::nesting_limit, cur(),
                  fmt::format("blocks and elif are nested more than {} deep", syntax::kMaxBlockDepth));
    }
    syntax::Deeper deeper(block_depth_);
    return if_chain(errors_.loc(cur()));
  }
  if (!accept(Tok::kw_else)) return;
  block("else", [&] { statement(); });
}

void RoleParser::elect(const Loc& loc) { emit(loc, Elect{body("'elect'")}); }

void RoleParser::one_warp(const Loc& loc) {
  auto warp = static_cast<int>(count("the number of the warp", 0, kMaxWarp));
  emit(loc, OneWarp{warp, body("the number of the warp")});
}

}  // namespace plait::roles
