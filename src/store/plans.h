#pragma once

#include <optional>

#include "store/build.h"
#include "store/database.h"

namespace plait::store {

/// What a planner found, by all that it depends on. A key begins with build(): another version of plait may plan
/// another way.
Result<std::optional<std::string>> find_plan(const Database& database, const std::string& key);
Diagnostics put_plan(const Database& database, const std::string& key, const std::string& plan);

}  // namespace plait::store
