#include "run_timeout.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "runtime/files.h"

namespace plait::cli {

Outcome too_late(const std::string& what, double seconds, const Loc& loc, const Outcome& so_far,
                 const std::string& fix) {
  Outcome late = so_far;
  late.text.clear();
  late.diagnostics.error(Rule::time_limit, loc, fmt::format("{} has taken more than {} s", what, seconds), fix);
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

Notice::Notice(std::string text) {
  watch_ = std::thread([this, text = std::move(text)] {
    constexpr std::chrono::seconds kPatience(3);
    std::unique_lock lock(mutex_);
    if (!wake_.wait_for(lock, kPatience, [this] { return over_; })) runtime::write_all(STDERR_FILENO, text);
  });
}

Notice::~Notice() {
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_one();
  watch_.join();
}

}  // namespace plait::cli
