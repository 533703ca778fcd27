#pragma once

namespace plait::test {

/// A cooperative matrix product, small enough to be changed line by line.
inline constexpr const char* kMatmul =
    R"(roles matmul(A: in bf16[M, K], B: in bf16[N, K], C: out bf16[M, N]; stages = 4) device h200:
  require K % 8 == 0 and N % 8 == 0, "TMA needs rows of a multiple of 16 bytes"
  tiles_m = ceildiv(i32(M), 128)
  tiles = tiles_m * ceildiv(i32(N), 256)
  k_blocks = ceildiv(i32(K), 64)
  launch min(sms, tiles)
  map A_map = A box [128, 64] swizzle 128
  map B_map = B box [256, 64] swizzle 128
  map C_map = C box [64, 64] swizzle 128
  smem A_s: bf16[stages, 128, 64] swizzle 128
  smem B_s: bf16[stages, 256, 64] swizzle 128
  smem C_s: bf16[2, 64, 64] swizzle 128
  mbar full[stages] count 1
  mbar empty[stages] count 2

  prologue:
    elect:
      mbar_init full
      mbar_init empty
      fence mbar_init
    sync_threads

  role load warps 4 regs 40:
    elect:
      var n: u32 = 0
      for t in range(block, tiles, blocks):
        m = t % tiles_m * 128
        c = t / tiles_m * 256
        for k in range(k_blocks):
          wait empty[n % stages] parity n / stages + 1
          expect full[n % stages] bytes 49152
          tma_load A_s[n % stages, 0, 0] <- A_map[m, k * 64] on full[n % stages]
          tma_load B_s[n % stages, 0, 0] <- B_map[c, k * 64] on full[n % stages]
          set n = n + 1

  role math replicas 2 warps 4 regs 232:
    fragment acc: f32[64, 256] wgmma_acc
    var n: u32 = 0
    for t in range(block, tiles, blocks):
      m = t % tiles_m * 128
      c = t / tiles_m * 256
      each i, j in acc:
        acc[i, j] = 0.0
      for k in range(k_blocks):
        wait full[n % stages] parity n / stages
        fence wgmma
        for kk in unrolled(4):
          wgmma acc[0, 0] <- A_s[n % stages, 64 * replica, 16 * kk], B_s[n % stages, 0, 16 * kk]^T
        wgmma_commit
        wgmma_await 0
        elect:
          arrive empty[n % stages]
        set n = n + 1
      for j in unrolled(4):
        elect:
          bulk_wait read 0
        barrier_sync 1 + replica threads 128
        stmatrix C_s[replica, 0, 0] <- acc[0, 64 * j] columns 64
        fence proxy_async
        barrier_sync 1 + replica threads 128
        elect:
          tma_store C_map[m + 64 * replica, c + 64 * j] <- C_s[replica, 0, 0]
          bulk_commit
    elect:
      bulk_wait 0
)";

}  // namespace plait::test
