#pragma once

#include "run_reference.h"

namespace plait::cli {

/// Runs the kernel once; what a run does is the same for every call on other tensors.
using Runner = std::function<Diagnostics(const ir::BoundArgs&)>;

struct Verification {
  Diagnostics diagnostics;
  std::vector<Report> comparisons;
  std::string text;                   ///< a line a comparison, and what was not compared, with the reason
  std::optional<double> max_abs_err;  ///< over all comparisons made
  std::optional<double> max_rel_err;
};

/// Checks a finished run of `data`: every element of `out` written; equal to the interpreter (when the run was not its
/// own, and it takes no more than about 20 s, else on the first blocks alone where they stand alone) and to the
/// kernel's reference, within tolerance.
Verification verify_run(const Session& session, const RunRequest& request, const RunData& data, const Before& before,
                        const Runner& runner);

}  // namespace plait::cli
