#include "roles/builtin_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace plait::roles {

const std::vector<BuiltinName>& builtin_names() {
  static const std::vector<BuiltinName> names = {
      {"block", &Builtins::block},     {"blocks", &Builtins::blocks},   {"block_x", &Builtins::block_x},
      {"block_y", &Builtins::block_y}, {"block_z", &Builtins::block_z}, {"cluster_rank", &Builtins::cluster_rank},
      {"sms", &Builtins::sms},         {"replica", &Builtins::replica}, {"warp", &Builtins::warp},
      {"lane", &Builtins::lane},       {"thread", &Builtins::thread}};
  return names;
}

bool rename_builtin(Builtins& builtins, std::string_view name, const std::string& other) {
  const auto& names = builtin_names();
  auto it = std::find_if(names.begin(), names.end(), [&](const BuiltinName& b) { return b.name == name; });
  if (it == names.end()) return false;
  ir::VarDecl decl = *(builtins.*it->var);
  decl.name = other;
  builtins.*it->var = std::make_shared<const ir::VarDecl>(std::move(decl));
  return true;
}

void rename_builtins(Builtins& builtins, const std::set<std::string>& taken) {
  std::set<std::string> all = taken;
  for (const BuiltinName& builtin : builtin_names()) all.emplace(builtin.name);
  for (const BuiltinName& builtin : builtin_names()) {
    if (!taken.contains(std::string(builtin.name))) continue;
    std::string other;
    for (int n = 2; other.empty() || all.contains(other); ++n) other = fmt::format("{}_{}", builtin.name, n);
    all.insert(other);
    rename_builtin(builtins, builtin.name, other);
  }
}

}  // namespace plait::roles
