// attention_fwd: CUDA C++ for sm_90a, printed by plait from a role program.

struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};
__device__ __forceinline__ void barrier_arrive(int id, int threads) {
  asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
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
__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
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
__device__ __forceinline__ float max_nan(float a, float b) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
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
__device__ __forceinline__ void tma_load_4d(unsigned to, const TensorMap& map, int c0, int c1, int c2, int c3, unsigned mbar) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::
          "r"(to), "l"(&map), "r"(mbar), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}
__device__ __forceinline__ void tma_store_4d(const TensorMap& map, int c0, int c1, int c2, int c3, unsigned from) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map), "r"(from), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}
// d = a · b + (add ? d : 0)
__device__ __forceinline__ void wgmma_m64n128k16_f32_bf16(float* d, unsigned long long a, unsigned long long b, int add) {
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16\n"
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63},\n"
      "%64, %65, add, 1, 1, 0, 0;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(a), "l"(b), "r"(add));
}
// d = a · b + (add ? d : 0)
__device__ __forceinline__ void wgmma_m64n128k16_f32_bf16_ra_tb(float* d, const unsigned* a, unsigned long long b, int add) {
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16\n"
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63},\n"
      "{%64, %65, %66, %67}, %68, add, 1, 1, 1;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

extern "C" __global__ void __launch_bounds__(384, 1)
attention_fwd(const __grid_constant__ TensorMap Q_map,
    const __grid_constant__ TensorMap K_map,
    const __grid_constant__ TensorMap V_map,
    const __grid_constant__ TensorMap O_map,
    const float scale_log2,
    const int q_tiles,
    const int item_rows,
    const int items,
    const int seq,
    const int heads) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(smem_bytes));
  const unsigned Q_s = smem;
  const unsigned K_s = smem + 32768;
  const unsigned V_s = smem + 98304;
  const unsigned O_s = smem + 163840;
  const unsigned q_full = smem + 196608;
  const unsigned q_empty = smem + 196624;
  const unsigned k_full = smem + 196640;
  const unsigned k_empty = smem + 196656;
  const unsigned v_full = smem + 196672;
  const unsigned v_empty = smem + 196688;
  const int block = blockIdx.x;
  const int blocks = gridDim.x;
  const int block_warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  // prologue
  if (threadIdx.x == 0) {
    #pragma unroll
    for (int i = 0; i < 2; ++i) mbar_init(q_full + i * 8, 1);
    #pragma unroll
    for (int i = 0; i < 2; ++i) mbar_init(q_empty + i * 8, 1);
    #pragma unroll
    for (int i = 0; i < 2; ++i) mbar_init(k_full + i * 8, 1);
    #pragma unroll
    for (int i = 0; i < 2; ++i) mbar_init(k_empty + i * 8, 2);
    #pragma unroll
    for (int i = 0; i < 2; ++i) mbar_init(v_full + i * 8, 1);
    #pragma unroll
    for (int i = 0; i < 2; ++i) mbar_init(v_empty + i * 8, 2);
    fence_mbar_init();
  }
  __syncthreads();

  // role load
  if (block_warp < 4) {
    fewer_registers<24>();
    const int thread = threadIdx.x;
    if (thread == 0) {
      unsigned n = 0;
      unsigned it = 0;
      #pragma unroll 1
      for (int t = block; t < items; t += blocks) {
        const int head = t / (1 * item_rows) * 1 + t % 1;
        const int place = t % (1 * item_rows) / 1;
        const int b = head / heads;
        const int h = head % heads;
        #pragma unroll 1
        for (int half_ = 0; half_ < (2 * place + 1 < q_tiles ? 2 : 1); ++half_) {
          const int q_tile = half_ == 0 ? q_tiles - 1 - place : place;
          const int last = q_tile + 1;
          #pragma unroll
          for (int i_ = 0; i_ < 2; ++i_) {
            mbar_wait(q_empty + i_ * 8, (it + 1) & 1);
            mbar_expect(q_full + i_ * 8, 16384);
            #pragma unroll
            for (int p = 0; p < 2; ++p) {
              // tma_load Q_s[i, 0, 64 * p] <- Q_map[b, h, q_tile * 128 + 64 * i, 64 * p] on q_full[i]
              tma_load_4d(Q_s + i_ * 16384 + 64 * p / 64 * 8192 + 64 * p % 64 * 2, Q_map, 64 * p,
                  q_tile * 128 + 64 * i_, h, b, q_full + i_ * 8);
            }
          }
          #pragma unroll 1
          for (int j = 0; j < last; ++j) {
            const int row_ = (last - 1 - j) * 128;
            mbar_wait(k_empty + n % 2 * 8, (n / 2 + 1) & 1);
            mbar_expect(k_full + n % 2 * 8, 32768);
            #pragma unroll
            for (int p = 0; p < 2; ++p) {
              // tma_load K_s[n % 2, 0, 64 * p] <- K_map[b, h, row, 64 * p] on k_full[n % 2]
              tma_load_4d(K_s + n % 2 * 32768 + 64 * p / 64 * 16384 + 64 * p % 64 * 2, K_map, 64 * p, row_, h, b,
                  k_full + n % 2 * 8);
            }
            mbar_wait(v_empty + n % 2 * 8, (n / 2 + 1) & 1);
            mbar_expect(v_full + n % 2 * 8, 32768);
            #pragma unroll
            for (int p = 0; p < 2; ++p) {
              // tma_load V_s[n % 2, 0, 64 * p] <- V_map[b, h, row, 64 * p] on v_full[n % 2]
              tma_load_4d(V_s + n % 2 * 32768 + 64 * p / 64 * 16384 + 64 * p % 64 * 2, V_map, 64 * p, row_, h, b,
                  v_full + n % 2 * 8);
            }
            n = n + 1;
          }
          it = it + 1;
        }
      }
    }
  }
  // role math
  else {
    more_registers<240>();
    const int replica = (block_warp - 4) / 4;
    const int warp = (block_warp - 4) % 4;
    const int lane = threadIdx.x % 32;
    const int thread = (threadIdx.x - 128) % 128;
    float S_l[64];
    unsigned P[32];
    float acc[64];
    float m[2];
    float offset[2];
    float l[2];
    float alpha[2];
    unsigned n = 0;
    unsigned it = 0;
    #pragma unroll 1
    for (int t = block; t < items; t += blocks) {
      const int head = t / (1 * item_rows) * 1 + t % 1;
      const int place = t % (1 * item_rows) / 1;
      const int b = head / heads;
      const int h = head % heads;
      #pragma unroll 1
      for (int half_ = 0; half_ < (2 * place + 1 < q_tiles ? 2 : 1); ++half_) {
        const int q_tile = half_ == 0 ? q_tiles - 1 - place : place;
        const int last = q_tile + 1;
        const int row0 = q_tile * 128 + 64 * replica;
        mbar_wait(q_full + replica * 8, it & 1);
        mbar_wait(k_full + n % 2 * 8, n / 2 & 1);
        keep(S_l);
        wgmma_fence();
        #pragma unroll
        for (int kk = 0; kk < 8; ++kk) {
          // wgmma S_l[0, 0] <- Q_s[replica, 0, 16 * kk], K_s[n % 2, 0, 16 * kk]^T clear kk == 0
          {
            const unsigned long long a_desc = matrix_desc<16, 1024, 1>((Q_s & 0x3ffff) / 16 + replica * 1024 + 16 * kk / 64 * 512 + 16 * kk % 64 * 2 / 16);
            const unsigned long long b_desc = matrix_desc<16, 1024, 1>((K_s & 0x3ffff) / 16 + n % 2 * 2048 + 16 * kk / 64 * 1024 + 16 * kk % 64 * 2 / 16);
            wgmma_m64n128k16_f32_bf16(S_l, a_desc, b_desc, !(kk == 0));
          }
        }
        wgmma_commit();
        wgmma_await<0>();
        keep(S_l);
        if (thread == 0) {
          mbar_arrive(k_empty + n % 2 * 8);
        }
        #pragma unroll
        for (int i = 0; i < 64; ++i) {
          S_l[i] = (last - 1) * 128 + (i / 4 * 8 + lane % 4 * 2 + i % 2) < seq && (last - 1) * 128 + (i / 4 * 8 + lane % 4 * 2 + i % 2) <= row0 + (warp * 16 + lane / 4 + i / 2 % 2 * 8) ? S_l[i] : -3e+38f;
        }
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
          m[i] = -3e+38f;
          l[i] = 0.0f;
        }
        // row_reduce max m <- S_l
        #pragma unroll
        for (int i = 0; i < 64; ++i) m[i / 2 % 2] = max_nan(m[i / 2 % 2], S_l[i]);
        // lane_reduce max m lanes 4
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
          m[i] = max_nan(m[i], __shfl_xor_sync(0xffffffff, m[i], 1));
          m[i] = max_nan(m[i], __shfl_xor_sync(0xffffffff, m[i], 2));
        }
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
          offset[i] = -m[i] * scale_log2;
        }
        #pragma unroll
        for (int i = 0; i < 64; ++i) {
          S_l[i] = exp2_approx(fmaf(S_l[i], scale_log2, offset[i / 2 % 2]));
        }
        // row_reduce sum l <- S_l
        #pragma unroll
        for (int i = 0; i < 64; ++i) l[i / 2 % 2] = l[i / 2 % 2] + S_l[i];
        #pragma unroll
        for (int i = 0; i < 64; i += 2) {
          P[i / 2] = pack_bf16x2(S_l[i], S_l[i + 1]);
        }
        if (last > 1 && replica == 1) {
          barrier_arrive(1, 256);
        }
        #pragma unroll 1
        for (int j = 1; j < last; ++j) {
          n = n + 1;
          mbar_wait(k_full + n % 2 * 8, n / 2 & 1);
          barrier_sync(1 + replica, 256);
          keep(S_l);
          wgmma_fence();
          #pragma unroll
          for (int kk = 0; kk < 8; ++kk) {
            // wgmma S_l[0, 0] <- Q_s[replica, 0, 16 * kk], K_s[n % 2, 0, 16 * kk]^T clear kk == 0
            {
              const unsigned long long a_desc = matrix_desc<16, 1024, 1>((Q_s & 0x3ffff) / 16 + replica * 1024 + 16 * kk / 64 * 512 + 16 * kk % 64 * 2 / 16);
              const unsigned long long b_desc = matrix_desc<16, 1024, 1>((K_s & 0x3ffff) / 16 + n % 2 * 2048 + 16 * kk / 64 * 1024 + 16 * kk % 64 * 2 / 16);
              wgmma_m64n128k16_f32_bf16(S_l, a_desc, b_desc, !(kk == 0));
            }
          }
          wgmma_commit();
          mbar_wait(v_full + (n - 1) % 2 * 8, (n - 1) / 2 & 1);
          keep(acc);
          keep(P);
          wgmma_fence();
          #pragma unroll
          for (int kk = 0; kk < 8; ++kk) {
            // wgmma acc[0, 0] <- P[0, 16 * kk], V_s[(n - 1) % 2, 16 * kk, 0] clear j == 1 and kk == 0
            {
              const unsigned long long b_desc = matrix_desc<16384, 1024, 1>((V_s & 0x3ffff) / 16 + (n - 1) % 2 * 2048 + 16 * kk * 8);
              wgmma_m64n128k16_f32_bf16_ra_tb(acc, P + 16 * kk / 4, b_desc, !(j == 1 && kk == 0));
            }
          }
          wgmma_commit();
          if (replica == 0 || j + 1 < last) {
            barrier_arrive(2 - replica, 256);
          }
          wgmma_await<1>();
          keep(S_l);
          if (thread == 0) {
            mbar_arrive(k_empty + n % 2 * 8);
          }
          #pragma unroll
          for (int i = 0; i < 2; ++i) {
            alpha[i] = m[i];
          }
          // row_reduce max m <- S_l
          #pragma unroll
          for (int i = 0; i < 64; ++i) m[i / 2 % 2] = max_nan(m[i / 2 % 2], S_l[i]);
          // lane_reduce max m lanes 4
          #pragma unroll
          for (int i = 0; i < 2; ++i) {
            m[i] = max_nan(m[i], __shfl_xor_sync(0xffffffff, m[i], 1));
            m[i] = max_nan(m[i], __shfl_xor_sync(0xffffffff, m[i], 2));
          }
          #pragma unroll
          for (int i = 0; i < 2; ++i) {
            offset[i] = -m[i] * scale_log2;
            alpha[i] = exp2_approx(fmaf(alpha[i], scale_log2, offset[i]));
            l[i] = l[i] * alpha[i];
          }
          #pragma unroll
          for (int i = 0; i < 64; ++i) {
            S_l[i] = exp2_approx(fmaf(S_l[i], scale_log2, offset[i / 2 % 2]));
          }
          // row_reduce sum l <- S_l
          #pragma unroll
          for (int i = 0; i < 64; ++i) l[i / 2 % 2] = l[i / 2 % 2] + S_l[i];
          wgmma_await<0>();
          keep(acc);
          keep(P);
          if (thread == 0) {
            mbar_arrive(v_empty + (n - 1) % 2 * 8);
          }
          #pragma unroll
          for (int i = 0; i < 64; i += 2) {
            P[i / 2] = pack_bf16x2(S_l[i], S_l[i + 1]);
          }
          #pragma unroll
          for (int i = 0; i < 64; ++i) {
            acc[i] = acc[i] * alpha[i / 2 % 2];
          }
        }
        if (thread == 0) {
          mbar_arrive(q_empty + replica * 8);
        }
        mbar_wait(v_full + n % 2 * 8, n / 2 & 1);
        keep(acc);
        keep(P);
        wgmma_fence();
        #pragma unroll
        for (int kk = 0; kk < 8; ++kk) {
          // wgmma acc[0, 0] <- P[0, 16 * kk], V_s[n % 2, 16 * kk, 0] clear last == 1 and kk == 0
          {
            const unsigned long long b_desc = matrix_desc<16384, 1024, 1>((V_s & 0x3ffff) / 16 + n % 2 * 2048 + 16 * kk * 8);
            wgmma_m64n128k16_f32_bf16_ra_tb(acc, P + 16 * kk / 4, b_desc, !(last == 1 && kk == 0));
          }
        }
        wgmma_commit();
        // lane_reduce sum l lanes 4
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
          l[i] = l[i] + __shfl_xor_sync(0xffffffff, l[i], 1);
          l[i] = l[i] + __shfl_xor_sync(0xffffffff, l[i], 2);
        }
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
          l[i] = 1.0f / l[i];
        }
        wgmma_await<0>();
        keep(acc);
        keep(P);
        if (thread == 0) {
          mbar_arrive(v_empty + n % 2 * 8);
        }
        n = n + 1;
        it = it + 1;
        #pragma unroll
        for (int i = 0; i < 64; ++i) {
          acc[i] = acc[i] * l[i / 2 % 2];
        }
        if (thread == 0) {
          bulk_wait_read<0>();
        }
        barrier_sync(3 + replica, 128);
        // stmatrix O_s[replica, 0, 0] <- acc[0, 0] columns 128
        {
          const float* from = acc;
          #pragma unroll
          for (int column = 0; column < 128; column += 16) {
            const unsigned to = swizzled<128>(O_s + replica * 16384 + (warp * 16 + lane % 16) * 128 + (column + lane / 16 * 8) / 64 * 8192 + (column + lane / 16 * 8) % 64 * 2);
            stmatrix_x4(to, pack_bf16x2(from[column / 2 + 0], from[column / 2 + 1]),
                pack_bf16x2(from[column / 2 + 2], from[column / 2 + 3]), pack_bf16x2(from[column / 2 + 4],
                from[column / 2 + 5]), pack_bf16x2(from[column / 2 + 6], from[column / 2 + 7]));
          }
        }
        fence_proxy_async();
        barrier_sync(3 + replica, 128);
        if (thread == 0) {
          #pragma unroll
          for (int p = 0; p < 2; ++p) {
            // tma_store O_map[b, h, row0, 64 * p] <- O_s[replica, 0, 64 * p]
            tma_store_4d(O_map, 64 * p, row0, h, b,
                O_s + replica * 16384 + 64 * p / 64 * 8192 + 64 * p % 64 * 2);
          }
          bulk_commit();
        }
      }
    }
    if (thread == 0) {
      bulk_wait<0>();
    }
  }
}
