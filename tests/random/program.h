#pragma once

#include <optional>

#include "random/call.h"

namespace plait::test {

/// A legal tile program with what one call of it needs. Its results do not depend on the order of sums, of blocks or of
/// parallel iterations: floats that are summed are small whole numbers.
struct RandomProgram {
  std::uint64_t seed = 0;
  std::string text;
  ir::Kernel kernel;
  Dims dims;
  std::map<std::string, std::vector<double>> inputs;  ///< initial elements of every tensor, row-major
  std::map<std::string, double> scalars;

  /// Fresh memory with the inputs in it.
  Call make_call() const;
};

/// The same program for the same seed on every machine.
RandomProgram make_random_program(std::uint64_t seed);
/// The text alone, before anything reads it.
std::string random_program_text(std::uint64_t seed);

}  // namespace plait::test
