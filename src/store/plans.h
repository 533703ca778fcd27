#pragma once

#include <optional>

#include "store/database.h"

namespace plait::store {

/// What a planner found, by all that it depends on. A key begins with build(): another build of plait may plan another
/// way.
Result<std::optional<std::string>> find_plan(const Database& database, const std::string& key);
Diagnostics put_plan(const Database& database, const std::string& key, const std::string& plan);

/// Names this build of plait: the build id that the linker gave the file that holds this function, else its version.
const std::string& build();

}  // namespace plait::store
