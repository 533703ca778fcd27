#pragma once

#include <functional>

#include "ir/tensor.h"

namespace plait::interp {

struct Options {
  /// Stops a program that runs longer than this (a runaway `while`); 0 means no limit. A step is an operation of an
  /// expression or a statement, or an element of a tile operation (of a gemm: a multiply-add).
  std::uint64_t max_steps = 0;
  /// Stops a program that runs longer than this; 0 means no limit.
  double max_seconds = 0;
  /// Also finds elements of `out` tensors that no block has written.
  bool whole_outputs = false;
  /// Receives each line of a `print` statement; null drops them.
  std::function<void(const std::string&)> print;
};

/// The serial meaning of a verified program: blocks in order, statements in order, iterations of `parallel` in order.
/// Writes the `out` and `inout` tensors. Finds accesses out of bounds, reads of elements never written (on chip, and of
/// `out` parameters), iterations of a parallel loop or blocks of the grid that touch each other's elements, divisions
/// by zero, failed asserts, loops that do not step forward. The first finding ends the run and is the only diagnostic,
/// with the values of the grid and loop variables around it. Sums (reduce_sum, reduce_abssum, cumsum) are taken in
/// ascending order in the destination's type, in f32 where that is a narrower float.
Diagnostics interpret(const ir::Kernel& kernel, const ir::BoundArgs& args, const Options& options = {});

}  // namespace plait::interp
