#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "command.h"

namespace plait::cli {

/// The outcome of `what` ("the run") that has used up its time.
Outcome too_late(const std::string& what, double seconds, const Loc& loc, const Outcome& so_far,
                 const std::string& fix = {});

/// Ends the process with `late` once `seconds` have passed, unless it is stopped before. Seconds of 0: never.
class Timeout {
 public:
  Timeout(double seconds, const Command& command, Outcome late);
  ~Timeout() { stop(); }
  Timeout(const Timeout&) = delete;
  Timeout& operator=(const Timeout&) = delete;

  /// From here on the process is not ended any more.
  void stop();

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread watch_;
};

/// Says something on standard error where what is done takes longer than some seconds.
class Notice {
 public:
  explicit Notice(std::string text);
  ~Notice();
  Notice(const Notice&) = delete;
  Notice& operator=(const Notice&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread watch_;
};

}  // namespace plait::cli
