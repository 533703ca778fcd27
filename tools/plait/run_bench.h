#pragma once

#include "run_verify.h"

namespace plait::cli {

struct Measurement {
  Diagnostics diagnostics;
  double median_ms = 0;
  std::int64_t repetitions = 0;
  std::optional<double>
      gflops;  ///< by the reference's formula, else from the gemms of the program; none where neither counts
  std::optional<double> gbs;  ///< bytes of all tensors, each once
};

/// Warms up, then repeats at least 10 times and half a second. Every repetition starts from the same inout tensors.
Measurement measure_run(const Session& session, RunData& data, const Before& before, const Runner& runner);

}  // namespace plait::cli
