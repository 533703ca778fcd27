#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "unit/cpu_micro/jit.h"

namespace plait::cpu::test {

/// Applies emitted functions to whole arrays. Every element travels in the low bits of a 64-bit word.
class Map {
 public:
  /// One function: takes integers of `in_bits` bits (scalar or vector) and gives integers of any width.
  using Emit = std::function<llvm::Value*(llvm::IRBuilder<>&, const VectorTarget&, llvm::Value*)>;
  /// `lanes` 0 emits scalar code.
  Map(unsigned in_bits, unsigned lanes, const std::vector<Emit>& functions, Machine machine = {});

  /// Results of every function, one after the other.
  std::vector<std::vector<std::uint64_t>> operator()(std::vector<std::uint64_t> in) const;

 private:
  unsigned lanes_;
  std::size_t functions_;
  Jit jit_;
};

}  // namespace plait::cpu::test
