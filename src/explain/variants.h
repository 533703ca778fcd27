#pragma once

#include <functional>

#include "pipeline/derive.h"

namespace plait::explain {

/// What a kernel becomes for calls in which one tensor's rows do not start at multiples of 16 bytes.
struct AlignmentVariant {
  std::string tensor;
  int granule = 0;                 ///< the most bytes that its rows start at multiples of
  std::vector<plait::Note> notes;  ///< what is then done otherwise
  std::string refused;             ///< why there is no such kernel; empty: there is
};

/// How a kernel is derived for calls of another alignment.
using Derive = std::function<Result<pipeline::Derived>(const place::Assumptions&)>;
/// For each tensor for which that makes another kernel, beside the one that was derived with these assumptions: at
/// multiples of 4 bytes, which cp.async can move, and of fewer.
std::vector<AlignmentVariant> alignment_variants(const ir::Kernel& kernel, const place::Assumptions& assumptions,
                                                 const pipeline::Derived& derived, const Derive& derive);
/// A table, or nothing where there are none.
std::string text(const std::vector<AlignmentVariant>& variants);

}  // namespace plait::explain
