#include "helpers.h"

namespace plait::syntax {

const std::string kMatmul = R"tile(kernel matmul_relu(A: in f16[M, K], B: in f16[K, N], C: out f16[M, N];
                   block_M = 128, block_N = 128, block_K = 64):
  grid bx = ceildiv(N, block_N), by = ceildiv(M, block_M)
  A_s = shared f16[block_M, block_K]
  B_s = shared f16[block_K, block_N]
  C_l = fragment f32[block_M, block_N]
  clear(C_l)
  for k in pipelined(ceildiv(K, block_K), stages=3):  # or range(...): the planner decides
    copy(A[by * block_M, k * block_K], A_s)
    copy(B[k * block_K, bx * block_N], B_s)
    gemm(A_s, B_s, C_l)
  for i, j in parallel(block_M, block_N):
    C_l[i, j] = max(C_l[i, j], 0)
  copy(C_l, C[by * block_M, bx * block_N])
)tile";

const std::string kEverything = R"tile(

# file comment


#no space
##
#
def act(x,   # the value
        # own line
        k: int = 3  # last
        ):  # header trailing

  # first in body
  if k == 1 :   # if trailing
    y = x
    # end of if block

  # before elif
  elif k==2:  # elif trailing
    y = (x*2)+(3*(x+1))
  else:  # else trailing
    y = -x
    # end of else
  # before return
  return y   # done
  # end of act

# between


# kernel comment
kernel everything(A: in f16[M, K] strides (lda, 1), # A
   B: in f16[K, 2*N],
   # about C
   C: inout f32[M, N], alpha: f32 = 1.5e0, n: i64; block_M=128, T: type = f16, L: int, ok: bool = true, eps: float = 1e-5):
  grid bx = ceildiv(N, 128), by = (M + 127) / 128
  threads 128
  option fast_math
  require K % 8 == 0, "K must be \"good\"\n\x01é"
  require M > 0
  s = shared T[128, 64] layout swizzle(128) pad 8
  f = fragment f32[1] strides [2]
  l = local i32[4]
  for i in range(0, 10, 2):
    continue
  for i in unrolled(4): # u
    break
  for i in vectorized(4):
    pass
  for i,j in parallel(8, 8):
    C[i, j] += max(A[i, j], 0)
    C[i, j] = select(not (i < j and j > 0 or i == 0), -inf, nan)
    l[0] &= 0x1F | (0b1 ^ ~3) & (7 << 1 >> 1)
    l[0] |= 1
    l[0] ^= 1
    l[0] -= 1
    l[0] *= 1
    l[0] /= 1
  for k in pipelined(ceildiv(K, 64), order=[0,1,2], stage=(0, 0, 1)):
    copy(A[by * 128, k*64], s, valid=(m, n), pad=-1, rows=R[0:128], cache=evict_first, verylongargument=somethingelse + 3)
    copy(A[:, 1:], A[:3, a + 1 : b])
    gemm(s, s, f, trans_A=true)  # trailing
  for i, j in persistent(m,  # inner
      # inner two
      n):
    while not false:
      assert a - (b - c) == (a - b) - c, "msg"
      assert a / (b * c) < -(-3)
  task(latency=500, ii=64):
    print("x = {}, y = {{}}", x, -(y + 1))
    print("plain")

      # deeper comment
    # task tail

  # kernel tail
# closing

# closing 2


)tile";

const std::string kEverythingFormatted = R"tile(# file comment

# no space
##
#
def act(x,  # the value
        # own line
        k: int = 3  # last
        ):  # header trailing
  # first in body
  if k == 1:  # if trailing
    y = x
    # end of if block

  # before elif
  elif k == 2:  # elif trailing
    y = x * 2 + 3 * (x + 1)
  else:  # else trailing
    y = -x
    # end of else
  # before return
  return y  # done
  # end of act

# between

# kernel comment
kernel everything(A: in f16[M, K] strides [lda, 1],  # A
                  B: in f16[K, 2 * N],
                  # about C
                  C: inout f32[M, N], alpha: f32 = 1.5e0, n: i64;
                  block_M = 128, T: type = f16, L: int, ok: bool = true, eps: float = 1e-5):
  grid bx = ceildiv(N, 128), by = (M + 127) / 128
  threads 128
  option fast_math
  require K % 8 == 0, "K must be \"good\"\n\x01é"
  require M > 0
  s = shared T[128, 64] layout swizzle(128) pad 8
  f = fragment f32[1] strides [2]
  l = local i32[4]
  for i in range(0, 10, 2):
    continue
  for i in unrolled(4):  # u
    break
  for i in vectorized(4):
    pass
  for i, j in parallel(8, 8):
    C[i, j] += max(A[i, j], 0)
    C[i, j] = select(not (i < j and j > 0 or i == 0), -inf, nan)
    l[0] &= 0x1F | ((0b1 ^ ~3) & (7 << 1 >> 1))
    l[0] |= 1
    l[0] ^= 1
    l[0] -= 1
    l[0] *= 1
    l[0] /= 1
  for k in pipelined(ceildiv(K, 64), order=[0, 1, 2], stage=[0, 0, 1]):
    copy(A[by * 128, k * 64], s, valid=[m, n], pad=-1, rows=R[0:128], cache=evict_first,
        verylongargument=somethingelse + 3)
    copy(A[:, 1:], A[:3, a + 1 : b])
    gemm(s, s, f, trans_A=true)  # trailing
  # inner
  # inner two
  for i, j in persistent(m, n):
    while not false:
      assert a - (b - c) == a - b - c, "msg"
      assert a / (b * c) < - -3
  task(latency=500, ii=64):
    print("x = {}, y = {{}}", x, -(y + 1))
    print("plain")

    # deeper comment
    # task tail

  # kernel tail
# closing

# closing 2
)tile";

}  // namespace plait::syntax
