#pragma once

#include "ir/tensor.h"

namespace plait::runtime {

/// Work of one call, counted from the program with the values of its loop bounds.
struct Cost {
  double steps = 0;       ///< expression nodes and tile elements the interpreter handles
  double gemm_flops = 0;  ///< 2·M·N·K of every gemm
  bool exact = true;  ///< false where a bound or a condition reads a tensor, or only sampled iterations were counted
};
/// Time that the interpreter takes for this work, about.
double interpreter_seconds(const Cost& cost);
Cost estimate_cost(const ir::Kernel& kernel, const ir::BoundArgs& args);

/// Whether running fewer blocks leaves the others' results untouched: no atomics on tensors, no `persistent` loop, no
/// `inout` tensor.
bool blocks_are_separable(const ir::Kernel& kernel);

}  // namespace plait::runtime
