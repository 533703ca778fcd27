#include "run_timeout.h"

#include <fmt/format.h>

#include <chrono>

namespace plait::cli {

Outcome too_late(const std::string& what, double seconds, const Loc& loc, const Outcome& so_far) {
  Outcome late = so_far;
  late.text.clear();
  late.diagnostics.error(Rule::time_limit, loc, fmt::format("{} has taken more than {} s", what, seconds));
  return late;
}

Timeout::Timeout(double seconds, const Command& command, Outcome late) {
  if (seconds <= 0) return;
  auto end = std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
  watch_ = std::thread([this, end, &command, late = std::move(late)] {
    std::unique_lock lock(mutex_);
    // The lock is kept while the process ends, so that stop() does not return meanwhile.
    if (!wake_.wait_until(lock, end, [this] { return stopped_; })) end_now(command, late);
  });
}

void Timeout::stop() {
  if (!watch_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_one();
  watch_.join();
}

}  // namespace plait::cli
