#include "store/plans.h"

#include "store/measured.h"

namespace plait::store {

Result<std::optional<std::string>> find_plan(const Database& database, const std::string& key) {
  auto rows = database.run("SELECT plan FROM plans WHERE key = ?", {key});
  if (!rows) return rows.diagnostics();
  const auto* plan = rows->empty() ? nullptr : std::get_if<std::string>(&rows->front().front());
  return plan != nullptr ? std::optional(*plan) : std::optional<std::string>();
}

Diagnostics put_plan(const Database& database, const std::string& key, const std::string& plan) {
  auto done = database.run("INSERT OR REPLACE INTO plans VALUES(?, ?, ?)", {key, plan, now()});
  return done ? Diagnostics() : done.diagnostics();
}

}  // namespace plait::store
