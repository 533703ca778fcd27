#include <fmt/format.h>

#include <algorithm>

#include "ir/visit.h"
#include "lang/elaborator.h"
#include "lang/literal.h"
#include "lang/suggest.h"

namespace plait::lang {
namespace {

constexpr std::size_t kMaxCalls = 100;

bool reads_memory(const ir::ExprRef& e) {
  bool found = false;
  ir::walk(e, [&](const ir::Expr& x) { found = found || std::holds_alternative<ir::Load>(x.node); });
  return found;
}

/// Names that a function may not take.
std::vector<std::string> reserved_functions() {
  std::vector<std::string> out = builtin_functions();
#define PLAIT_TILE_OP(id, name, attrs, effects, unit) out.emplace_back(name);
#include "ir/ops.def"
#undef PLAIT_TILE_OP
  out.insert(out.end(), {"clear", "print"});
  for (ir::DType type : ir::all_dtypes()) out.emplace_back(ir::dtype_name(type));
  return out;
}

const syntax::Return* as_return(const syntax::StmtRef& stmt) { return std::get_if<syntax::Return>(&stmt->node); }

}  // namespace

void Elaborator::check_functions() {
  std::vector<std::string> reserved = reserved_functions();
  for (const syntax::Item& item : file_.items) {
    const auto* fn = std::get_if<syntax::Function>(&item.node);
    if (fn == nullptr) continue;
    bool taken = std::find(reserved.begin(), reserved.end(), fn->name) != reserved.end();
    if (!taken && functions_.emplace(fn->name, fn).second) continue;
    diags_->error(Rule::duplicate_name, item.loc,
                  taken ? fmt::format("`{}` is the name of a built-in function, operation or type", fn->name)
                        : fmt::format("function `{}` is already defined", fn->name));
  }
}

const syntax::Function* Elaborator::find_function(const std::string& name) const {
  auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : it->second;
}

bool Elaborator::recursive(const syntax::Function& fn, const Loc& loc) {
  auto it = std::find_if(frames_.begin(), frames_.end(), [&](const Frame& frame) { return frame.function == &fn; });
  if (it == frames_.end()) return false;
  std::string chain;
  for (; it != frames_.end(); ++it) chain += it->function->name + " -> ";
  diags_->error(Rule::recursion, loc, fmt::format("`{}` calls itself: {}{}", fn.name, chain, fn.name));
  return true;
}

bool Elaborator::call_function(const syntax::Function& fn, const syntax::Call& call, const Loc& loc, bool statement,
                               const std::function<void()>& body) {
  if (recursive(fn, loc)) return false;
  if (frames_.size() >= kMaxCalls) {
    stop(fmt::format("calls nest deeper than {} functions here", kMaxCalls), loc);
    return false;
  }
  auto parameters = bind_parameters(fn, call, loc, statement);
  if (!parameters) return false;
  Diagnostics own;
  std::size_t outer_errors = std::exchange(outer_errors_, outer_errors_ + diags_->list().size());
  Diagnostics* outer = std::exchange(diags_, &own);
  Scopes scopes = std::exchange(scopes_, std::move(*parameters));
  frames_.push_back({&fn, std::make_shared<const CallSite>(CallSite{fn.name, loc})});
  body();
  frames_.pop_back();
  scopes_ = std::move(scopes);
  diags_ = outer;
  outer_errors_ = outer_errors;
  for (Diagnostic found : own.list()) {
    // Places of values and statements know the calls that they came through.
    if (found.loc.call == nullptr) found.notes.push_back({loc, fmt::format("in the call of `{}` here", fn.name)});
    diags_->add(std::move(found));
  }
  return !own.has_errors();
}

std::optional<Scopes> Elaborator::bind_parameters(const syntax::Function& fn, const syntax::Call& call, const Loc& loc,
                                                  bool statement) {
  Signature signature{fn.name, {}, 0, {}};
  for (const syntax::CompileParam& param : fn.params) {
    signature.positional.push_back(param.name);
    if (param.default_value == nullptr) signature.required = signature.positional.size();
  }
  auto args = bind_args(signature, call.args, loc, *diags_);
  if (!args) return std::nullopt;
  std::vector<Entity> given;
  for (std::size_t i = 0; i < args->size(); ++i) {
    Entity entity = (*args)[i] == nullptr ? Entity(Poison{}) : argument((*args)[i]->value);
    if (statement) entity = by_value(std::move(entity), fn.params[i].name, loc);
    if (!std::holds_alternative<Poison>(entity) && !check_kind(fn.params[i], entity, (*args)[i]->loc))
      return std::nullopt;
    given.push_back(std::move(entity));
  }
  // Defaults see the parameters before them and nothing of the caller.
  Scopes caller = std::exchange(scopes_, Scopes());
  for (std::size_t i = 0; i < args->size(); ++i) {
    const syntax::CompileParam& param = fn.params[i];
    if ((*args)[i] == nullptr && param.default_value != nullptr) given[i] = argument(param.default_value);
    define(param.name, given[i], param.loc);
  }
  return std::exchange(scopes_, std::move(caller));
}

bool Elaborator::check_kind(const syntax::CompileParam& param, const Entity& entity, const Loc& loc) {
  if (param.kind.empty() || as_kind(entity, param.kind)) return true;
  diags_->error(Rule::call_form, loc, fmt::format("parameter `{}` takes {} literal", param.name, article(param.kind)),
                fmt::format("pass {}", literal_example(param.kind)));
  return false;
}

Entity Elaborator::argument(const syntax::ExprRef& e) {
  Entity out = Poison{};
  Cost cost = measured([&] {
    if (const auto* name = std::get_if<syntax::Name>(&e->node)) {
      if (const Symbol* symbol = scopes_.find(name->id)) {
        out = symbol->entity;
        return;
      }
      if (auto type = ir::dtype_from_name(name->id)) {
        out = *type;
        return;
      }
    }
    if (const auto* index = std::get_if<syntax::Index>(&e->node)) {
      if (auto spec = indexed(*index, placed(e->loc))) out = Tile{std::move(*spec), names_element(e), {}};
      return;
    }
    if (ir::ExprRef value = eval(e)) out = Scalar{std::move(value), {}};
  });
  bool passed_on = std::holds_alternative<syntax::Name>(e->node);
  if (auto* scalar = std::get_if<Scalar>(&out); scalar != nullptr && !passed_on) scalar->cost = cost;
  if (auto* tile = std::get_if<Tile>(&out); tile != nullptr && !passed_on) tile->cost = cost;
  return out;
}

/// A function that stores may change what an argument was computed from, so such an argument becomes a let.
Entity Elaborator::by_value(Entity entity, const std::string& name, const Loc& loc) {
  const auto* scalar = std::get_if<Scalar>(&entity);
  if (scalar == nullptr || !reads_memory(scalar->expr)) return entity;
  ir::ExprRef value = ir::settle(scalar->expr, loc, *diags_);
  if (value == nullptr) return Poison{};
  ir::Var var =
      std::make_shared<const ir::VarDecl>(ir::VarDecl{names_.fresh(name), value->type, ir::VarKind::let, loc});
  emit(ir::Let{var, std::move(value)}, loc);
  return variable(var);
}

ir::ExprRef Elaborator::eval_function(const syntax::Function& fn, const syntax::Call& call, const Loc& loc) {
  ir::ExprRef result;
  call_function(fn, call, loc, false, [&] {
    bool found = false;
    result = eval_block(fn.body, found);
    if (found || diags_->has_errors() || stopped_) return;
    diags_->error(Rule::function_form, loc, fmt::format("`{}` returns no value", fn.name),
                  "end its body with `return e`, or call it as a statement");
  });
  return result;
}

ir::ExprRef Elaborator::eval_block(const syntax::Block& block, bool& found) {
  ir::ExprRef result;
  for (const syntax::StmtRef& stmt : block) {
    if (stopped_ || !spend(1, stmt->loc)) return nullptr;
    if (found) {
      diags_->error(Rule::function_form, stmt->loc, "a statement behind a return is never reached", "remove it");
      return nullptr;
    }
    std::visit(Overload{[&](const syntax::Assign& x) { eval_let(x, stmt->loc); },
                        [&](const syntax::If& x) { result = eval_static_if(x, stmt->loc, found); },
                        [&](const syntax::Return& x) {
                          found = true;
                          result = eval(x.value);
                        },
                        [](const syntax::Pass&) {},
                        [&](const auto&) {
                          diags_->error(
                              Rule::function_form, stmt->loc,
                              fmt::format("`{}` is used in an expression, so its body holds only lets, static "
                                          "ifs and a return",
                                          frames_.back().function->name));
                        }},
               stmt->node);
  }
  return result;
}

void Elaborator::eval_let(const syntax::Assign& assign, const Loc& loc) {
  const auto* name = std::get_if<syntax::Name>(&assign.target->node);
  if (name == nullptr || !assign.op.empty()) {
    diags_->error(Rule::function_form, loc,
                  fmt::format("`{}` is used in an expression and cannot store", frames_.back().function->name));
    return;
  }
  ir::ExprRef value;
  Cost cost = measured([&] { value = eval(assign.value); });
  define(name->id, value == nullptr ? Entity(Poison{}) : Entity(Scalar{value, cost}), assign.target->loc);
}

ir::ExprRef Elaborator::eval_static_if(const syntax::If& branch, const Loc& loc, bool& found) {
  Level level(*this, loc);
  for (const syntax::If::Branch& candidate : branch.branches) {
    ir::ExprRef cond = make_condition(eval(candidate.cond), "if", candidate.cond->loc, *diags_);
    if (cond == nullptr) return nullptr;
    auto known = ir::as_int(cond);
    if (!known) {
      diags_->error(Rule::function_form, candidate.cond->loc,
                    fmt::format("`{}` is used in an expression, so this condition must be known when the program is "
                                "instantiated",
                                frames_.back().function->name),
                    "use select(cond, a, b)");
      return nullptr;
    }
    if (*known != 0) return eval_block(candidate.body, found);
  }
  return eval_block(branch.else_body, found);
}

void Elaborator::call_statement(const syntax::Function& fn, const syntax::Call& call, const Loc& loc) {
  bool returns = !fn.body.empty() && as_return(fn.body.back()) != nullptr;
  if (returns) {
    diags_->error(Rule::function_form, loc, fmt::format("the value of `{}` is not used", fn.name),
                  fmt::format("write e.g. x = {}(...)", fn.name));
    return;
  }
  call_function(fn, call, loc, true, [&] { block(fn.body); });
}

}  // namespace plait::lang
