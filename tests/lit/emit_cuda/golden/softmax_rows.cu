// softmax_rows: CUDA C++ for sm_90a, printed by plait from a role program.

__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float max_nan(float a, float b) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}

extern "C" __global__ void __launch_bounds__(128, 4)
softmax_rows(const float* __restrict__ X,
    float* __restrict__ Y,
    const long long M,
    const long long N) {
  const int block = blockIdx.x;
  const int block_warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  // role all
  {
    const int lane = threadIdx.x % 32;
    const int thread = threadIdx.x;
    float x[32];
    float m[1];
    float l[1];
    // load x <- X[block * 4, 0] hint evict_first
    #pragma unroll
    for (int i = 0; i < 32; i += 4) {
      float4 piece = {};
      const auto* at = reinterpret_cast<const float4*>(X + ((long long)(block * 4 + i / 32 * 4 + thread / 32)) * N + i / 4 * 128 + thread % 32 * 4 + i % 4);
      const bool inside = block * 4 + i / 32 * 4 + thread / 32 < M && i / 4 * 128 + thread % 32 * 4 + i % 4 < N;
      if (inside) piece = __ldcs(at);
      x[i] = piece.x;
      x[i + 1] = piece.y;
      x[i + 2] = piece.z;
      x[i + 3] = piece.w;
    }
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      x[i] = (i / 4 * 128 + thread % 32 * 4 + i % 4) < int(N) ? x[i] : -3e+38f;
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
      m[i] = -3e+38f;
      l[i] = 0.0f;
    }
    // row_reduce max m <- x
    #pragma unroll
    for (int i = 0; i < 32; ++i) m[0] = max_nan(m[0], x[i]);
    // lane_reduce max m lanes 32
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
      m[i] = max_nan(m[i], __shfl_xor_sync(0xffffffff, m[i], 1));
      m[i] = max_nan(m[i], __shfl_xor_sync(0xffffffff, m[i], 2));
      m[i] = max_nan(m[i], __shfl_xor_sync(0xffffffff, m[i], 4));
      m[i] = max_nan(m[i], __shfl_xor_sync(0xffffffff, m[i], 8));
      m[i] = max_nan(m[i], __shfl_xor_sync(0xffffffff, m[i], 16));
    }
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      x[i] = exp2_approx((x[i] - m[0]) * 1.442695f);
    }
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      x[i] = (i / 4 * 128 + thread % 32 * 4 + i % 4) < int(N) ? x[i] : 0.0f;
    }
    // row_reduce sum l <- x
    #pragma unroll
    for (int i = 0; i < 32; ++i) l[0] = l[0] + x[i];
    // lane_reduce sum l lanes 32
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
      l[i] = l[i] + __shfl_xor_sync(0xffffffff, l[i], 1);
      l[i] = l[i] + __shfl_xor_sync(0xffffffff, l[i], 2);
      l[i] = l[i] + __shfl_xor_sync(0xffffffff, l[i], 4);
      l[i] = l[i] + __shfl_xor_sync(0xffffffff, l[i], 8);
      l[i] = l[i] + __shfl_xor_sync(0xffffffff, l[i], 16);
    }
    #pragma unroll
    for (int i = 0; i < 1; ++i) {
      l[i] = 1.0f / l[i];
    }
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      x[i] = x[i] * l[0];
    }
    // store Y[block * 4, 0] <- x hint evict_first
    #pragma unroll
    for (int i = 0; i < 32; i += 4) {
      float4 piece;
      piece.x = x[i];
      piece.y = x[i + 1];
      piece.z = x[i + 2];
      piece.w = x[i + 3];
      auto* at = reinterpret_cast<float4*>(Y + ((long long)(block * 4 + i / 32 * 4 + thread / 32)) * N + i / 4 * 128 + thread % 32 * 4 + i % 4);
      const bool inside = block * 4 + i / 32 * 4 + thread / 32 < M && i / 4 * 128 + thread % 32 * 4 + i % 4 < N;
      if (inside) __stcs(at, piece);
    }
  }
}
