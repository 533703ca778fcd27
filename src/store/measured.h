#pragma once

#include <optional>

#include "store/database.h"

namespace plait::store {

/// What a task was measured to take on a device.
struct Measured {
  std::string kernel, task;       ///< where it was met first
  double latency = 0;             ///< cycles of a multiprocessor from its start to its result, alone
  double interval = 0;            ///< cycles until the next one may follow where many are to be done
  std::int64_t registers = 0;     ///< a thread
  std::int64_t shared_bytes = 0;  ///< a block
  std::string gpu;                ///< as its driver calls it
  std::string measured_at;        ///< UTC, ISO 8601
};

/// By the name of the machine model, and the text of the isolated task.
Result<std::optional<Measured>> find_measured(const Database& database, const std::string& device,
                                              const std::string& shape);
Diagnostics put_measured(const Database& database, const std::string& device, const std::string& shape,
                         const Measured& measured);

/// Text of all that was measured for a device; empty where nothing was.
Result<std::string> all_measured(const Database& database, const std::string& device);

/// UTC, ISO 8601.
std::string now();

}  // namespace plait::store
