#pragma once

#include <cstdint>

namespace plait::sim {

/// c[i, j] = fma(a[i, k], b[k, j], c[i, j]), k ascending, in f32: a is m x k, b k x n, both dense; rows of c are
/// `stride` apart.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c,
              std::int64_t stride);

}  // namespace plait::sim
