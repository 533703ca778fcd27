#include "lang/elaborator.h"

#include <fmt/format.h>

#include <algorithm>

#include "lang/suggest.h"

namespace plait::lang {
namespace {

/// As deep as the parser goes, so that a printed kernel can be read.
constexpr int kMaxExprDepth = 200;
constexpr std::size_t kMaxErrors = 50;

std::string signature_text(const Signature& signature) {
  std::string out;
  for (std::size_t i = 0; i < signature.positional.size(); ++i) {
    bool optional = i >= signature.required;
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", signature.positional[i], optional ? "=" : "");
  }
  for (const std::string& name : signature.named) out += fmt::format("{}{}=", out.empty() ? "" : ", ", name);
  return fmt::format("{}({})", signature.name, out);
}

/// The parameter an argument goes to, or nullopt after a report. `next` counts positional arguments.
std::optional<std::size_t> slot_of(const Signature& signature, const std::vector<std::string>& all,
                                   const syntax::Arg& arg, std::size_t& next, bool named_before, Diagnostics& diags) {
  auto wrong = [&](std::string message, std::string fix = {}) {
    if (fix.empty()) fix = "write " + signature_text(signature);
    diags.error(Rule::call_form, arg.loc, std::move(message), std::move(fix));
    return std::nullopt;
  };
  if (arg.name.empty()) {
    if (named_before) return wrong("a positional argument follows a named one");
    if (next < signature.positional.size()) return next++;
    return wrong(fmt::format("too many arguments for `{}`, which takes {} by position", signature.name,
                             signature.positional.size()));
  }
  auto it = std::find(all.begin(), all.end(), arg.name);
  if (it != all.end()) return static_cast<std::size_t>(it - all.begin());
  std::string known = all.empty() ? "it takes no arguments" : "its parameters are " + quoted_list(all);
  return wrong(fmt::format("`{}` has no parameter `{}`", signature.name, arg.name), did_you_mean(arg.name, all, known));
}

}  // namespace

std::optional<std::vector<const syntax::Arg*>> bind_args(const Signature& signature,
                                                         const std::vector<syntax::Arg>& args, const Loc& loc,
                                                         Diagnostics& diags) {
  std::vector<std::string> all = signature.positional;
  all.insert(all.end(), signature.named.begin(), signature.named.end());
  std::vector<const syntax::Arg*> slots(all.size(), nullptr);
  std::size_t next = 0;
  bool named_before = false, ok = true;
  for (const syntax::Arg& arg : args) {
    auto slot = slot_of(signature, all, arg, next, named_before, diags);
    named_before = named_before || !arg.name.empty();
    if (slot && slots[*slot] != nullptr) {
      diags.error(Rule::call_form, arg.loc, fmt::format("`{}` of `{}` is given twice", all[*slot], signature.name),
                  "remove one of the two");
      ok = false;
    }
    if (slot) slots[*slot] = &arg;
    ok = ok && slot.has_value();
  }
  if (!ok) return std::nullopt;
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < signature.required; ++i) {
    if (slots[i] == nullptr) missing.push_back(all[i]);
  }
  if (missing.empty()) return slots;
  diags.error(Rule::call_form, loc, fmt::format("`{}` lacks {}", signature.name, quoted_list(missing)),
              "write " + signature_text(signature));
  return std::nullopt;
}

Elaborator::Elaborator(const syntax::File& file, Diagnostics& diags) : file_(file), diags_(&diags) {
  check_functions();
}

bool Elaborator::define(const std::string& name, Entity entity, const Loc& loc) {
  const Symbol* earlier = scopes_.find(name);
  if (earlier == nullptr) {
    scopes_.define(name, {std::move(entity), loc});
    return true;
  }
  diags_
      ->error(Rule::duplicate_name, loc, fmt::format("`{}` is already defined", name),
              "a name is defined once and hides no other: choose another name")
      .notes.push_back({earlier->loc, fmt::format("`{}` is {} defined here", name, entity_kind(earlier->entity))});
  return false;
}

ir::Var Elaborator::make_var(const std::string& name, ir::DType type, ir::VarKind kind, const Loc& loc) {
  return std::make_shared<const ir::VarDecl>(ir::VarDecl{ir_name(name), type, kind, loc});
}

void Elaborator::stop(std::string message, const Loc& loc) {
  if (stopped_) return;
  stopped_ = true;
  diags_->error(Rule::expansion_limit, loc, std::move(message));
}

bool Elaborator::spend(std::int64_t n, const Loc& loc) {
  if (outer_errors_ + diags_->list().size() >= kMaxErrors) stopped_ = true;
  spent_ += n;
  if (spent_ > kMaxNodes) stop(fmt::format("the kernel grows beyond {} nodes here", kMaxNodes), loc);
  return reach(level_, loc);
}

bool Elaborator::reach(int level, const Loc& loc) {
  deepest_ = std::max(deepest_, level);
  if (level - base_ > kMaxExprDepth)
    stop(fmt::format("expressions nest deeper than {} levels here", kMaxExprDepth), loc);
  return !stopped_;
}

bool Elaborator::spend(const Cost& cost, const Loc& loc) {
  return spend(cost.nodes, loc) && reach(level_ + cost.depth, loc);
}

Elaborator::Level::Level(Elaborator& owner, const Loc& loc) : owner_(owner) {
  if (++owner_.level_ > kMaxDepth)
    owner_.stop(fmt::format("the program nests deeper than {} levels here", kMaxDepth), loc);
}

Cost Elaborator::measured(const std::function<void()>& fn) {
  std::int64_t spent = spent_;
  int deepest = std::exchange(deepest_, level_);
  fn();
  Cost cost{std::max<std::int64_t>(spent_ - spent, 1), std::max(deepest_ - level_, 1)};
  deepest_ = std::max(deepest_, deepest);
  return cost;
}

}  // namespace plait::lang
