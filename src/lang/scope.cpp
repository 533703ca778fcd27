#include "lang/scope.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/result.h"

namespace plait::lang {

std::string_view entity_kind(const Entity& entity) {
  return std::visit(Overload{[](const Poison&) { return std::string_view("a name"); },
                             [](const Scalar&) { return std::string_view("a scalar"); },
                             [](const ir::Buffer&) { return std::string_view("a buffer"); },
                             [](const ir::DType&) { return std::string_view("a type"); },
                             [](const Tile&) { return std::string_view("a tile"); }},
                    entity);
}

const Symbol* Scopes::find(const std::string& name) const {
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    if (auto it = level->find(name); it != level->end()) return &it->second;
  }
  return nullptr;
}

void Scopes::define(const std::string& name, Symbol symbol) {
  levels_.back().insert_or_assign(name, std::move(symbol));
}

std::vector<std::string> Scopes::names() const {
  std::vector<std::string> out;
  for (const auto& level : levels_) {
    for (const auto& [name, symbol] : level) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string NameTable::fresh(const std::string& base) {
  if (take(base)) return base;
  for (int& n = next_[base];;) {
    std::string name = fmt::format("{}_{}", base, ++n);
    if (take(name)) return name;
  }
}

}  // namespace plait::lang
