#include <fmt/format.h>

#include <algorithm>

#include "lang/elaborator.h"
#include "lang/header.h"
#include "lang/literal.h"
#include "lang/suggest.h"

namespace plait::lang {
namespace {

/// Every name a block defines, so that names made for inlined functions stay clear of them.
void take_names(const syntax::Block& block, NameTable& names) {
  for (const syntax::StmtRef& stmt : block) {
    std::visit(Overload{[&](const syntax::Assign& x) {
                          const auto* name = std::get_if<syntax::Name>(&x.target->node);
                          if (name != nullptr) names.take(name->id);
                        },
                        [&](const syntax::Alloc& x) { names.take(x.name); },
                        [&](const syntax::For& x) {
                          for (const std::string& var : x.vars) names.take(var);
                          take_names(x.body, names);
                        },
                        [&](const syntax::While& x) { take_names(x.body, names); },
                        [&](const syntax::If& x) {
                          for (const auto& branch : x.branches) take_names(branch.body, names);
                          take_names(x.else_body, names);
                        },
                        [&](const syntax::Task& x) { take_names(x.body, names); },
                        [&](const syntax::Grid& x) {
                          for (const auto& axis : x.axes) names.take(axis.first);
                        },
                        [](const auto&) {}},
               stmt->node);
  }
}

const syntax::Name* bare_name(const syntax::ExprRef& e) {
  return e == nullptr ? nullptr : std::get_if<syntax::Name>(&e->node);
}

/// The extents and strides of a parameter in the order in which they bind dims.
std::vector<syntax::ExprRef> binders(const syntax::Param& param) {
  std::vector<syntax::ExprRef> out = param.shape;
  for (const syntax::Clause& clause : param.clauses) {
    const auto* list = std::get_if<syntax::List>(&clause.value->node);
    if (clause.keyword != "strides") continue;
    if (list == nullptr) {
      out.push_back(clause.value);
    } else {
      out.insert(out.end(), list->items.begin(), list->items.end());
    }
  }
  return out;
}

ir::ParamKind param_kind(const std::string& mode) {
  if (mode == "in") return ir::ParamKind::in;
  return mode == "out" ? ir::ParamKind::out : ir::ParamKind::inout;
}

/// Names that an expression uses.
void names_in(const syntax::ExprRef& e, std::vector<std::pair<std::string, Loc>>& out) {
  if (e == nullptr) return;
  std::visit(Overload{[&](const syntax::Name& x) { out.emplace_back(x.id, e->loc); },
                      [&](const syntax::Unary& x) { names_in(x.a, out); },
                      [&](const syntax::Binary& x) {
                        names_in(x.a, out);
                        names_in(x.b, out);
                      },
                      [&](const syntax::Call& x) {
                        for (const syntax::Arg& arg : x.args) names_in(arg.value, out);
                      },
                      [](const auto&) {}},
             e->node);
}

}  // namespace

ir::Kernel Elaborator::kernel(const syntax::Kernel& source, const Loc& loc,
                              const std::map<std::string, std::string>& bindings) {
  kernel_.name = source.name;
  kernel_.loc = loc;
  take_names(source.body, names_);
  compile_params(source, loc, bindings);
  // Behind a wrong -D the rest would be judged by a value that nobody meant.
  if (!bindings.empty() && diags_->has_errors()) return std::move(kernel_);
  bind_dims(source);
  params(source);
  out_ = &kernel_.body;
  block(source.body);
  if (kernel_.grid.empty() && !diags_->has_errors()) {
    diags_->error(Rule::grid_statement, loc, fmt::format("kernel `{}` has no grid statement", source.name));
  }
  return std::move(kernel_);
}

void Elaborator::compile_params(const syntax::Kernel& source, const Loc& loc,
                                const std::map<std::string, std::string>& bindings) {
  std::vector<std::string> known;
  for (const syntax::CompileParam& param : source.compile_params) known.push_back(param.name);
  for (const auto& [name, text] : bindings) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string fix = known.empty()
                          ? "the kernel has no compile-time parameters; dims and scalar arguments are given at the call"
                          : "its compile-time parameters are " + quoted_list(known);
    diags_->error(
        Rule::compile_param, loc,
        fmt::format("kernel `{}` has no compile-time parameter `{}` (-D {}={})", source.name, name, name, text),
        did_you_mean(name, known, fix));
  }
  for (const syntax::CompileParam& param : source.compile_params) {
    names_.take(param.name);
    auto it = bindings.find(param.name);
    const Loc& at = param.loc.known() ? param.loc : loc;
    define(param.name, compile_param(param, it == bindings.end() ? nullptr : &it->second, at), at);
  }
}

Entity Elaborator::compile_param(const syntax::CompileParam& param, const std::string* text, const Loc& loc) {
  std::optional<Entity> fallback;
  if (param.default_value != nullptr) fallback = argument(param.default_value);
  bool literal = !fallback || !std::holds_alternative<Tile>(*fallback);
  if (fallback && std::holds_alternative<Poison>(*fallback)) return Poison{};
  if (!literal || (fallback && !literal_kind(*fallback))) {
    diags_->error(Rule::not_constant, param.default_value->loc,
                  fmt::format("the default of `{}` is not a literal", param.name),
                  "use literals and earlier compile-time parameters");
    return Poison{};
  }
  std::string kind = !param.kind.empty() ? param.kind : fallback ? std::string(*literal_kind(*fallback)) : "int";
  if (text != nullptr) {
    auto value = parse_literal(*text, kind, loc);
    if (value) return *value;
    diags_->error(Rule::compile_param, loc,
                  fmt::format("-D {}={}: `{}` is not {} literal", param.name, *text, *text, article(kind)),
                  fmt::format("`{}` takes {}", param.name, literal_example(kind)));
    return Poison{};
  }
  if (!fallback) {
    diags_->error(Rule::compile_param, loc, fmt::format("compile-time parameter `{}` has no value", param.name),
                  fmt::format("give -D {}={}", param.name, literal_example(kind)));
    return Poison{};
  }
  auto converted = as_kind(*fallback, kind);
  if (converted) return *converted;
  diags_->error(
      Rule::compile_param, param.default_value->loc,
      fmt::format("the default of `{}` is {}, not {}", param.name, article(*literal_kind(*fallback)), article(kind)));
  return Poison{};
}

void Elaborator::bind_dims(const syntax::Kernel& source) {
  for (const syntax::Param& param : source.params) names_.take(param.name);
  for (const syntax::Param& param : source.params) {
    for (const syntax::ExprRef& e : binders(param)) {
      const syntax::Name* name = bare_name(e);
      if (name == nullptr || scopes_.find(name->id) != nullptr || ir::dtype_from_name(name->id)) continue;
      bool scalar = std::any_of(source.params.begin(), source.params.end(),
                                [&](const syntax::Param& p) { return p.mode.empty() && p.name == name->id; });
      if (scalar) continue;
      names_.take(name->id);
      ir::Var dim = make_var(name->id, ir::DType::i64, ir::VarKind::dim, e->loc);
      kernel_.dims.push_back(dim);
      define(name->id, variable(dim), e->loc);
    }
  }
}

void Elaborator::params(const syntax::Kernel& source) {
  for (const syntax::Param& param : source.params) {
    if (param.mode.empty()) {
      scalar_param(param);
    } else {
      buffer_param(param);
    }
  }
}

std::vector<ir::ExprRef> Elaborator::shape_exprs(const std::vector<syntax::ExprRef>& exprs,
                                                 const syntax::Param& param) {
  std::vector<ir::ExprRef> out;
  for (const syntax::ExprRef& e : exprs) {
    std::vector<std::pair<std::string, Loc>> names;
    names_in(e, names);
    for (const auto& [name, loc] : names) {
      if (scopes_.find(name) != nullptr || ir::dtype_from_name(name)) continue;
      diags_->error(Rule::dim_binding, loc, fmt::format("`{}` is bound by no parameter", name),
                    did_you_mean(name, scopes_.names(), "let the bare name stand in the shape of some parameter"));
      scopes_.define(name, {Poison{}, loc});
    }
    out.push_back(make_extent(eval(e), param.name, e->loc, *diags_));
  }
  return out;
}

void Elaborator::buffer_param(const syntax::Param& param) {
  ir::BufferDecl buffer;
  auto type = dtype(param.dtype, param.loc);
  buffer.name = param.name;
  buffer.type = type.value_or(ir::DType::f32);
  buffer.shape = shape_exprs(param.shape, param);
  bool ok = type.has_value();
  for (const syntax::Clause& clause : param.clauses) {
    if (clause.keyword != "strides" || !buffer.strides.empty()) {
      diags_->error(Rule::alloc_clause, clause.loc,
                    fmt::format("a parameter has no second clause `{}`", clause.keyword),
                    "a parameter may have one `strides [...]`");
      ok = false;
      continue;
    }
    const auto* list = std::get_if<syntax::List>(&clause.value->node);
    buffer.strides = shape_exprs(list == nullptr ? std::vector{clause.value} : list->items, param);
    if (buffer.strides.size() == buffer.shape.size()) continue;
    diags_->error(
        Rule::alloc_clause, clause.loc,
        fmt::format("`{}` has {} strides for {} dimensions", param.name, buffer.strides.size(), buffer.shape.size()),
        "give one stride a dimension");
    ok = false;
  }
  for (const auto& list : {buffer.shape, buffer.strides}) {
    ok = ok && std::find(list.begin(), list.end(), nullptr) == list.end();
  }
  buffer.loc = param.loc;
  auto decl = std::make_shared<const ir::BufferDecl>(std::move(buffer));
  if (define(param.name, ok ? Entity(decl) : Entity(Poison{}), param.loc)) {
    kernel_.params.push_back({param_kind(param.mode), decl, nullptr, nullptr});
  }
}

void Elaborator::scalar_param(const syntax::Param& param) {
  auto type = dtype(param.dtype, param.loc);
  ir::ExprRef value;
  if (param.default_value != nullptr && type) {
    value = make_default(*type, eval(param.default_value), param.name, param.default_value->loc, *diags_);
  }
  ir::Var var = make_var(param.name, type.value_or(ir::DType::f32), ir::VarKind::scalar, param.loc);
  if (define(param.name, type ? variable(var) : Entity(Poison{}), param.loc)) {
    kernel_.params.push_back({ir::ParamKind::scalar, nullptr, var, std::move(value)});
  }
}

}  // namespace plait::lang
