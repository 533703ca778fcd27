#pragma once

#include <functional>

#include "ir/tensor.h"

namespace plait::interp {

struct Options {
  /// Stops a program that runs longer than this many statements and element operations (a runaway `while`); 0 means no
  /// limit.
  std::uint64_t max_steps = 0;
  /// Receives each line of a `print` statement; null drops them.
  std::function<void(const std::string&)> print;
};

/// The serial meaning of a program: blocks in order, statements in order, `parallel` iterations in order. Finds
/// out-of-bounds accesses, reads of elements never written (on-chip, and of `out` parameters), parallel iterations that
/// touch each other's elements, division by zero, failed asserts. The first finding ends the run and is the only
/// diagnostic, with the values of the loop variables around it.
Diagnostics interpret(const ir::Kernel& kernel, const ir::BoundArgs& args, const Options& options = {});

}  // namespace plait::interp
