#include "store/runs.h"

#include <fmt/format.h>

namespace plait::store {
namespace {

std::string dims_text(const RunKey& key) {
  std::string text;
  for (const auto& [name, value] : key.second) text += fmt::format("{}={} ", name, value);
  return text;
}

}  // namespace

Result<std::optional<Run>> find_run(const Database& database, const RunKey& key) {
  auto rows = database.run("SELECT microseconds, gpu, measured_at FROM runs WHERE program = ? AND dims = ?",
                           {key.first, dims_text(key)});
  if (!rows) return rows.diagnostics();
  if (rows->empty()) return std::optional<Run>();
  const Row& row = rows->front();
  return std::optional(Run{number_of(row[0]), text_of(row[1]), text_of(row[2])});
}

Diagnostics put_run(const Database& database, const RunKey& key, const Run& run) {
  auto done = database.run("INSERT OR REPLACE INTO runs VALUES(?, ?, ?, ?, ?)",
                           {key.first, dims_text(key), run.microseconds, run.gpu, run.measured_at});
  return done ? Diagnostics() : done.diagnostics();
}

}  // namespace plait::store
