// matmul_sm80: CUDA C++ for sm_90a, printed by plait from a role program.

struct bf16 {
  unsigned short bits;
};
// 16 bytes, the last 16 - `bytes` of them zero.
__device__ __forceinline__ void cp_async_16(unsigned to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void cp_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int N>
__device__ __forceinline__ void cp_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
// 0 <= x < extent, by one comparison: without sign, what is below 0 is large.
__device__ __forceinline__ bool is_inside(long long x, long long extent) {
  return static_cast<unsigned long long>(x) < static_cast<unsigned long long>(extent);
}
__device__ __forceinline__ void ldmatrix_x4(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from) : "memory");
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
__device__ __forceinline__ void mma_m16n8k16_bf16(float* d, const unsigned* a, const unsigned* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void __launch_bounds__(256, 1)
matmul_sm80(const bf16* __restrict__ A,
    const bf16* __restrict__ B,
    bf16* __restrict__ C,
    const long long M,
    const long long K,
    const long long N,
    const int tiles_m,
    const int tiles_n,
    const int k_blocks) {
  extern __shared__ __align__(1024) unsigned char smem_bytes[];
  const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(smem_bytes));
  const unsigned A_s = smem;
  const unsigned B_s = smem + 65536;
  const int block = blockIdx.x;
  const int block_warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);

  // role all
  {
    const int warp = block_warp;
    const int lane = threadIdx.x % 32;
    const int thread = threadIdx.x;
    float acc[128];
    unsigned a0[16];
    unsigned a1[16];
    unsigned b0[16];
    unsigned b1[16];
    unsigned result[64];
    const int first_m = block / (3 * tiles_n) * 3;
    const int rows = min(tiles_m - first_m, 3);
    const int m = (first_m + block % (3 * tiles_n) % rows) * 128;
    const int c = block % (3 * tiles_n) / rows * 256;
    const int warp_m = warp / 4 * 64;
    const int warp_n = warp % 4 * 64;
    #pragma unroll
    for (int i = 0; i < 128; ++i) {
      acc[i] = 0.0f;
    }
    #pragma unroll
    for (int s = 0; s < 3; ++s) {
      // cp_async A_s[s, 0, 0] <- A[m, s * 64] rows 128 columns 64
      {
        const int row = thread / 8, column = thread % 8 * 8;
        const unsigned to = swizzled<128>(A_s + s * 16384 + row * 128 + column * 2);
        const bf16* from = A + ((long long)(m + row)) * K + s * 64 + column;
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          const bool inside = m + row + i * 32 < M && s * 64 + column < K;
          cp_async_16(to + i * 4096, from + (long long)(i * 32) * K, inside ? 16 : 0);
        }
      }
      // cp_async B_s[s, 0, 0] <- B[c, s * 64] rows 256 columns 64
      {
        const int row = thread / 8, column = thread % 8 * 8;
        const unsigned to = swizzled<128>(B_s + s * 32768 + row * 128 + column * 2);
        const bf16* from = B + ((long long)(c + row)) * K + s * 64 + column;
        #pragma unroll
        for (int i = 0; i < 8; ++i) {
          const bool inside = is_inside(c + row + i * 32, N) && s * 64 + column < K;
          cp_async_16(to + i * 4096, from + (long long)(i * 32) * K, inside ? 16 : 0);
        }
      }
      cp_commit();
    }
    cp_wait<2>();
    __syncthreads();
    // ldmatrix a0[0, 0] <- A_s[0, warp_m, 0]
    #pragma unroll
    for (int k_ = 0; k_ < 1; ++k_) {
    #pragma unroll
      for (int m_ = 0; m_ < 4; ++m_) {
        unsigned* r_ = a0 + (m_ * 1 + k_) * 4;
        ldmatrix_x4(r_[0], r_[1], r_[2], r_[3],
        swizzled<128>(A_s + (warp_m + m_ * 16 + lane % 16) * 128 + (k_ * 16 + lane / 16 * 8) * 2));
      }
    }
    // ldmatrix b0[0, 0] <- B_s[0, warp_n, 0]
    #pragma unroll
    for (int k_ = 0; k_ < 1; ++k_) {
    #pragma unroll
      for (int n_ = 0; n_ < 8; n_ += 2) {
        unsigned *r_ = b0 + (n_ * 1 + k_) * 2, *s_ = r_ + 2;
        ldmatrix_x4(r_[0], r_[1], s_[0], s_[1],
        swizzled<128>(B_s + (warp_n + n_ * 8 + lane % 8 + lane / 16 * 8) * 128 + (k_ * 16 + lane / 8 % 2 * 8) * 2));
      }
    }
    #pragma unroll 1
    for (int k = 0; k < k_blocks; ++k) {
      const int slot = k % 4;
      const int ahead = k + 4 - 1;
      if (ahead < k_blocks) {
        // cp_async A_s[ahead % 4, 0, 0] <- A[m, ahead * 64] rows 128 columns 64
        {
          const int row = thread / 8, column = thread % 8 * 8;
          const unsigned to = swizzled<128>(A_s + ahead % 4 * 16384 + row * 128 + column * 2);
          const bf16* from = A + ((long long)(m + row)) * K + ahead * 64 + column;
          #pragma unroll
          for (int i = 0; i < 4; ++i) {
            const bool inside = m + row + i * 32 < M && is_inside(ahead * 64 + column, K);
            cp_async_16(to + i * 4096, from + (long long)(i * 32) * K, inside ? 16 : 0);
          }
        }
        // cp_async B_s[ahead % 4, 0, 0] <- B[c, ahead * 64] rows 256 columns 64
        {
          const int row = thread / 8, column = thread % 8 * 8;
          const unsigned to = swizzled<128>(B_s + ahead % 4 * 32768 + row * 128 + column * 2);
          const bf16* from = B + ((long long)(c + row)) * K + ahead * 64 + column;
          #pragma unroll
          for (int i = 0; i < 8; ++i) {
            const bool inside = is_inside(c + row + i * 32, N) && is_inside(ahead * 64 + column, K);
            cp_async_16(to + i * 4096, from + (long long)(i * 32) * K, inside ? 16 : 0);
          }
        }
      }
      cp_commit();
      // ldmatrix a1[0, 0] <- A_s[slot, warp_m, 16]
      #pragma unroll
      for (int k_ = 0; k_ < 1; ++k_) {
      #pragma unroll
        for (int m_ = 0; m_ < 4; ++m_) {
          unsigned* r_ = a1 + (m_ * 1 + k_) * 4;
          ldmatrix_x4(r_[0], r_[1], r_[2], r_[3],
          swizzled<128>(A_s + slot * 16384 + (warp_m + m_ * 16 + lane % 16) * 128 + (16 + k_ * 16 + lane / 16 * 8) * 2));
        }
      }
      // ldmatrix b1[0, 0] <- B_s[slot, warp_n, 16]
      #pragma unroll
      for (int k_ = 0; k_ < 1; ++k_) {
      #pragma unroll
        for (int n_ = 0; n_ < 8; n_ += 2) {
          unsigned *r_ = b1 + (n_ * 1 + k_) * 2, *s_ = r_ + 2;
          ldmatrix_x4(r_[0], r_[1], s_[0], s_[1],
          swizzled<128>(B_s + slot * 32768 + (warp_n + n_ * 8 + lane % 8 + lane / 16 * 8) * 128 + (16 + k_ * 16 + lane / 8 % 2 * 8) * 2));
        }
      }
      // mma acc <- a0, b0
      #pragma unroll
      for (int k_ = 0; k_ < 1; ++k_)
      #pragma unroll
      for (int m_ = 0; m_ < 4; ++m_)
      #pragma unroll
      for (int n_ = 0; n_ < 8; ++n_)
        mma_m16n8k16_bf16(acc + (m_ * 8 + n_) * 4, a0 + (m_ * 1 + k_) * 4, b0 + (n_ * 1 + k_) * 2);
      // ldmatrix a0[0, 0] <- A_s[slot, warp_m, 32]
      #pragma unroll
      for (int k_ = 0; k_ < 1; ++k_) {
      #pragma unroll
        for (int m_ = 0; m_ < 4; ++m_) {
          unsigned* r_ = a0 + (m_ * 1 + k_) * 4;
          ldmatrix_x4(r_[0], r_[1], r_[2], r_[3],
          swizzled<128>(A_s + slot * 16384 + (warp_m + m_ * 16 + lane % 16) * 128 + (32 + k_ * 16 + lane / 16 * 8) * 2));
        }
      }
      // ldmatrix b0[0, 0] <- B_s[slot, warp_n, 32]
      #pragma unroll
      for (int k_ = 0; k_ < 1; ++k_) {
      #pragma unroll
        for (int n_ = 0; n_ < 8; n_ += 2) {
          unsigned *r_ = b0 + (n_ * 1 + k_) * 2, *s_ = r_ + 2;
          ldmatrix_x4(r_[0], r_[1], s_[0], s_[1],
          swizzled<128>(B_s + slot * 32768 + (warp_n + n_ * 8 + lane % 8 + lane / 16 * 8) * 128 + (32 + k_ * 16 + lane / 8 % 2 * 8) * 2));
        }
      }
      // mma acc <- a1, b1
      #pragma unroll
      for (int k_ = 0; k_ < 1; ++k_)
      #pragma unroll
      for (int m_ = 0; m_ < 4; ++m_)
      #pragma unroll
      for (int n_ = 0; n_ < 8; ++n_)
        mma_m16n8k16_bf16(acc + (m_ * 8 + n_) * 4, a1 + (m_ * 1 + k_) * 4, b1 + (n_ * 1 + k_) * 2);
      // ldmatrix a1[0, 0] <- A_s[slot, warp_m, 48]
      #pragma unroll
      for (int k_ = 0; k_ < 1; ++k_) {
      #pragma unroll
        for (int m_ = 0; m_ < 4; ++m_) {
          unsigned* r_ = a1 + (m_ * 1 + k_) * 4;
          ldmatrix_x4(r_[0], r_[1], r_[2], r_[3],
          swizzled<128>(A_s + slot * 16384 + (warp_m + m_ * 16 + lane % 16) * 128 + (48 + k_ * 16 + lane / 16 * 8) * 2));
        }
      }
      // ldmatrix b1[0, 0] <- B_s[slot, warp_n, 48]
      #pragma unroll
      for (int k_ = 0; k_ < 1; ++k_) {
      #pragma unroll
        for (int n_ = 0; n_ < 8; n_ += 2) {
          unsigned *r_ = b1 + (n_ * 1 + k_) * 2, *s_ = r_ + 2;
          ldmatrix_x4(r_[0], r_[1], s_[0], s_[1],
          swizzled<128>(B_s + slot * 32768 + (warp_n + n_ * 8 + lane % 8 + lane / 16 * 8) * 128 + (48 + k_ * 16 + lane / 8 % 2 * 8) * 2));
        }
      }
      // mma acc <- a0, b0
      #pragma unroll
      for (int k_ = 0; k_ < 1; ++k_)
      #pragma unroll
      for (int m_ = 0; m_ < 4; ++m_)
      #pragma unroll
      for (int n_ = 0; n_ < 8; ++n_)
        mma_m16n8k16_bf16(acc + (m_ * 8 + n_) * 4, a0 + (m_ * 1 + k_) * 4, b0 + (n_ * 1 + k_) * 2);
      cp_wait<2>();
      __syncthreads();
      // ldmatrix a0[0, 0] <- A_s[(k + 1) % 4, warp_m, 0]
      #pragma unroll
      for (int k_ = 0; k_ < 1; ++k_) {
      #pragma unroll
        for (int m_ = 0; m_ < 4; ++m_) {
          unsigned* r_ = a0 + (m_ * 1 + k_) * 4;
          ldmatrix_x4(r_[0], r_[1], r_[2], r_[3],
          swizzled<128>(A_s + (k + 1) % 4 * 16384 + (warp_m + m_ * 16 + lane % 16) * 128 + (k_ * 16 + lane / 16 * 8) * 2));
        }
      }
      // ldmatrix b0[0, 0] <- B_s[(k + 1) % 4, warp_n, 0]
      #pragma unroll
      for (int k_ = 0; k_ < 1; ++k_) {
      #pragma unroll
        for (int n_ = 0; n_ < 8; n_ += 2) {
          unsigned *r_ = b0 + (n_ * 1 + k_) * 2, *s_ = r_ + 2;
          ldmatrix_x4(r_[0], r_[1], s_[0], s_[1],
          swizzled<128>(B_s + (k + 1) % 4 * 32768 + (warp_n + n_ * 8 + lane % 8 + lane / 16 * 8) * 128 + (k_ * 16 + lane / 8 % 2 * 8) * 2));
        }
      }
      // mma acc <- a1, b1
      #pragma unroll
      for (int k_ = 0; k_ < 1; ++k_)
      #pragma unroll
      for (int m_ = 0; m_ < 4; ++m_)
      #pragma unroll
      for (int n_ = 0; n_ < 8; ++n_)
        mma_m16n8k16_bf16(acc + (m_ * 8 + n_) * 4, a1 + (m_ * 1 + k_) * 4, b1 + (n_ * 1 + k_) * 2);
    }
    cp_wait<0>();
    #pragma unroll
    for (int i = 0; i < 128; i += 2) {
      result[i / 2] = pack_bf16x2(acc[i], acc[i + 1]);
    }
    __syncthreads();
    // store B_s[warp % 4 / 2, warp % 2 * 128 + warp_m, 0] <- result
    #pragma unroll
    for (int i = 0; i < 128; i += 2) {
      unsigned piece;
      piece = result[i / 2];
      shared_at<unsigned>(swizzled<128>(B_s + warp % 4 / 2 * 32768 + (warp % 2 * 128 + warp_m + i / 32 * 16 + lane / 4 + i / 2 % 2 * 8) * 128 + (i % 32 / 4 * 8 + lane % 4 * 2 + i % 2) * 2)) = piece;
    }
    __syncthreads();
    unsigned C_rows[16];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      // load C_rows <- B_s[j / 2, j % 2 * 128, 0]
      #pragma unroll
      for (int i = 0; i < 32; i += 8) {
        const uint4 piece = shared_at<const uint4>(swizzled<128>(B_s + j / 2 * 32768 + (j % 2 * 128 + i / 8 * 32 + thread / 8) * 128 + (thread % 8 * 8 + i % 8) * 2));
        C_rows[i / 2] = piece.x;
        C_rows[i / 2 + 1] = piece.y;
        C_rows[i / 2 + 2] = piece.z;
        C_rows[i / 2 + 3] = piece.w;
      }
      // store C[m, c + 64 * j] <- C_rows
      #pragma unroll
      for (int i = 0; i < 32; i += 8) {
        uint4 piece;
        piece.x = C_rows[i / 2];
        piece.y = C_rows[i / 2 + 1];
        piece.z = C_rows[i / 2 + 2];
        piece.w = C_rows[i / 2 + 3];
        auto* at = reinterpret_cast<uint4*>(C + ((long long)(m + i / 8 * 32 + thread / 8)) * N + c + 64 * j + thread % 8 * 8 + i % 8);
        const bool inside = m + i / 8 * 32 + thread / 8 < M && c + 64 * j + thread % 8 * 8 + i % 8 < N;
        if (inside) *at = piece;
      }
    }
  }
}
