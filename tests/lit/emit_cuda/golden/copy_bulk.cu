// copy_bulk: CUDA C++ for sm_90a, printed by plait from a role program.

__device__ __forceinline__ void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <int N>
__device__ __forceinline__ void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}
template <int N>
__device__ __forceinline__ void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
// L2 policies, as createpolicy.fractional makes them for the whole access.
constexpr unsigned long long cache_hint_evict_first = 0x12f0000000000000ull;
__device__ __forceinline__ void fence_mbar_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void mbar_arrive(unsigned mbar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(mbar) : "memory");
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
template <typename T>
__device__ __forceinline__ T min_of(T a, T b) {
  return a < b ? a : b;
}
__device__ __forceinline__ void bulk_load_hint(unsigned to, const void* from, unsigned bytes, unsigned mbar, unsigned long long policy) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(to),
               "l"(from), "r"(bytes), "r"(mbar), "l"(policy)
               : "memory");
}
__device__ __forceinline__ void bulk_store_hint(void* to, unsigned from, unsigned bytes, unsigned long long policy) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(to), "r"(from), "r"(bytes), "l"(policy) : "memory");
}

extern "C" __global__ void __launch_bounds__(64, 4)
copy_bulk(const float* __restrict__ X,
    float* __restrict__ Y,
    const long long N,
    const long long chunks) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(smem_bytes));
  const unsigned ring = smem;
  const unsigned full = smem + 24576;
  const unsigned empty = smem + 24624;
  const int block = blockIdx.x;
  const int blocks = gridDim.x;
  const int block_warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  // prologue
  if (threadIdx.x == 0) {
    #pragma unroll
    for (int i = 0; i < 6; ++i) mbar_init(full + i * 8, 1);
    #pragma unroll
    for (int i = 0; i < 6; ++i) mbar_init(empty + i * 8, 1);
    fence_mbar_init();
  }
  __syncthreads();

  // role load
  if (block_warp < 1) {
    const int thread = threadIdx.x;
    if (thread == 0) {
      unsigned n = 0;
      #pragma unroll 1
      for (long long t = (long long)block; t < chunks; t += (long long)blocks) {
        const int bytes = int(min_of<long long>(N - t * 1024, 1024)) * 4;
        mbar_wait(empty + n % 6 * 8, (n / 6 + 1) & 1);
        mbar_expect(full + n % 6 * 8, bytes);
        bulk_load_hint(ring + n % 6 * 4096, X + t * 1024, bytes, full + n % 6 * 8, cache_hint_evict_first);
        n = n + 1;
      }
    }
  }
  // role drain
  else {
    const int thread = threadIdx.x - 32;
    if (thread == 0) {
      unsigned n = 0;
      #pragma unroll 1
      for (long long t = (long long)block; t < chunks; t += (long long)blocks) {
        const int bytes = int(min_of<long long>(N - t * 1024, 1024)) * 4;
        mbar_wait(full + n % 6 * 8, n / 6 & 1);
        bulk_store_hint(Y + t * 1024, ring + n % 6 * 4096, bytes, cache_hint_evict_first);
        bulk_commit();
        bulk_wait_read<2>();
        if (n >= 2) {
          mbar_arrive(empty + (n - 2) % 6 * 8);
        }
        n = n + 1;
      }
      bulk_wait<0>();
    }
  }
}
