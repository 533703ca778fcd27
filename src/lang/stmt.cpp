#include <fmt/format.h>

#include <algorithm>

#include "lang/elaborator.h"
#include "lang/header.h"
#include "lang/suggest.h"

namespace plait::lang {
namespace {

/// As deep as the parser goes, so that a printed kernel can be read.
constexpr int kMaxBlocks = 99;

ir::Scope scope_named(const std::string& name) {
  for (ir::Scope scope : {ir::Scope::shared, ir::Scope::fragment, ir::Scope::local}) {
    if (ir::scope_name(scope) == name) return scope;
  }
  PLAIT_ASSERT(false, "scope " + name + " of the syntax tree has no meaning");
}

}  // namespace

void Elaborator::block(const syntax::Block& block) {
  for (const syntax::StmtRef& s : block) {
    if (stopped_) return;
    stmt(*s);
  }
}

ir::Body Elaborator::inner(const syntax::Block& source) {
  return inner(source.empty() ? kernel_.loc : source.front()->loc, [&] { block(source); });
}

ir::Body Elaborator::inner(const Loc& loc, const std::function<void()>& statements) {
  ir::Body body;
  ir::Body* outer = std::exchange(out_, &body);
  bool top = std::exchange(top_level_, false);
  scopes_.push();
  if (++blocks_ > kMaxBlocks) stop(fmt::format("blocks nest deeper than {} levels here", kMaxBlocks), loc);
  if (!stopped_) statements();
  --blocks_;
  scopes_.pop();
  top_level_ = top;
  out_ = outer;
  return body;
}

void Elaborator::stmt(const syntax::Stmt& s) {
  Level level(*this, s.loc);
  if (!level.ok() || !spend(1, s.loc)) return;
  int outer_base = std::exchange(base_, level_);
  const Loc loc = placed(s.loc);
  std::visit(
      Overload{[&](const syntax::Assign& x) { assign(x, loc); }, [&](const syntax::Alloc& x) { alloc(x, loc); },
               [&](const syntax::For& x) { for_loop(x, loc); }, [&](const syntax::While& x) { while_loop(x, loc); },
               [&](const syntax::If& x) { if_chain(x, loc); }, [&](const syntax::CallStmt& x) { call_stmt(x, loc); },
               [&](const syntax::Return&) {
                 diags_->error(Rule::function_form, loc,
                               frames_.empty() ? "return stands in functions only"
                                               : fmt::format("`{}` is used as a statement and returns nothing",
                                                             frames_.back().function->name));
               },
               [&](const syntax::Assert& x) { assertion(x, loc); },
               [&](const syntax::Break&) { emit(ir::Break{}, loc); },
               [&](const syntax::Continue&) { emit(ir::Continue{}, loc); }, [](const syntax::Pass&) {},
               [&](const syntax::Task& x) { task(x, loc); }, [&](const syntax::Grid& x) { grid(x, loc); },
               [&](const syntax::Require& x) { require(x, loc); }, [&](const syntax::Threads& x) { threads(x, loc); },
               [&](const syntax::Option& x) { option(x, loc); }},
      s.node);
  base_ = outer_base;
}

void Elaborator::assign(const syntax::Assign& assign, const Loc& loc) {
  if (const auto* name = std::get_if<syntax::Name>(&assign.target->node)) {
    if (assign.op.empty()) return let(name->id, assign.value, assign.target->loc);
    diags_->error(Rule::store_target, loc, fmt::format("`{}` is no buffer and cannot be updated", name->id),
                  "a name is defined once; keep what changes in a local buffer: x = local f32[1], x[0] += e");
    return;
  }
  if (const auto* index = std::get_if<syntax::Index>(&assign.target->node)) return store(assign, *index, loc);
  diags_->error(Rule::store_target, assign.target->loc, "only a name or an element of a buffer can be assigned");
}

void Elaborator::let(const std::string& name, const syntax::ExprRef& value, const Loc& loc) {
  ir::ExprRef e = eval(value);
  const Symbol* earlier = scopes_.find(name);
  if (earlier != nullptr && std::holds_alternative<ir::Buffer>(earlier->entity)) {
    diags_->error(Rule::store_target, loc, fmt::format("`{}` is a buffer and cannot be assigned as a whole", name),
                  fmt::format("store an element with {}[...] = e, or use fill or copy", name));
    return;
  }
  if (e == nullptr) {
    if (earlier == nullptr) scopes_.define(name, {Poison{}, loc});
    return;
  }
  // A literal needs no variable: the name stands for it, as for a compile-time parameter.
  if (is_literal(e)) {
    define(name, Scalar{e, {}}, loc);
    return;
  }
  e = ir::settle(e, loc, *diags_);
  if (e == nullptr) return;
  ir::Var var = make_var(name, e->type, ir::VarKind::let, loc);
  if (define(name, variable(var), loc)) emit(ir::Let{var, std::move(e)}, loc);
}

void Elaborator::store(const syntax::Assign& assign, const syntax::Index& target, const Loc& loc) {
  for (const syntax::Slice& slice : target.slices) {
    if (!slice.is_range) continue;
    diags_->error(Rule::store_target, assign.target->loc, "a tile cannot be assigned",
                  "use copy or fill for a tile, or a parallel loop over its elements");
    return;
  }
  std::optional<std::pair<ir::Buffer, std::vector<ir::ExprRef>>> place;
  Cost index_cost = measured([&] { place = element(assign.target); });
  ir::ExprRef value = eval(assign.value);
  if (!place || value == nullptr) return;
  std::optional<ir::BinaryOp> op;
  if (!assign.op.empty()) {
    op = binary_op_from_token(assign.op);
    PLAIT_ASSERT(op.has_value(), "operator " + assign.op + "= of the syntax tree has no meaning");
    if (!spend(index_cost, loc)) return;
  }
  emit(make_store(place->first, place->second, op, value, loc, *diags_));
}

void Elaborator::alloc(const syntax::Alloc& source, const Loc& loc) {
  AllocInput in;
  in.scope = scope_named(source.scope);
  auto type = dtype(source.dtype, loc);
  in.type = type.value_or(ir::DType::f32);
  for (const syntax::ExprRef& e : source.shape) in.shape.push_back(eval(e));
  in.name = source.name;
  bool ok = alloc_clauses(source, in) && type;
  ir::Buffer buffer = ok ? make_buffer(in, loc, *diags_) : nullptr;
  if (buffer == nullptr) {
    if (scopes_.find(source.name) == nullptr) scopes_.define(source.name, {Poison{}, loc});
    return;
  }
  if (std::string name = ir_name(source.name); name != buffer->name) {
    in.name = name;
    buffer = make_buffer(in, loc, *diags_);
  }
  if (define(source.name, buffer, loc)) emit(ir::Alloc{buffer}, loc);
}

bool Elaborator::alloc_clauses(const syntax::Alloc& source, AllocInput& in) {
  bool ok = true;
  for (const syntax::Clause& clause : source.clauses) {
    if (clause.keyword == "layout") {
      ok = layout_clause(clause.value, in.layout) && ok;
    } else if (clause.keyword == "pad") {
      auto n = constant_int(clause.value, "pad");
      in.pad = n.value_or(0);
      ok = ok && n.has_value();
    } else {
      diags_->error(Rule::alloc_clause, clause.loc,
                    fmt::format("`{}` is an on-chip buffer and has no {} clause", source.name, clause.keyword),
                    "write layout strided(...)");
      ok = false;
    }
  }
  return ok;
}

bool Elaborator::layout_clause(const syntax::ExprRef& value, ir::LayoutHint& layout) {
  const auto* name = std::get_if<syntax::Name>(&value->node);
  const auto* call = std::get_if<syntax::Call>(&value->node);
  std::string id = name != nullptr ? name->id : call != nullptr ? call->callee : "";
  if (name != nullptr && id == "row_major") layout.kind = ir::LayoutKind::row_major;
  if (name != nullptr && id == "column_major") layout.kind = ir::LayoutKind::column_major;
  if (call != nullptr && id == "swizzle" && call->args.size() == 1) layout.kind = ir::LayoutKind::swizzle;
  if (call != nullptr && id == "strided" && !call->args.empty()) layout.kind = ir::LayoutKind::strided;
  if (layout.kind == ir::LayoutKind::automatic) {
    diags_->error(Rule::alloc_clause, value->loc, "unknown layout",
                  did_you_mean(id, {"row_major", "column_major", "swizzle", "strided"},
                               "layouts are row_major, column_major, swizzle(32|64|128) and strided(...)"));
    return false;
  }
  for (std::size_t i = 0; call != nullptr && i < call->args.size(); ++i) {
    auto n = constant_int(call->args[i].value, id == "swizzle" ? "the span of a swizzle" : "a stride");
    if (!n) return false;
    if (layout.kind == ir::LayoutKind::strided) layout.strides.push_back(*n);
    if (layout.kind == ir::LayoutKind::swizzle)
      layout.swizzle_bytes = static_cast<int>(std::clamp<std::int64_t>(*n, -1, 1024));
  }
  return true;
}

/// `elif` is an if in the else of the one before it, and does not count as a block inside of it.
void Elaborator::if_chain(const syntax::If& source, const Loc& loc) {
  std::vector<std::pair<ir::If, Loc>> chain;
  int outer_level = level_, outer_base = base_;
  std::optional<ir::Body> rest;
  bool ok = true;
  for (const syntax::If::Branch& branch : source.branches) {
    ir::ExprRef cond = make_condition(eval(branch.cond), "if", branch.cond->loc, *diags_);
    ok = ok && cond != nullptr;
    auto known = ir::as_int(cond);
    if (known == 0) continue;
    if (known) {
      if (chain.empty()) return block(branch.body);
      rest = inner(branch.body);
      break;
    }
    Loc at = chain.empty() ? loc : placed(branch.cond->loc);
    chain.emplace_back(ir::If{std::move(cond), inner(branch.body), {}}, at);
    base_ = ++level_;
    if (level_ > kMaxDepth) stop(fmt::format("the program nests deeper than {} levels here", kMaxDepth), at);
    if (stopped_) break;
  }
  if (!rest && chain.empty()) return block(source.else_body);
  if (!rest) rest = inner(source.else_body);
  level_ = outer_level;
  base_ = outer_base;
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    it->first.else_body = std::move(*rest);
    rest = ir::Body{ir::make_stmt(std::move(it->first), it->second)};
  }
  if (ok) emit(rest->front());
}

void Elaborator::while_loop(const syntax::While& loop, const Loc& loc) {
  ir::ExprRef cond = make_condition(eval(loop.cond), "while", loop.cond->loc, *diags_);
  ir::Body body = inner(loop.body);
  if (cond != nullptr) emit(ir::While{std::move(cond), std::move(body)}, loc);
}

void Elaborator::assertion(const syntax::Assert& source, const Loc& loc) {
  ir::ExprRef cond = make_condition(eval(source.cond), "assert", source.cond->loc, *diags_);
  if (cond != nullptr) emit(ir::Assert{std::move(cond), source.message}, loc);
}

void Elaborator::task(const syntax::Task& source, const Loc& loc) {
  auto args = bind_args({"task", {}, 0, {"latency", "ii"}}, source.args, loc, *diags_);
  ir::Task node;
  bool ok = args.has_value();
  for (std::size_t i = 0; args && i < 2; ++i) {
    if ((*args)[i] == nullptr) continue;
    auto cycles = constant_int((*args)[i]->value, i == 0 ? "latency" : "ii");
    ok = ok && cycles.has_value();
    (i == 0 ? node.latency : node.ii) = cycles;
  }
  ok = check_task(node, loc, *diags_) && ok;
  node.body = inner(source.body);
  if (ok) emit(std::move(node), loc);
}

void Elaborator::call_stmt(const syntax::CallStmt& source, const Loc& loc) {
  const auto* call = std::get_if<syntax::Call>(&source.call->node);
  PLAIT_ASSERT(call != nullptr, "a call statement of the syntax tree holds no call");
  if (const syntax::Function* fn = find_function(call->callee)) return call_statement(*fn, *call, loc);
  if (call->callee == "print") return print(*call, loc);
  if (call->callee == "clear" || ir::op_from_name(call->callee)) return tile_op(call->callee, *call, loc);
  auto builtins = builtin_functions();
  bool value = type_of(call->callee) || std::find(builtins.begin(), builtins.end(), call->callee) != builtins.end();
  if (!value) return unknown_function(call->callee, loc);
  diags_->error(Rule::function_form, loc, fmt::format("the value of `{}` is not used", call->callee),
                fmt::format("write e.g. x = {}(...)", call->callee));
}

void Elaborator::print(const syntax::Call& call, const Loc& loc) {
  const auto* text = call.args.empty() ? nullptr : std::get_if<syntax::StrLit>(&call.args.front().value->node);
  if (text == nullptr) {
    diags_->error(Rule::print_format, loc, "print starts with a text", "write e.g. print(\"x = {}\", x)");
    return;
  }
  std::vector<ir::ExprRef> args;
  bool ok = true;
  for (std::size_t i = 1; i < call.args.size(); ++i) {
    if (!call.args[i].name.empty()) {
      diags_->error(Rule::call_form, call.args[i].loc, fmt::format("print has no parameter `{}`", call.args[i].name),
                    "give the values in the order of their `{}`");
      ok = false;
    }
    args.push_back(eval(call.args[i].value));
  }
  if (ok) emit(make_print(text->value, args, loc, *diags_));
}

bool Elaborator::at_top(std::string_view what, const Loc& loc) {
  if (top_level_) return true;
  diags_->error(Rule::kernel_statement, loc, fmt::format("{} does not stand inside a loop or branch", what));
  return false;
}

void Elaborator::grid(const syntax::Grid& source, const Loc& loc) {
  bool first = top_level_ && kernel_.grid.empty() && kernel_.body.empty();
  if (!first) {
    diags_->error(
        Rule::grid_statement, loc,
        kernel_.grid.empty() ? "the grid statement comes first in a kernel" : "a kernel has one grid statement");
  }
  if (source.axes.size() > 3) {
    diags_->error(Rule::grid_statement, loc, fmt::format("a grid has 1 to 3 axes, not {}", source.axes.size()),
                  "combine axes, and take them apart with / and %");
  }
  // Extents are computed before any block runs, so they do not see the other axes.
  std::vector<ir::ExprRef> extents;
  for (const auto& [name, extent] : source.axes) {
    extents.push_back(make_grid_extent(eval(extent), extent->loc, *diags_));
  }
  for (std::size_t i = 0; i < source.axes.size(); ++i) {
    const std::string& name = source.axes[i].first;
    ir::Var var = make_var(name, ir::DType::i64, ir::VarKind::grid, loc);
    if (define(name, variable(var), loc)) kernel_.grid.push_back({var, std::move(extents[i])});
  }
}

void Elaborator::threads(const syntax::Threads& source, const Loc& loc) {
  auto n = constant_int(source.count, "threads");
  if (at_top("threads", loc) && n) set_threads(kernel_, *n, loc, *diags_);
}

void Elaborator::require(const syntax::Require& source, const Loc& loc) {
  ir::ExprRef cond = eval(source.cond);
  if (at_top("require", loc)) add_require(kernel_, cond, source.message, loc, *diags_);
}

void Elaborator::option(const syntax::Option& source, const Loc& loc) {
  if (!at_top("option", loc)) return;
  if (source.name == "fast_math") {
    kernel_.options.fast_math = true;
    return;
  }
  diags_->error(Rule::attribute_value, loc, fmt::format("unknown option `{}`", source.name),
                did_you_mean(source.name, {"fast_math"}, "the only option is fast_math"));
}

}  // namespace plait::lang
