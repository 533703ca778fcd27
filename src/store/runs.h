#pragma once

#include <map>
#include <optional>

#include "store/database.h"

namespace plait::store {

/// What a call of a role program was measured to take.
struct Run {
  double microseconds = 0;  ///< median of a launch
  std::string gpu;
  std::string measured_at;  ///< UTC, ISO 8601
};

/// By the text of the program and the dims of the call.
using RunKey = std::pair<std::string, std::map<std::string, std::int64_t>>;
Result<std::optional<Run>> find_run(const Database& database, const RunKey& key);
Diagnostics put_run(const Database& database, const RunKey& key, const Run& run);

}  // namespace plait::store
