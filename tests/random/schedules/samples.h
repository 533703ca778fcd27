#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lang/elaborate.h"

namespace plait::test {

using Dims = std::map<std::string, std::int64_t>;

/// A kernel with small tiles, and a call of it whose longest loop has so many iterations.
struct Sample {
  std::string label, kernel;
  lang::Bindings bindings;
  std::function<Dims(std::int64_t trips)> dims;
  /// The parameter that trips follow from, where it is one of compile time, and its value for one trip.
  std::string length = {};
  int each = 0;
};

/// Of every kernel of kernels/ that has a pipelined loop.
std::vector<Sample> samples();
Result<ir::Kernel> load_sample(const Sample& sample, std::int64_t trips);

}  // namespace plait::test
