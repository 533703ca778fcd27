// matmul_multicast: CUDA C++ for sm_90a, printed by plait from a role program.

struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};
__device__ __forceinline__ void barrier_sync(int id, int threads) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
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
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ void fence_mbar_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
template <int N>
__device__ __forceinline__ void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N) : "memory");
}
// Registers of instructions under way: no access moves over this point.
template <int N>
__device__ __forceinline__ void keep(float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(x[i])::"memory");
}
template <int N>
__device__ __forceinline__ void keep(unsigned (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+r"(x[i])::"memory");
}
template <int N>
__device__ __forceinline__ void keep(int (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+r"(x[i])::"memory");
}
// Descriptor of a wgmma operand in shared memory: byte distances of its pieces, swizzle code; its address within the block in units of 16 bytes.
template <unsigned LEADING, unsigned STRIDE, unsigned SWIZZLE>
__device__ __forceinline__ unsigned long long matrix_desc(unsigned address) {
  return (unsigned long long)(SWIZZLE << 30 | STRIDE >> 4) << 32 | ((LEADING >> 4 << 16) + address);
}
// At the same barrier of another block of the cluster.
__device__ __forceinline__ void mbar_arrive_at(unsigned mbar, unsigned rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(mbar), "r"(rank) : "memory");
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
template <int N>
__device__ __forceinline__ void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N) : "memory");
}
// Two values rounded to bf16, the first in the low half. Volatile: stays behind the await before it.
__device__ __forceinline__ unsigned pack_bf16x2(float low, float high) {
  unsigned y;
  asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
  return y;
}
__device__ __forceinline__ void stmatrix_x4(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}
// The place of a byte in a tile whose 16-byte units are exchanged within SPAN bytes.
template <int SPAN>
__device__ __forceinline__ unsigned swizzled(unsigned byte) {
  return byte ^ ((byte >> 7 & SPAN / 16 - 1) << 4);
}
template <int N>
__device__ __forceinline__ void wgmma_await() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void tma_load_2d(unsigned to, const TensorMap& map, int c0, int c1, unsigned mbar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(to), "l"(&map), "r"(mbar), "r"(c0), "r"(c1)
      : "memory");
}
__device__ __forceinline__ void tma_load_2d_multicast(unsigned to, const TensorMap& map, int c0, int c1, unsigned mbar, unsigned short blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::
          "r"(to), "l"(&map), "r"(mbar), "r"(c0), "r"(c1), "h"(blocks)
      : "memory");
}
__device__ __forceinline__ void tma_store_2d(const TensorMap& map, int c0, int c1, unsigned from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(from), "r"(c0), "r"(c1)
      : "memory");
}
// d = a · b + (add ? d : 0)
__device__ __forceinline__ void wgmma_m64n256k16_f32_bf16(float* d, unsigned long long a, unsigned long long b, int add) {
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16\n"
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127},\n"
      "%128, %129, add, 1, 1, 0, 0;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
        "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
        "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
        "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
        "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
        "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
        "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
        "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
        "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "l"(a), "l"(b), "r"(add));
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1)
matmul_multicast(const __grid_constant__ TensorMap A_map,
    const __grid_constant__ TensorMap B_map,
    const __grid_constant__ TensorMap C_map,
    const int pairs_m,
    const int tiles_n,
    const int k_blocks,
    const int pairs) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(smem_bytes));
  const unsigned A_s = smem;
  const unsigned B_s = smem + 65536;
  const unsigned C_s = smem + 196608;
  const unsigned full = smem + 229376;
  const unsigned empty = smem + 229408;
  const int block = blockIdx.x;
  const int blocks = gridDim.x;
  const int cluster_rank = blockIdx.x % 2;
  const int block_warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  // prologue
  if (threadIdx.x == 0) {
    #pragma unroll
    for (int i = 0; i < 4; ++i) mbar_init(full + i * 8, 1);
    #pragma unroll
    for (int i = 0; i < 4; ++i) mbar_init(empty + i * 8, 4);
    fence_mbar_init();
  }
  cluster_arrive();
  cluster_wait();

  // role load
  if (block_warp < 4) {
    fewer_registers<40>();
    const int thread = threadIdx.x;
    if (thread == 0) {
      unsigned n = 0;
      #pragma unroll 1
      for (int t = block / 2; t < pairs; t += blocks / 2) {
        const int first_m = t / (8 * tiles_n) * 8;
        const int rows = min(pairs_m - first_m, 8);
        const int m = (first_m + t % (8 * tiles_n) % rows) * 256 + 128 * cluster_rank;
        const int c = t % (8 * tiles_n) / rows * 256 + 128 * cluster_rank;
        #pragma unroll 1
        for (int k = 0; k < k_blocks; ++k) {
          mbar_wait(empty + n % 4 * 8, (n / 4 + 1) & 1);
          mbar_expect(full + n % 4 * 8, 49152);
          // tma_load A_s[n % 4, 0, 0] <- A_map[m, k * 64] on full[n % 4]
          tma_load_2d(A_s + n % 4 * 16384, A_map, k * 64, m, full + n % 4 * 8);
          // tma_load B_s[n % 4, 128 * cluster_rank, 0] <- B_map[c, k * 64] on full[n % 4] multicast 3
          tma_load_2d_multicast(B_s + n % 4 * 32768 + 128 * cluster_rank * 128, B_map, k * 64, c,
              full + n % 4 * 8, 3);
          n = n + 1;
        }
      }
    }
    __syncwarp();
    cluster_arrive();
    cluster_wait();
  }
  // role math
  else {
    more_registers<232>();
    const int replica = (block_warp - 4) / 4;
    const int warp = (block_warp - 4) % 4;
    const int lane = threadIdx.x % 32;
    const int thread = (threadIdx.x - 128) % 128;
    float acc[128];
    unsigned n = 0;
    #pragma unroll 1
    for (int t = block / 2; t < pairs; t += blocks / 2) {
      const int first_m = t / (8 * tiles_n) * 8;
      const int rows = min(pairs_m - first_m, 8);
      const int m = (first_m + t % (8 * tiles_n) % rows) * 256 + 128 * cluster_rank + 64 * replica;
      const int c = t % (8 * tiles_n) / rows * 256;
      #pragma unroll
      for (int i = 0; i < 128; ++i) {
        acc[i] = 0.0f;
      }
      #pragma unroll 1
      for (int k = 0; k < k_blocks; ++k) {
        mbar_wait(full + n % 4 * 8, n / 4 & 1);
        keep(acc);
        wgmma_fence();
        #pragma unroll
        for (int kk = 0; kk < 4; ++kk) {
          // wgmma acc[0, 0] <- A_s[n % 4, 64 * replica, 16 * kk], B_s[n % 4, 0, 16 * kk]^T
          {
            const unsigned long long a_desc = matrix_desc<16, 1024, 1>((A_s & 0x3ffff) / 16 + n % 4 * 1024 + 64 * replica * 8 + 16 * kk * 2 / 16);
            const unsigned long long b_desc = matrix_desc<16, 1024, 1>((B_s & 0x3ffff) / 16 + n % 4 * 2048 + 16 * kk * 2 / 16);
            wgmma_m64n256k16_f32_bf16(acc, a_desc, b_desc, 1);
          }
        }
        wgmma_commit();
        wgmma_await<1>();
        if (k > 0) {
          if (thread == 0) {
            mbar_arrive_at(empty + (n - 1) % 4 * 8, 0);
            mbar_arrive_at(empty + (n - 1) % 4 * 8, 1);
          }
        }
        n = n + 1;
      }
      wgmma_await<0>();
      keep(acc);
      if (k_blocks > 0) {
        if (thread == 0) {
          mbar_arrive_at(empty + (n - 1) % 4 * 8, 0);
          mbar_arrive_at(empty + (n - 1) % 4 * 8, 1);
        }
      }
      #pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (thread == 0) {
          bulk_wait_read<1>();
        }
        barrier_sync(1 + replica, 128);
        // stmatrix C_s[replica, j % 2, 0, 0] <- acc[0, 64 * j] columns 64
        {
          const float* from = acc + 64 * j / 2;
          #pragma unroll
          for (int column = 0; column < 64; column += 16) {
            const unsigned to = swizzled<128>(C_s + j % 2 * 8192 + replica * 16384 + (warp * 16 + lane % 16) * 128 + (column + lane / 16 * 8) * 2);
            stmatrix_x4(to, pack_bf16x2(from[column / 2 + 0], from[column / 2 + 1]),
                pack_bf16x2(from[column / 2 + 2], from[column / 2 + 3]), pack_bf16x2(from[column / 2 + 4],
                from[column / 2 + 5]), pack_bf16x2(from[column / 2 + 6], from[column / 2 + 7]));
          }
        }
        fence_proxy_async();
        barrier_sync(1 + replica, 128);
        if (thread == 0) {
          // tma_store C_map[m, c + 64 * j] <- C_s[replica, j % 2, 0, 0]
          tma_store_2d(C_map, c + 64 * j, m, C_s + j % 2 * 8192 + replica * 16384);
          bulk_commit();
        }
      }
    }
    if (thread == 0) {
      bulk_wait<0>();
    }
    __syncwarp();
    cluster_arrive();
    cluster_wait();
  }
}
