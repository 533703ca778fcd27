#pragma once

#include "cuda/launch.h"

namespace plait::cuda {

struct TimingOptions {
  int windows = 10;           ///< timed windows at least
  double seconds = 0.5;       ///< time of all windows at least
  double window_ms = 2;       ///< length of a window, about
  double idle_seconds = 0.1;  ///< before each window, so that the clock recovers
};

struct Timing {
  double median_ms = 0;  ///< of one launch
  double cpu_us = 0;     ///< of the processor in one launch outside a graph
  int windows = 0;
  int launches = 0;  ///< a window
};

/// Times launches in windows, each one captured graph between two events, that rotate over the launches given: the same
/// call on different memory, so that the caches help as little as the caller wants.
Result<Timing> measure(const Context& context, const std::vector<const Launch*>& rotation,
                       const TimingOptions& options = {});

}  // namespace plait::cuda
