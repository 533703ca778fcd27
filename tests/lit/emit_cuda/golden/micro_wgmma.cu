// micro_wgmma: CUDA C++ for sm_90a, printed by plait from a role program.

__device__ __forceinline__ unsigned cycles() {
  unsigned now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
  return now;
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
// Two values rounded to bf16, the first in the low half. Volatile: stays behind the await before it.
__device__ __forceinline__ unsigned pack_bf16x2(float low, float high) {
  unsigned y;
  asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
  return y;
}
template <typename T>
__device__ __forceinline__ T& shared_at(unsigned address) {
  return *reinterpret_cast<T*>(__cvta_shared_to_generic(address));
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

extern "C" __global__ void __launch_bounds__(128, 1)
micro_wgmma(unsigned* __restrict__ T,
    float* __restrict__ Y,
    const long long N) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(smem_bytes));
  const unsigned A_s = smem;
  const unsigned B_s = smem + 8192;
  const int block_warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  // role math
  {
    fewer_registers<240>();
    const int warp = block_warp;
    const int lane = threadIdx.x % 32;
    const int thread = threadIdx.x;
    float acc[128];
    unsigned a[16];
    unsigned za[16];
    #pragma unroll
    for (int i = 0; i < 32; i += 2) {
      za[i / 2] = pack_bf16x2(0.0f, 0.0f);
    }
    // store A_s[0, 0] <- za
    #pragma unroll
    for (int i = 0; i < 32; i += 8) {
      uint4 piece;
      piece.x = za[i / 2];
      piece.y = za[i / 2 + 1];
      piece.z = za[i / 2 + 2];
      piece.w = za[i / 2 + 3];
      shared_at<uint4>(swizzled<128>(A_s + (i / 8 * 16 + thread / 8) * 128 + (thread % 8 * 8 + i % 8) * 2)) = piece;
    }
    #pragma unroll
    for (int i_ = 0; i_ < 4; ++i_) {
      // store B_s[min(64 * i, 192), 0] <- za
      #pragma unroll
      for (int i = 0; i < 32; i += 8) {
        uint4 piece;
        piece.x = za[i / 2];
        piece.y = za[i / 2 + 1];
        piece.z = za[i / 2 + 2];
        piece.w = za[i / 2 + 3];
        shared_at<uint4>(swizzled<128>(B_s + (min(64 * i_,
            192) + i / 8 * 16 + thread / 8) * 128 + (thread % 8 * 8 + i % 8) * 2)) = piece;
      }
    }
    #pragma unroll
    for (int i = 0; i < 32; i += 2) {
      a[i / 2] = pack_bf16x2(0.0f, 0.0f);
    }
    #pragma unroll
    for (int i = 0; i < 128; ++i) {
      acc[i] = 0.0f;
    }
    fence_proxy_async();
    __syncthreads();
    const unsigned t0 = cycles();
    #pragma unroll 1
    for (int i_ = 0; i_ < 64; ++i_) {
      keep(acc);
      wgmma_fence();
      // wgmma acc[0, 0] <- A_s[0, 0], B_s[0, 0]^T
      {
        const unsigned long long a_desc = matrix_desc<16, 1024, 1>((A_s & 0x3ffff) / 16);
        const unsigned long long b_desc = matrix_desc<16, 1024, 1>((B_s & 0x3ffff) / 16);
        wgmma_m64n256k16_f32_bf16(acc, a_desc, b_desc, 1);
      }
      wgmma_commit();
      wgmma_await<0>();
      keep(acc);
    }
    const unsigned t1 = cycles();
    #pragma unroll 1
    for (int i_ = 0; i_ < 16; ++i_) {
      keep(acc);
      wgmma_fence();
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        // wgmma acc[0, 0] <- A_s[0, 16 * k], B_s[0, 16 * k]^T
        {
          const unsigned long long a_desc = matrix_desc<16, 1024, 1>((A_s & 0x3ffff) / 16 + 16 * k * 2 / 16);
          const unsigned long long b_desc = matrix_desc<16, 1024, 1>((B_s & 0x3ffff) / 16 + 16 * k * 2 / 16);
          wgmma_m64n256k16_f32_bf16(acc, a_desc, b_desc, 1);
        }
      }
      wgmma_commit();
      wgmma_await<1>();
    }
    wgmma_await<0>();
    keep(acc);
    const unsigned t2 = cycles();
    // store Y[0, 0] <- acc
    #pragma unroll
    for (int i = 0; i < 128; i += 2) {
      float2 piece;
      piece.x = acc[i];
      piece.y = acc[i + 1];
      auto* at = reinterpret_cast<float2*>(Y + ((long long)(warp * 16 + lane / 4 + i / 2 % 2 * 8)) * N + i / 4 * 8 + lane % 4 * 2 + i % 2);
      const bool inside = warp * 16 + lane / 4 + i / 2 % 2 * 8 < 64 && i / 4 * 8 + lane % 4 * 2 + i % 2 < N;
      if (inside) *at = piece;
    }
    if (thread == 0) {
      T[0] = t1 - t0;
      T[1] = t2 - t1;
    }
  }
}
