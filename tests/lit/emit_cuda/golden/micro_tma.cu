// micro_tma: CUDA C++ for sm_90a, printed by plait from a role program.

struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};
__device__ __forceinline__ unsigned cycles() {
  unsigned now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
  return now;
}
__device__ __forceinline__ void fence_mbar_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void mbar_expect(unsigned mbar, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(mbar), "r"(bytes) : "memory");
}
__device__ __forceinline__ void mbar_init(unsigned mbar, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(mbar), "r"(count) : "memory");
}
// Until the phase of this parity is complete.
__device__ __forceinline__ void mbar_wait(unsigned mbar, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(mbar), "r"(parity) : "memory");
}
__device__ __forceinline__ void tma_load_2d(unsigned to, const TensorMap& map, int c0, int c1, unsigned mbar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(to), "l"(&map), "r"(mbar), "r"(c0), "r"(c1)
      : "memory");
}

extern "C" __global__ void __launch_bounds__(32, 1)
micro_tma(const __grid_constant__ TensorMap X_map,
    unsigned* __restrict__ T,
    const long long blocks_) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(smem_bytes));
  const unsigned S = smem;
  const unsigned one = smem + 32768;
  const unsigned full = smem + 32776;
  const int block = blockIdx.x;
  const int block_warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  // prologue
  if (threadIdx.x == 0) {
    mbar_init(one, 1);
    #pragma unroll
    for (int i = 0; i < 4; ++i) mbar_init(full + i * 8, 1);
    fence_mbar_init();
  }
  __syncthreads();

  // role load
  {
    const int thread = threadIdx.x;
    if (thread == 0) {
      const int first = block * 64 * 32;
      mbar_expect(one, 8192);
      // tma_load S[0, 0, 0] <- X_map[first, 0] on one[0]
      tma_load_2d(S, X_map, 0, first, one);
      mbar_wait(one, 0 & 1);
      const unsigned t0 = cycles();
      #pragma unroll 1
      for (int i_ = 0; i_ < 32; ++i_) {
        mbar_expect(one, 8192);
        // tma_load S[0, 0, 0] <- X_map[first + i * 64, 0] on one[0]
        tma_load_2d(S, X_map, 0, first + i_ * 64, one);
        mbar_wait(one, (i_ + 1) & 1);
      }
      const unsigned t1 = cycles();
      #pragma unroll 1
      for (int i_ = 0; i_ < 36; ++i_) {
        if (i_ >= 4) {
          mbar_wait(full + i_ % 4 * 8, (i_ / 4 + 1) & 1);
        }
        if (i_ < 32) {
          mbar_expect(full + i_ % 4 * 8, 8192);
          // tma_load S[i % 4, 0, 0] <- X_map[first + i * 64, 0] on full[i % 4]
          tma_load_2d(S + i_ % 4 * 8192, X_map, 0, first + i_ * 64, full + i_ % 4 * 8);
        }
      }
      const unsigned t2 = cycles();
      T[block] = t1 - t0;
      T[(long long)1 * blocks_ + block] = t2 - t1;
    }
  }
}
