#include "store/measured.h"

#include <fmt/chrono.h>

#include <chrono>
#include <cmath>

namespace plait::store {

Result<std::optional<Measured>> find_measured(const Database& database, const std::string& device,
                                              const std::string& shape) {
  auto rows = database.run(
      "SELECT kernel, task, latency, interval, registers, shared_bytes, gpu, measured_at FROM tasks "
      "WHERE device = ? AND shape = ?",
      {device, shape});
  if (!rows) return rows.diagnostics();
  if (rows->empty() || number_of(rows->front()[2]) <= 0 || number_of(rows->front()[3]) <= 0)
    return std::optional<Measured>();
  const Row& row = rows->front();
  Measured found;
  found.kernel = text_of(row[0]);
  found.task = text_of(row[1]);
  found.latency = number_of(row[2]);
  found.interval = number_of(row[3]);
  found.registers = std::llround(number_of(row[4]));
  found.shared_bytes = std::llround(number_of(row[5]));
  found.gpu = text_of(row[6]);
  found.measured_at = text_of(row[7]);
  return std::optional(std::move(found));
}

Diagnostics put_measured(const Database& database, const std::string& device, const std::string& shape,
                         const Measured& measured) {
  auto done = database.run("INSERT OR REPLACE INTO tasks VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                           {device, shape, measured.kernel, measured.task, measured.latency, measured.interval,
                            measured.registers, measured.shared_bytes, measured.gpu, measured.measured_at});
  return done ? Diagnostics() : done.diagnostics();
}

Result<std::string> all_measured(const Database& database, const std::string& device) {
  auto rows =
      database.run("SELECT shape, latency, interval, registers FROM tasks WHERE device = ? ORDER BY shape", {device});
  if (!rows) return rows.diagnostics();
  std::string out;
  for (const Row& row : *rows)
    out += fmt::format("{}\n{} {} {}\n", text_of(row[0]), number_of(row[1]), number_of(row[2]), number_of(row[3]));
  return out;
}

std::string now() {
  std::time_t time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time));
}

}  // namespace plait::store
