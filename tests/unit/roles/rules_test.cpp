#include <gmock/gmock.h>

#include "matmul.h"
#include "roles/verify.h"
#include "text.h"

namespace plait {
namespace {

/// What is said about a text.
std::string said(const std::string& text) {
  auto program = test::read_roles(text);
  return (program.ok() ? roles::verify(*program) : program.diagnostics()).render();
}

/// A program that is right, and lines of it changed so that one rule is broken.
struct Case {
  const char* base;
  const char* from;
  const char* to;
  const char* message;  ///< with the rule behind it, as rendered
};

constexpr const char* kSmall =
    R"(roles small(T: inout f32[N, 64], H: inout i32[8], I: in f32[N, 64], s: f32) device h200:
  rows = i32(N)
  launch ceildiv(rows, 4)
  smem S: f32[8, 64]
  smem P: bf16[64, 64] swizzle 128
  smem R: f32[4, 128]
  mbar done[2] count 1

  prologue:
    elect:
      mbar_init done
      fence mbar_init
    sync_threads

  role all warps 4:
    fragment x: f32[4, 64] vector vec 2 lanes 32
    fragment m: f32[4] rows of x
    fragment q: bf16[4, 64] vector vec 2 lanes 32
    fragment d: f32[16, 8] mma_acc
    fragment a: bf16[16, 16] mma_a
    fragment b: bf16[8, 16] mma_b
    var n: i32 = 0
    base = block * 4
    elect:
      expect done[0] bytes 256
      bulk_load R[0, 0] <- I[base, 0] bytes 256 on done[0]
    wait done[0] parity 0
    load x <- T[base, 0]
    each r, c in x:
      x[r, c] = x[r, c] * s
    row_reduce max m <- x
    lane_reduce max m lanes 32
    each r, c in q:
      q[r, c] = x[r, c] - m[r]
    cp_async S[0, 0] <- I[base, 0] rows 4 columns 64
    cp_commit
    cp_wait 0
    sync_threads
    ldmatrix a[0, 0] <- P[0, 0]
    ldmatrix b[0, 0] <- P[0, 0]
    each r, c in d:
      d[r, c] = 0.0
    mma d <- a, b
    store T[base, 0] <- x
    store S[0, 0] <- x
    put S[0, lane] = 1.0
    old = atomic_add(H[0], 1)
    if old == 0:
      put H[1] = old
    set n = n + 1
)";

class Rules : public testing::TestWithParam<Case> {};

TEST_P(Rules, IsToldInWords) {
  const Case& c = GetParam();
  std::string text = c.base;
  std::size_t at = text.find(c.from);
  ASSERT_NE(at, std::string::npos) << c.from;
  text.replace(at, std::string(c.from).size(), c.to);
  EXPECT_THAT(said(text), testing::HasSubstr(c.message));
}

TEST(RolesRules, BasesAreRight) {
  EXPECT_EQ(said(test::kMatmul), "");
  EXPECT_EQ(said(kSmall), "");
}

constexpr const char* kMatmul = test::kMatmul;

std::string changed(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

TEST(RolesRules, WgmmaTakesWholeWarpgroups) {
  std::string shifted = changed(changed(kMatmul, " regs 40", ""), " regs 232", "");
  EXPECT_EQ(said(shifted), "");
  shifted = changed(shifted, "  role math", "  role idle warps 2:\n    pass\n\n  role math");
  EXPECT_THAT(said(shifted),
              testing::HasSubstr("role `math` begins at warp 6 of the block, inside a warpgroup [warpgroup]"));
  EXPECT_THAT(said(changed(kSmall, "    cp_commit\n", "    cp_commit\n    fence wgmma\n")), "");
  std::string wide = changed(changed(kSmall, "warps 4", "warps 8"), "4, 64] vector", "8, 64] vector");
  wide = changed(wide, "fragment m: f32[4]", "fragment m: f32[8]");
  EXPECT_THAT(said(changed(wide, "    cp_commit\n", "    cp_commit\n    fence wgmma\n")),
              testing::HasSubstr("role `all` has 8 warps a replica, and wgmma takes the 4 of a warpgroup [warpgroup]"));
}

/// What looks wrong and is not.
TEST(RolesRules, RightVariants) {
  // A box smaller than its tile; the sum of the bytes is for the simulator.
  EXPECT_EQ(said(changed(kMatmul, "map A_map = A box [128, 64]", "map A_map = A box [64, 64]")), "");
  // Tiles that share bytes because both say so.
  EXPECT_EQ(said(changed(kSmall, "smem S: f32[8, 64]", "smem S: f32[8, 64] at 16384\n  smem V: f32[8, 64] at 16384")),
            "");
  // A branch that no replica takes with these indices.
  EXPECT_EQ(said(changed(kMatmul, "        wgmma_commit\n",
                         "        wgmma_commit\n        if replica == 1:\n          elect:\n            put "
                         "C_s[replica - 1, 0, 0] = 1.0\n")),
            "");
  // Values read by warps alone need not be the same in others.
  EXPECT_EQ(said(changed(kSmall, "    cp_commit\n",
                         "    cp_commit\n    w = broadcast(lane)\n    if w + warp > 2:\n      sync_warp\n")),
            "");
}

constexpr Case kText[] = {
    {kMatmul, "roles matmul", "role matmul",
     "expected 'roles' at the start of the program, found name 'role' [roles-file]"},
    {kMatmul, "      bulk_wait 0\n", "      bulk_wait 0\nroles more() device h200:\n  launch 1\n",
     "expected the end of the file, found name 'roles' [roles-file]"},
    {kMatmul, "  launch min(sms, tiles)\n", "", "the program has no launch [roles-head]"},
    {kMatmul, "  map C_map = C box [64, 64] swizzle 128\n", "  map C_map = C box [64, 64] swizzle 128\n  launch 2\n",
     "'launch' stands too far down in the head [roles-head]"},
    {kMatmul, "  launch min(sms, tiles)\n", "  launch min(sms, tiles)\n  launch 2\n", "a second 'launch' [roles-head]"},
    {kMatmul, "min(sms, tiles)", "1, 1, 1, 1", "launch has more than 3 extents [roles-head]"},
    {kMatmul, "  map A_map", "  maps A_map", "fix: did you mean 'map'?"},
    {kMatmul, "expect full", "expects full", "fix: did you mean 'expect'?"},
    {kMatmul, "        m = t % tiles_m * 128\n", "        acc[0, 0] = 1.0\n",
     "an element is stored by put, or within each if it is a fragment's [syntax]"},
    {kMatmul, " parity n / stages + 1", "", "expected 'parity' behind the mbar, found end of line [syntax]"},
    {kMatmul, "A_s[n % stages, 0, 0] <- A_map", "A_s[n % stages, 0, 0] = A_map", "expected '<-', found '=' [syntax]"},
    {kMatmul, "role load warps 4", "role load", "the role 'load' does not say how many warps it has [syntax]"},
    {kMatmul, "elect:\n      bulk_wait 0\n", "elect:\n", "expected an indented block behind 'elect', found"},
    {kMatmul, "swizzle 128\n  mbar", "swizzle 96\n  mbar", "there is no swizzle of 96 bytes [role-literal]"},
    {kMatmul, "columns 64\n", "columns t\n", "the columns must be an integer literal [not-constant]"},
    {kMatmul, "wait empty[n % stages]", "wait empti[n % stages]", "unknown name `empti` [unknown-name]"},
    {kMatmul, "wait empty[n % stages]", "wait A_s[n % stages]", "`A_s` is not an mbar [role-operand]"},
    {kMatmul, "wait empty[n % stages]", "wait empty", "`empty` stands without its indices [role-index]"},
    {kMatmul, "c = t / tiles_m * 256\n        for", "c = full[0]\n        for",
     "`full` is an mbar and has no elements [role-operand]"},
    {kMatmul, "set n = n + 1\n\n", "set m = n + 1\n\n", "`m` is no variable and keeps its value [role-set]"},
    {kMatmul, "var n: u32 = 0\n      for", "var n: u32 = 1.5\n      for",
     "the literal 1.5 meets an operand of type u32 [type-mismatch]"},
    {kMatmul, "range(block, tiles, blocks)", "range()", "range takes 1 to 3 bounds [call-form]"},
    {kMatmul, "launch min(sms, tiles)", "launch min(sms, n)", "unknown name `n` [unknown-name]"},
};
INSTANTIATE_TEST_SUITE_P(Text, Rules, testing::ValuesIn(kText));

constexpr Case kNames[] = {
    {kMatmul, "  tiles = ", "  x = A[0, 0]\n  tiles = ", "`x` reads an element of `A` [host-value]"},
    {kMatmul, "require K % 8 == 0", "require sms > 4", "require uses `sms` [host-value]"},
    {kMatmul, "m = t % tiles_m * 128\n        c", "m = sms\n        c",
     "`sms` is known to the host alone [host-value]"},
    {kMatmul, "role math", "role load", "there is another role named `load` [roles-name]"},
    {kSmall, "      fence mbar_init\n", "      fence mbar_init\n      x = warp + 1\n",
     "`warp` is not defined here [roles-scope]"},
    {kSmall, "put H[1] = old", "put H[1] = r", "unknown name `r` [unknown-name]"},
    {kMatmul, "A_s[n % stages, 0, 0] <-", "A_s[n % stages, 0] <-",
     "`A_s` has 3 dimensions, and here are 2 indices [role-index]"},
    {kMatmul, "A_map[m, k * 64]", "A_map[m]",
     "`A_map` is a map of a tensor of 2 dimensions, and here are 1 indices [role-index]"},
    {kSmall, "wait done[0]", "wait done[2]", "the index of `done` is 2, and it has 2 barriers [role-index]"},
    {kSmall, "put S[0, lane]", "put S[8, lane]", "index 0 of `S` is 8, and its extent 8 [role-index]"},
    {kSmall, "put S[0, lane]", "put S[0, s]", "an index is an integer, and this is f32 [role-value]"},
    {kSmall, "if old == 0:", "if old:", "the condition of if is bool, and this is i32 [role-value]"},
    {kSmall, "parity 0", "parity 0.5", "a parity is an integer, and this is f32 [role-value]"},
    {kMatmul, "for kk in unrolled(4)", "for kk in unrolled(k_blocks)",
     "the bound k_blocks of an unrolled loop is no literal [role-loop]"},
    {kMatmul, "for kk in unrolled(4)", "for kk in unrolled(0, 4, 0)", "the step of the loop is 0 [role-loop]"},
    {kMatmul, "for j in unrolled(4)", "for j in unrolled(1000000)",
     "unrolled loops expand beyond 65536 statements here [role-loop]"},
    {kSmall, "    base = block * 4", "    base = x[0, 0]",
     "an element of the fragment `x` is read here [fragment-element]"},
    {kSmall, "each r, c in x", "each r, c, z in x", "`x` has 2 dimensions, and each names 3 [fragment-element]"},
};
INSTANTIATE_TEST_SUITE_P(Names, Rules, testing::ValuesIn(kNames));

constexpr Case kDeclarations[] = {
    {kMatmul, "replicas 2 warps 4 regs 232", "replicas 8 warps 4 regs 24",
     "the roles have 1152 threads together [role-threads]"},
    {kMatmul, "  map A_map", "  cluster 16\n  map A_map", "a cluster of 16 blocks [cluster-size]"},
    {kMatmul, "    sync_threads\n", "    sync_threads\n    cluster_arrive\n",
     "`cluster_arrive`, and the program has no cluster [cluster-use]"},
    {kMatmul, "arrive empty[n % stages]", "arrive empty[n % stages] at 1",
     "an arrival at another block, and the program has no cluster [cluster-use]"},
    {kMatmul, "A_map[m, k * 64] on full[n % stages]", "A_map[m, k * 64] on full[n % stages] multicast 3",
     "a multicast load, and the program has no cluster [cluster-use]"},
    {kMatmul, "regs 232", "regs 240", "the roles take 128 x 40 + 256 x 240 = 66560 registers [register-budget]"},
    {kMatmul, "  map A_map", "  occupancy 2\n  map A_map",
     "the roles take 128 x 40 + 256 x 232 = 64512 registers [register-budget]"},
    {kMatmul, "  map A_map", "  occupancy 2\n  map A_map", "a block has 30720 where a multiprocessor holds 2"},
    {kMatmul, "  map A_map", "  occupancy 2\n  map A_map",
     "a wgmma of role `math` takes 154 registers of a thread; at launch a thread has 80 [register-budget]"},
    {kMatmul, "regs 40", "regs 20", "role `load` has regs 20 [register-budget]"},
    {kMatmul, "role load warps 4", "role load warps 3",
     "role `load` has 3 warps, no whole warpgroups, and regs is given [register-budget]"},
    {kMatmul, "regs 232", "regs 136",
     "the fragments of role `math` take 128 registers at one time, 152 with 24 for everything else "
     "[fragment-registers]"},
    {kMatmul, "smem C_s: bf16[2, 64, 64] swizzle 128", "smem C_s: bf16[2, 60, 64] swizzle 128",
     "`C_s` has 60 rows; with a swizzle a multiple of 8 is taken [smem-tile]"},
    {kMatmul, "smem C_s: bf16[2, 64, 64] swizzle 128", "smem C_s: bf16[2, 64, 64] swizzle 128 at 512",
     "`C_s` begins at byte 512 [smem-place]"},
    {kMatmul, "smem C_s: bf16[2, 64, 64] swizzle 128",
     "smem C_s: bf16[2, 64, 64] swizzle 128 at 0\n  smem D_s: bf16[64, 64] swizzle 128 at 1024",
     "`D_s` (8192 bytes from 1024) overlaps `C_s` (16384 bytes from 0) [smem-overlap]"},
    {kMatmul, "stages = 4", "stages = 5", "tiles and mbarriers take 262224 bytes [smem-capacity]"},
    {kMatmul, "  map A_map", "  occupancy 2\n  map A_map",
     "2 blocks of 213056 bytes do not fit a multiprocessor [smem-capacity]"},
    {kMatmul,
     "map A_map = A box [128, 64] swizzle 128\n  map B_map = B box [256, 64] swizzle 128\n  map C_map = C box [64, 64] "
     "swizzle 128\n  smem A_s: bf16[stages, 128, 64] swizzle 128",
     "map A_map = A box [1, 8]\n  map B_map = B box [256, 64] swizzle 128\n  map C_map = C box [64, 64] swizzle 128\n"
     "  smem A_s: bf16[stages, 1, 8]",
     "is one of copies of 16 bytes; TMA takes multiples of 128 [map-tile]"},
    {kMatmul, "map A_map = A box [128, 64]", "map A_map = A box [512, 64]",
     "the box of `A_map` has an extent of 512; TMA takes 1 to 256 [map-box]"},
    {kMatmul, "map A_map = A box [128, 64]", "map A_map = A box [128]",
     "the box of `A_map` has 1 extents, and `A` 2 dimensions [map-box]"},
    {kMatmul, "mbar empty[stages] count 2", "mbar empty[stages] count 1048576",
     "a phase of `empty` takes 1048576 arrivals [mbar-count]"},
};
INSTANTIATE_TEST_SUITE_P(Declarations, Rules, testing::ValuesIn(kDeclarations));

constexpr Case kMore[] = {
    {kSmall, "smem S: f32[8, 64]", "smem S: f32[8, 64] at 32784", "`S` begins at byte 32784 [smem-place]"},
    {kSmall, "smem S: f32[8, 64]", "smem S: f32[8, 64]\n  smem Z: i4[8, 64]", "`Z` has elements of 4 bits [smem-tile]"},
};
INSTANTIATE_TEST_SUITE_P(More, Rules, testing::ValuesIn(kMore));

constexpr Case kPlaces[] = {
    {kMatmul, "    elect:\n      bulk_wait 0\n", "    bulk_wait 0\n",
     "every thread would run `bulk_wait 0` [one-thread]"},
    {kMatmul, "        wgmma_commit\n", "        elect:\n          wgmma_commit\n",
     "one thread alone cannot run `wgmma_commit` [whole-warp]"},
    {kMatmul, "        wgmma_commit\n", "        warp 1:\n          wgmma_commit\n",
     "one warp alone cannot run `wgmma_commit` [whole-warp]"},
    {kMatmul, "        elect:\n          arrive",
     "        elect:\n          elect:\n            pass\n          arrive",
     "elect stands within elect [nested-choice]"},
    {kSmall, "    cp_commit\n", "    cp_commit\n    warp 4:\n      sync_warp\n",
     "role `all` has 4 warps a replica and no warp 4 [nested-choice]"},
    {kMatmul, "        wgmma_commit\n", "        if lane < 4:\n          wgmma_commit\n",
     "threads that must run `wgmma_commit` together may differ in `lane < 4` [uniform-condition]"},
    {kSmall, "    lane_reduce max m lanes 32\n",
     "    if n == warp:\n      set n = lane\n    if n > 0:\n      lane_reduce max m lanes 32\n",
     "threads that must run `lane_reduce max m lanes 32` together may differ in `n > 0` [uniform-condition]"},
    {kSmall, "    set n = n + 1\n", "    if lane < n:\n      y = shuffle(n, lane ^ 1)\n",
     "threads that must run `y = shuffle(n, lane ^ 1)` together may differ in `lane < n` [uniform-condition]"},
    {kSmall, "    set n = n + 1\n", "    y = shuffle(n, 0.5)\n", "the number of a lane"},
    {kSmall, "    set n = n + 1\n", "    elect:\n      y = shuffle(n, 0)\n",
     "one thread alone cannot run `y = shuffle(n, 0)` [whole-warp]"},
    {kMatmul, "        wgmma_commit\n", "        sync_threads\n        wgmma_commit\n",
     "`sync_threads` stands in a loop or branch of one role, and waits for the threads of all [block-barrier]"},
    {kMatmul, "    var n: u32 = 0\n    for", "    var n: u32 = 0\n    sync_threads\n    for",
     "role `math` passes 1 barriers of the block, role `load` 0 [block-barrier]"},
    {kMatmul, "replicas 2 warps 4 regs 232", "replicas 1 warps 8 regs 232",
     "`acc` is spread over 128 threads, and the replica has 256 [fragment-shape]"},
    {kMatmul,
     "  role load warps 4 regs 40:", "  role first warps 2:\n    pass\n\n  role load warps 4:", "[register-budget]"},
    {kMatmul, "barrier_sync 1 + replica threads 128", "barrier_sync 16 + replica threads 128",
     "there is no named barrier 16 [barrier-id]"},
    {kMatmul, "barrier_sync 1 + replica threads 128", "barrier_sync 1 + replica threads 100",
     "a barrier over 100 threads, and the block has 384 [barrier-id]"},
};
INSTANTIATE_TEST_SUITE_P(Places, Rules, testing::ValuesIn(kPlaces));

constexpr Case kCopies[] = {
    {kMatmul, "map C_map = C box [64, 64] swizzle 128", "map C_map = C box [64, 32] swizzle 64",
     "the box of `C_map` in `C_s` has swizzle 64, the tile 128 [map-tile]"},
    {kMatmul, "A_s[n % stages, 0, 0] <-", "A_s[n % stages, 4, 0] <-",
     "128 x 64 elements from row 4, column 0 on leave `A_s`, which has 128 x 64 [tile-bounds]"},
    {kMatmul, "<- C_s[replica, 0, 0]", "<- C_s[replica + 2, 0, 0]",
     "index 0 of `C_s` is 2, and its extent 2 [tile-bounds]"},
    {kMatmul, "C: out bf16[M, N]", "C: in bf16[M, N]", "`C` is written, and it is an `in` parameter [tensor-mode]"},
    {kMatmul, "C: out bf16[M, N]", "C: out bf16[M, N], D: out f32[M]",
     "`D` is an `out` parameter that nothing writes [out-not-written]"},
    {kMatmul, "A: in bf16", "A: out bf16",
     "`A` is read, and it is an `out` parameter that nothing writes [tensor-mode]"},
    {kSmall, "bytes 256 on", "bytes 250 on", "a bulk copy of 250 bytes [bulk-bytes]"},
    {kSmall, "bytes 256 on", "bytes 4096 on", "4096 bytes from byte 0 on leave `R`, which has 2048 [tile-bounds]"},
    {kSmall, "bulk_load R[0, 0]", "bulk_load R[0, 2]", "the copy begins at byte 8 of the tile [bulk-bytes]"},
    {kSmall, "smem R: f32[4, 128]", "smem R: f32[8, 128] swizzle 128",
     "`R` has a swizzle, and bulk copies keep the order of bytes [bulk-bytes]"},
    {kSmall, "rows 4 columns 64", "rows 4 columns 63", "rows of 252 bytes, 4 of them [cp-async-tile]"},
    {kSmall, "cp_async S[0, 0]", "cp_async S[0, 2]",
     "4 x 64 elements from row 0, column 2 on leave `S`, which has 8 x 64 [tile-bounds]"},
    {kSmall, "cp_async S[0, 0] <- I[base, 0] rows 4 columns 64", "cp_async S[0, 2] <- I[base, 0] rows 4 columns 32",
     "the copy begins at byte 8 of a row [cp-async-tile]"},
    {kSmall, "cp_async S[0, 0]", "cp_async P[0, 0]", "`P` is of bf16, and `I` of f32 [cp-async-tile]"},
    {kSmall, "H: inout i32[8]", "H: inout i16[8]", "`H` is of i16 [atomic-type]"},
    {kSmall, "put S[0, lane] = 1.0", "was = atomic_max(S[8, lane], 1.0)",
     "index 0 of `S` is 8, and its extent 8 [role-index]"},
};
INSTANTIATE_TEST_SUITE_P(Copies, Rules, testing::ValuesIn(kCopies));

constexpr Case kMatrix[] = {
    {kMatmul, "fragment acc: f32[64, 256] wgmma_acc", "fragment acc: f32[60, 256] wgmma_acc",
     "`acc` has 60 rows; wgmma_acc takes a multiple of 64 [fragment-shape]"},
    {kMatmul, "wgmma acc[0, 0]", "wgmma acc[0, 64]", "columns 64 to 319 of `acc`, which has 256 [wgmma-shape]"},
    {kMatmul, "wgmma acc[0, 0]", "wgmma acc[k, 0]",
     "`k` says where a fragment begins, and is no literal once unrolled loops are expanded [role-literal]"},
    {kMatmul, "smem B_s: bf16", "smem B_s: f16", "`B_s` is of f16, and `B` of bf16 [map-tile]"},
    {kMatmul, "fragment acc: f32", "fragment acc: f16", "wgmma of bf16 and bf16 into f16 [wgmma-type]"},
    {kMatmul, "A_s[n % stages, 64 * replica, 16 * kk]", "A_s[n % stages, 64 * replica, 8 * kk]",
     "operand A in `A_s` begins at column 8, which is no multiple of 16 [wgmma-operand]"},
    {kMatmul, "A_s[n % stages, 64 * replica, 16 * kk]", "A_s[n % stages, 60 * replica, 16 * kk]",
     "operand A in `A_s` begins at row 60, which is no multiple of 8 [wgmma-operand]"},
    {kMatmul, "A_s[n % stages, 64 * replica, 16 * kk]", "A_s[n % stages, i32(n % stages) * 8 + 4, 16 * kk]",
     "operand A in `A_s` begins at row 4, which is no multiple of 8 [wgmma-operand]"},
    {kMatmul, "B_s[n % stages, 0, 16 * kk]^T", "B_s[n % stages, 0, 16 * kk]",
     "16 x 256 elements from row 0, column 0 on leave `B_s`, which has 256 x 64 [tile-bounds]"},
    {kMatmul, "        wgmma_commit\n", "", "wgmma on `acc` was not committed before this await [wgmma-order]"},
    {kMatmul, "        fence wgmma\n", "",
     "no `fence wgmma` stands between other accesses to `acc` and this wgmma [wgmma-order]"},
    {kMatmul, "        wgmma_await 0\n", "        wgmma_await 1\n",
     "`acc` is accessed while wgmma may work on it [wgmma-locked]"},
    {kSmall, "fragment b: bf16[8, 16] mma_b", "fragment b: bf16[8, 32] mma_b",
     "`d` is [16, 8], `a` [16, 16] and `b` [8, 32] [mma-operand]"},
    {kSmall, "fragment d: f32[16, 8] mma_acc", "fragment d: bf16[16, 8] mma_acc",
     "mma of bf16 and bf16 into bf16 [mma-operand]"},
    {kSmall, "mma d <- a, b", "mma d <- a[0, 8], b", "columns 8 to 23 of `a`, which has 16 [mma-operand]"},
    {kSmall, "mma d <- a, b", "mma d <- b, a", "`b` is a mma_b fragment, and a mma_a one is taken here [mma-operand]"},
    {kSmall, "ldmatrix a[0, 0] <- P[0, 0]", "ldmatrix a[0, 0] <- P[0, 4]",
     "the tile begins at byte 8 of a row of `P` [matrix-move]"},
    {kSmall, "ldmatrix a[0, 0] <- P[0, 0]", "ldmatrix a[0, 0] <- S[0, 0]", "ldmatrix from f32 to bf16 [matrix-move]"},
    {kSmall, "ldmatrix a[0, 0] <- P[0, 0]", "ldmatrix x[0, 0] <- P[0, 0]",
     "ldmatrix fills `x`, a vector fragment [matrix-move]"},
    {kMatmul, "columns 64\n", "columns 24\n", "stmatrix of 24 columns [matrix-move]"},
    {kMatmul, "acc[0, 64 * j]", "acc[0, 64 * j + 64]", "columns 256 to 319 of `acc`, which has 256 [matrix-move]"},
};
INSTANTIATE_TEST_SUITE_P(Matrix, Rules, testing::ValuesIn(kMatrix));

constexpr Case kElements[] = {
    {kSmall, "x[r, c] = x[r, c] * s", "x[r, c] = x[c, r] * s",
     "`x` is accessed at [c, r]: a thread has only the elements at its own coordinates [fragment-element]"},
    {kSmall, "q[r, c] = x[r, c] - m[r]", "q[r, c] = x[r, c] - m[c]", "`m` is accessed at [c]"},
    {kSmall, "fragment q: bf16[4, 64] vector vec 2 lanes 32", "fragment q: bf16[4, 64] vector vec 4 lanes 16",
     "[fragment-shape]"},
    {kSmall, "fragment q: bf16[4, 64] vector vec 2 lanes 32", "fragment q: bf16[8, 64] vector vec 4 lanes 16",
     "`x` (x: f32[4, 64] vector vec 2 lanes 32) does not lie as `q` (q: bf16[8, 64] vector vec 4 lanes 16) does "
     "[fragment-alike]"},
    {kSmall, "row_reduce max m <- x", "row_reduce max q <- x", "row_reduce goes from `x` to `q` [reduce-operand]"},
    {kSmall, "fragment m: f32[4] rows of x", "fragment m: bf16[4] rows of x",
     "`m` is of bf16, and `x` of f32 [reduce-operand]"},
    {kSmall, "lane_reduce max m lanes 32", "lane_reduce max m lanes 12", "lane_reduce over 12 lanes [reduce-operand]"},
    {kSmall, "load x <- T[base, 0]", "load q <- T[base, 0]", "`q` is of bf16, and `T` of f32 [vector-access]"},
    {kSmall, "load x <- T[base, 0]", "load x <- T[base, 0] pad s", "`x` is padded with s [vector-access]"},
    {kSmall, "fragment m: f32[4] rows of x", "fragment m: f32[4] columns of x",
     "`m` has not the shape [64] of the columns of x [fragment-shape]"},
};
INSTANTIATE_TEST_SUITE_P(Elements, Rules, testing::ValuesIn(kElements));

constexpr Case kMbars[] = {
    {kMatmul, "      mbar_init empty\n", "", "`empty` is initialised nowhere in the prologue [mbar-init-once]"},
    {kMatmul, "      mbar_init empty\n", "      mbar_init empty\n      mbar_init empty\n",
     "`empty` is initialised 2 times in the prologue [mbar-init-once]"},
    {kMatmul, "      fence mbar_init\n", "", "no fence mbar_init stands behind this mbar_init [mbar-init-seen]"},
    {kMatmul, "    sync_threads\n", "", "the threads of the block do not meet behind this mbar_init [mbar-init-seen]"},
    {kMatmul, "          wait empty[n % stages] parity n / stages + 1\n", "",
     "nobody waits on `empty` [mbar-protocol]"},
    {kMatmul, "          arrive empty[n % stages]\n", "          pass\n",
     "nobody arrives on `empty`, so its phases never complete [mbar-protocol]"},
    {kMatmul, "expect full[n % stages] bytes 49152", "arrive full[n % stages]",
     "copies complete on `full`, and no expect says how many bytes [mbar-protocol]"},
    {kMatmul, "  mbar empty[stages] count 2\n", "  mbar empty[stages] count 2\n  mbar spare[2] count 1\n",
     "warning: `spare` is never used [mbar-protocol]"},
    {kMatmul, "mbar empty[stages] count 2", "mbar empty[stages] count 3",
     "warning: a phase of `empty` takes 3 arrivals, and the program has 2 for it [mbar-arrivals]"},
    {kSmall, "mbar done[2] count 1", "mbar done[2] count 2",
     "error: a phase of `done` takes 2 arrivals, and the program has 1 for it [mbar-arrivals]"},
};
INSTANTIATE_TEST_SUITE_P(Mbars, Rules, testing::ValuesIn(kMbars));

}  // namespace
}  // namespace plait
