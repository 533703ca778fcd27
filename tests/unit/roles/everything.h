#pragma once

namespace plait::test {

/// Every statement and clause once, as the printer writes it. It means nothing.
inline constexpr const char* kEverything =
    R"(roles everything(A: in bf16[M, K] strides [lda, 1], B: inout f32[8], C: out f32[M, 2 * K], s: f32 = 0.5, u: u64) device h200:
  require K % 8 == 0, "rows \"of\" 16 bytes"
  require M > 0
  rows = ceildiv(i32(M), 128)
  one = i32(1)
  launch rows, 2, i64(3)
  cluster 2
  occupancy 2
  map A_map = A box [128, 64] swizzle 128
  map B_map = B box [8]
  smem S: bf16[2, 128, 64] swizzle 128 at 4096
  smem L: f32[16, 64] pad 4
  smem W: f32[8]
  mbar full[2] count 1
  mbar spare[1] count 32

  prologue:
    elect:
      mbar_init full
      fence mbar_init
    cluster_arrive
    cluster_wait
    sync_threads

  role load replicas 2 warps 4 regs 40:
    pass

  role math warps 4:
    fragment acc: f32[64, 64] wgmma_acc
    fragment P: bf16[64, 64] wgmma_a
    fragment m: f32[64] rows of acc
    fragment x: f32[4, 256] vector vec 2 lanes 32
    fragment v: f32[512] vector vec 4 lanes 128
    fragment w: f32[256] columns of x
    fragment d: f32[16, 8] mma_acc
    fragment a: bf16[16, 16] mma_a
    fragment b: bf16[8, 16] mma_b
    var n: u32 = 0
    var f: f32 = 0.25
    five = i32(5)
    wide = i64(5)
    flag = bool(true)
    half = f16(0.5)
    r = block * 4 + block_x - block_y + block_z % blocks
    set n = n + 1
    set f = fma(f, s, -1.0)
    for k in range(r):
      pass
    for k in range(1, 9, 2) unroll 4:
      set n = u32(k)
    for k in range(i64(4)):
      set f = L[k, 0]
    for k in range(wide, i64(r)):
      pass
    for j in unrolled(2):
      for i in unrolled(1, 3):
        pass
    while n < 5:
      set n = n + 1
    if n == 1:
      sync_warp
    elif n == 2 or not flag:
      pass
    else:
      if f < 0.0:
        pass
      set f = 0.0
    elect:
      expect full[0] bytes 128 + r
      tma_load S[0, 0, 0] <- A_map[r, 64] on full[n % 2] multicast 3 hint evict_last
      tma_load S[1, 0, 0] <- A_map[r, 0] on full[1]
      tma_store B_map[0] <- W[0] hint evict_first
      bulk_load L[0, 0] <- C[r, 0] bytes 256 on full[0] hint evict_first
      bulk_store B[0] <- W[0] bytes 32
      bulk_commit
      bulk_wait read 1
      bulk_wait 0
      prefetch A_map
    warp 2:
      wait full[n % 2] parity n / 2 + 1
      arrive full[1]
      arrive full[0] at cluster_rank ^ 1
    fence proxy_async
    fence wgmma
    barrier_sync 1 + replica threads 128
    barrier_arrive 2 threads 128
    cp_async S[0, 0, 0] <- A[r, 0] rows 128 columns 64
    cp_commit
    cp_wait 1
    wgmma acc[0, 0] <- S[0, 0, 16]^T, S[1, 0, 0] clear n == 0 and flag
    wgmma acc[0, 0] <- P[0, 16], S[1, 0, 0]^T
    wgmma_commit
    wgmma_await 0
    mma d <- a, b
    ldmatrix a[0, 0] <- S[0, 0, 0]
    ldmatrix b[0, 0] <- S[0, 0, 0]^T
    stmatrix S[0, 0, 0] <- acc[0, 0] columns 64
    each i, j in acc:
      acc[i, j] = select(j < 3, exp2(acc[i, j] * m[i]), -inf)
      P[i, j] = bf16(acc[i, j])
    each i in m:
      m[i] = 0.0
    each i, j in d:
      pass
    each i, j in x:
      x[i, j] = x[i, j] * w[j]
    each j in w:
      w[j] = f32(j)
    row_reduce max m <- acc
    row_reduce sum m <- acc
    lane_reduce min m lanes 4
    load x <- C[r, 0] hint evict_first
    load v <- B[0]
    load w <- B[64] pad -inf
    load w <- B[0] pad 0.5 hint evict_first
    store C[r, lane] <- x hint evict_last
    load x <- L[0, 0]
    store L[0, 0] <- x
    put B[0] = f
    put L[0, thread] = 1.0
    old = atomic_add(B[n], 1.0)
    was = atomic_max(L[0, thread], f)
    least = atomic_min(B[n], 1.0)
    seen = broadcast(old + f)
    other = shuffle(seen + f, lane ^ 1)
    cycles = clock()
    nanoseconds = globaltimer()
    put W[0] = f32(nanoseconds - u64(cycles) + u)
)";

}  // namespace plait::test
