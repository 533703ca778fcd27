#pragma once

#include <set>

#include "roles/program.h"

namespace plait::roles {

/// One of the names that the launch gives, and the variable that has it.
struct BuiltinName {
  std::string_view name;
  Var Builtins::* var;
};
const std::vector<BuiltinName>& builtin_names();

/// Gives the builtin of the usual name `name` another one; false where there is no such builtin.
bool rename_builtin(Builtins& builtins, std::string_view name, const std::string& other);

/// Renames the builtins whose names are taken: a program that is called with a dim `block` has its own as `block_2`.
void rename_builtins(Builtins& builtins, const std::set<std::string>& taken);

}  // namespace plait::roles
