#include <fmt/format.h>

#include "lang/elaborator.h"
#include "lang/suggest.h"

namespace plait::lang {

std::optional<std::int64_t> Elaborator::constant_int(const syntax::ExprRef& e, std::string_view what) {
  ir::ExprRef value = eval(e);
  if (value == nullptr) return std::nullopt;
  auto n = ir::is_integer(value->type) ? ir::as_int(value) : std::nullopt;
  if (!n) {
    diags_->error(Rule::not_constant, e->loc, fmt::format("{} must be an integer literal", what),
                  "use literals and compile-time parameters");
  }
  return n;
}

std::optional<std::int64_t> Elaborator::constant_int_in(const syntax::ExprRef& e, std::string_view what,
                                                        std::int64_t least, std::int64_t most) {
  auto n = constant_int(e, what);
  if (!n || (*n >= least && *n <= most)) return n;
  diags_->error(Rule::attribute_value, e->loc, fmt::format("{} is {}", what, *n),
                fmt::format("it is between {} and {}", least, most));
  return std::nullopt;
}

std::optional<bool> Elaborator::constant_bool(const syntax::ExprRef& e, std::string_view what) {
  ir::ExprRef value = eval(e);
  if (value == nullptr) return std::nullopt;
  auto n = ir::is_bool(value->type) ? ir::as_int(value) : std::nullopt;
  if (!n) {
    diags_->error(Rule::attribute_value, e->loc, fmt::format("{} must be true or false", what),
                  "it is known when the program is instantiated: use a literal or a compile-time parameter");
    return std::nullopt;
  }
  return *n != 0;
}

std::optional<std::vector<int>> Elaborator::int_list(const syntax::ExprRef& e, std::string_view what) {
  const auto* list = std::get_if<syntax::List>(&e->node);
  if (list == nullptr) {
    diags_->error(Rule::attribute_value, e->loc, fmt::format("{} is a list of integers", what),
                  "write e.g. [0, 1, 2], one entry a statement of the loop");
    return std::nullopt;
  }
  std::vector<int> out;
  for (const syntax::ExprRef& item : list->items) {
    auto n = constant_int_in(item, fmt::format("an entry of {}", what), 0, 1 << 20);
    if (!n) return std::nullopt;
    out.push_back(static_cast<int>(*n));
  }
  return out;
}

std::optional<std::size_t> Elaborator::word(const syntax::ExprRef& e, std::string_view what,
                                            const std::vector<std::string>& words) {
  const auto* name = std::get_if<syntax::Name>(&e->node);
  for (std::size_t i = 0; name != nullptr && i < words.size(); ++i) {
    if (words[i] == name->id) return i;
  }
  std::string message = name == nullptr ? fmt::format("{} is one of {}", what, quoted_list(words))
                                        : fmt::format("{} cannot be `{}`", what, name->id);
  diags_->error(Rule::attribute_value, e->loc, std::move(message),
                did_you_mean(name == nullptr ? "" : name->id, words, "it is one of " + quoted_list(words)));
  return std::nullopt;
}

std::optional<std::vector<ir::ExprRef>> Elaborator::expr_list(const syntax::ExprRef& e) {
  const auto* list = std::get_if<syntax::List>(&e->node);
  std::vector<syntax::ExprRef> items = list == nullptr ? std::vector{e} : list->items;
  std::vector<ir::ExprRef> out;
  bool ok = true;
  for (const syntax::ExprRef& item : items) {
    out.push_back(eval(item));
    ok = ok && out.back() != nullptr;
  }
  return ok ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace plait::lang
