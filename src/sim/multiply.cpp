#include "sim/multiply.h"

#include <cmath>

namespace plait::sim {
namespace {

/// The same loops twice: with instructions for fused multiply-adds, and for machines without.
#define PLAIT_MULTIPLY(name, attribute)                                                                         \
  attribute void name(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, \
                      std::int64_t stride) {                                                                    \
    for (std::int64_t i = 0; i < m; ++i) {                                                                      \
      float* sum = c + i * stride;                                                                              \
      for (std::int64_t l = 0; l < k; ++l) {                                                                    \
        const float factor = a[i * k + l];                                                                      \
        const float* row = b + l * n;                                                                           \
        for (std::int64_t j = 0; j < n; ++j) sum[j] = std::fma(factor, row[j], sum[j]);                         \
      }                                                                                                         \
    }                                                                                                           \
  }
PLAIT_MULTIPLY(multiply_anywhere, )
#if defined(__x86_64__)
PLAIT_MULTIPLY(multiply_fma, __attribute__((target("avx2,fma"))))
#endif
#undef PLAIT_MULTIPLY

}  // namespace

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c,
              std::int64_t stride) {
#if defined(__x86_64__)
  static const bool has_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_fma) return multiply_fma(m, n, k, a, b, c, stride);
#endif
  multiply_anywhere(m, n, k, a, b, c, stride);
}

}  // namespace plait::sim
