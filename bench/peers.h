#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace plait::bench {

/// Row-major f32 C = A·B of square matrices by another library.
struct MatmulPeer {
  std::string name;
  void (*run)(std::int64_t n, const float* a, const float* b, float* c, int threads);
};

/// The libraries this program was built with.
const std::vector<MatmulPeer>& matmul_peers();
/// Their versions and the kernels they chose.
nlohmann::json describe_peers();

}  // namespace plait::bench
