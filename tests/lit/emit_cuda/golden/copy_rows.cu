// copy_rows: CUDA C++ for sm_90a, printed by plait from a role program.


extern "C" __global__ void __launch_bounds__(256, 4)
copy_rows(const float* __restrict__ X,
    float* __restrict__ Y,
    const long long M,
    const long long N,
    const int tiles_n) {
  const int block = blockIdx.x;
  const int block_warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  // role all
  {
    const int lane = threadIdx.x % 32;
    const int thread = threadIdx.x;
    float x[32];
    // load x <- X[block / tiles_n * 8, block % tiles_n * 1024] hint evict_first
    #pragma unroll
    for (int i = 0; i < 32; i += 4) {
      float4 piece = {};
      const auto* at = reinterpret_cast<const float4*>(X + ((long long)(block / tiles_n * 8 + i / 32 * 8 + thread / 32)) * N + block % tiles_n * 1024 + i / 4 * 128 + thread % 32 * 4 + i % 4);
      const bool inside = block / tiles_n * 8 + i / 32 * 8 + thread / 32 < M && block % tiles_n * 1024 + i / 4 * 128 + thread % 32 * 4 + i % 4 < N;
      if (inside) piece = __ldcs(at);
      x[i] = piece.x;
      x[i + 1] = piece.y;
      x[i + 2] = piece.z;
      x[i + 3] = piece.w;
    }
    // store Y[block / tiles_n * 8, block % tiles_n * 1024] <- x hint evict_first
    #pragma unroll
    for (int i = 0; i < 32; i += 4) {
      float4 piece;
      piece.x = x[i];
      piece.y = x[i + 1];
      piece.z = x[i + 2];
      piece.w = x[i + 3];
      auto* at = reinterpret_cast<float4*>(Y + ((long long)(block / tiles_n * 8 + i / 32 * 8 + thread / 32)) * N + block % tiles_n * 1024 + i / 4 * 128 + thread % 32 * 4 + i % 4);
      const bool inside = block / tiles_n * 8 + i / 32 * 8 + thread / 32 < M && block % tiles_n * 1024 + i / 4 * 128 + thread % 32 * 4 + i % 4 < N;
      if (inside) __stcs(at, piece);
    }
  }
}
