// micro_barriers: CUDA C++ for sm_90a, printed by plait from a role program.

__device__ __forceinline__ void barrier_sync(int id, int threads) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ unsigned cycles() {
  unsigned now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
  return now;
}
__device__ __forceinline__ void fence_mbar_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void mbar_arrive(unsigned mbar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(mbar) : "memory");
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

extern "C" __global__ void __launch_bounds__(256, 1)
micro_barriers(unsigned* __restrict__ T) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(smem_bytes));
  const unsigned ping = smem;
  const unsigned pong = smem + 8;
  const int block_warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  // prologue
  if (threadIdx.x == 0) {
    mbar_init(ping, 1);
    mbar_init(pong, 1);
    fence_mbar_init();
  }
  __syncthreads();

  // role first
  if (block_warp < 4) {
    const int thread = threadIdx.x;
    const unsigned t0 = cycles();
    if (thread == 0) {
      #pragma unroll 1
      for (int i_ = 0; i_ < 64; ++i_) {
        mbar_arrive(ping);
        mbar_wait(pong, i_ & 1);
      }
    }
    __syncwarp();
    const unsigned t1 = cycles();
    barrier_sync(1, 128);
    const unsigned t2 = cycles();
    #pragma unroll 1
    for (int i_ = 0; i_ < 64; ++i_) {
      barrier_sync(1, 128);
    }
    const unsigned t3 = cycles();
    #pragma unroll 1
    for (int i_ = 0; i_ < 64; ++i_) {
      barrier_sync(2, 256);
    }
    const unsigned t4 = cycles();
    #pragma unroll 1
    for (int i_ = 0; i_ < 64; ++i_) {
      fence_proxy_async();
    }
    const unsigned t5 = cycles();
    if (thread == 0) {
      T[0] = t1 - t0;
      T[1] = t3 - t2;
      T[2] = t4 - t3;
      T[3] = t5 - t4;
    }
  }
  // role second
  else {
    const int thread = threadIdx.x - 128;
    if (thread == 0) {
      #pragma unroll 1
      for (int i_ = 0; i_ < 64; ++i_) {
        mbar_wait(ping, i_ & 1);
        mbar_arrive(pong);
      }
    }
    __syncwarp();
    #pragma unroll 1
    for (int i_ = 0; i_ < 64; ++i_) {
      barrier_sync(2, 256);
    }
  }
}
