// Every form of instruction that the emitter prints, assembled by NVRTC for its architecture.
#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>

#include "roles/verify.h"
#include "unit/cuda/fixture.h"

namespace plait::emit::cuda {
namespace {

using plait::cuda::compiler_or_skip;
using plait::cuda::Nvrtc;

/// Compiles a role program down to machine code; what went wrong, or empty.
std::string assemble(const Nvrtc& nvrtc, const std::string& text, const std::string& arch) {
  Result<roles::Program> program = roles::parse(std::make_shared<SourceFile>("t.roles", text));
  if (!program.ok()) return program.diagnostics().render() + text;
  Result<Module> module = emit(*program, arch);
  if (!module.ok()) return module.diagnostics().render();
  Result<plait::cuda::Code> code = plait::cuda::compile(nvrtc, *module);
  return code.ok() ? "" : code.diagnostics().render() + module->source;
}

struct WgmmaType {
  const char* operand;
  const char* acc;
  int k;           ///< of one instruction
  bool any_major;  ///< 16-bit operands
  bool a_registers;
  bool a_transposed, b_transposed;  ///< as written: A^T, B^T
};

std::string tile(const char* name, const char* type, int rows, int columns) {
  return fmt::format("  smem {}: {}[{}, {}] swizzle 128\n", name, type, rows, columns);
}

/// One kernel with an instruction of every width, each in a body of its own.
std::string all_widths(const WgmmaType& type) {
  constexpr int panel = 4;  // instructions along k in a row of 128 bytes
  int k = type.k * panel;
  std::string text = "roles t(Y: out f32[N]) device h200:\n  launch 1\n";
  text += type.a_transposed ? tile("A_s", type.operand, k, 64) : tile("A_s", type.operand, 64, k);
  text += type.b_transposed ? tile("B_s", type.operand, 256, k) : tile("B_s", type.operand, k, 256);
  text += "  role all warps 4:\n";
  if (type.a_registers) text += fmt::format("    fragment a: {}[64, {}] wgmma_a\n", type.operand, type.k);
  std::string a = type.a_registers ? "a[0, 0]" : type.a_transposed ? "A_s[0, 0]^T" : "A_s[0, 0]";
  std::string b = type.b_transposed ? "B_s[0, 0]^T" : "B_s[0, 0]";
  constexpr int step = 8, widest = 256;
  for (int n = step; n <= widest; n += step) {
    bool integer_has_it = n % 16 == 0 || n == 8 || n == 24;
    if (std::string(type.acc) == "i32" && !integer_has_it) continue;
    text += fmt::format(
        "    if block == {0}:\n      fragment c{0}: {1}[64, {0}] wgmma_acc\n      fence wgmma\n"
        "      wgmma c{0}[0, 0] <- {2}, {3} clear true\n      wgmma_commit\n      wgmma_await 0\n",
        n, type.acc, a, b);
  }
  return text;
}

class WgmmaForms : public ::testing::TestWithParam<WgmmaType> {};

TEST_P(WgmmaForms, AssembleInEveryWidth) {
  NEEDS_COMPILER(nvrtc);
  EXPECT_EQ(assemble(*nvrtc, all_widths(GetParam()), "sm_90a"), "");
}

INSTANTIATE_TEST_SUITE_P(
    EmitCuda, WgmmaForms,
    ::testing::Values(
        WgmmaType{"bf16", "f32", 16, true, false, false, true}, WgmmaType{"bf16", "f32", 16, true, false, true, false},
        WgmmaType{"bf16", "f32", 16, true, true, false, false}, WgmmaType{"f16", "f32", 16, true, false, false, true},
        WgmmaType{"f16", "f16", 16, true, false, true, false}, WgmmaType{"f16", "f16", 16, true, true, false, true},
        WgmmaType{"e4m3", "f32", 32, false, false, false, true}, WgmmaType{"e4m3", "f32", 32, false, true, false, true},
        WgmmaType{"e5m2", "f32", 32, false, false, false, true}, WgmmaType{"tf32", "f32", 8, false, false, false, true},
        WgmmaType{"tf32", "f32", 8, false, true, false, true}, WgmmaType{"i8", "i32", 32, false, false, false, true}),
    [](const auto& test) {
      const WgmmaType& type = test.param;
      return fmt::format("{}_{}{}{}{}", type.operand, type.acc, type.a_registers ? "_registers" : "",
                         type.a_transposed ? "_mn_a" : "", type.b_transposed ? "" : "_mn_b");
    });

const std::string kHead =
    "roles t(X: in bf16[M, N], Y: out f32[M, N], C: inout i32[2], V: in f32[L]) device h200:\n  launch 1\n";

struct Form {
  const char* name;
  const char* arch;
  std::string text;
};

class OtherForms : public ::testing::TestWithParam<Form> {};

TEST_P(OtherForms, Assemble) {
  NEEDS_COMPILER(nvrtc);
  EXPECT_EQ(assemble(*nvrtc, kHead + GetParam().text, GetParam().arch), "");
}

/// A role around statements.
std::string role(const std::string& body, const std::string& decls = "", int warps = 4) {
  return decls + fmt::format("  role all warps {}:\n", warps) + body;
}

const std::string kTile = "  smem S: bf16[2, 64, 128] swizzle 128\n  mbar full[2] count 1\n";

/// One tile of each type that atomics take, and each of them on it.
constexpr std::array<const char*, 8> kAtomicTypes = {"i32", "i64", "u32", "u64", "f16", "bf16", "f32", "f64"};
const std::string kAtomicTiles = [] {
  std::string text;
  for (const char* type : kAtomicTypes) text += fmt::format("  smem {0}_s: {0}[4, 8]\n", type);
  return text;
}();
std::string shared_atomics() {
  std::string text;
  for (const char* type : kAtomicTypes) {
    const char* value = type[0] == 'i' || type[0] == 'u' ? "lane" : "f32(lane)";
    for (const char* op : {"add", "max", "min"}) {
      text += fmt::format("    {0}_{1} = atomic_{0}({1}_s[warp, lane % 8], {1}({2}))\n", op, type, value);
      text += fmt::format("    if {0}_{1} == {1}(1):\n      put Y[0, 0] = f32({0}_{1})\n", op, type);
    }
  }
  return text;
}

std::vector<Form> forms() {
  std::vector<Form> all = {
      {"ldmatrix_mma_sm80", "sm_80",
       role("    fragment a: bf16[32, 32] mma_a\n    fragment b: bf16[24, 32] mma_b\n    fragment c: f32[32, 24] "
            "mma_acc\n"
            "    ldmatrix a[0, 0] <- S[0, 0, 0]\n    ldmatrix b[0, 0] <- S[1, 0, 0]\n    ldmatrix a[0, 0] <- S[0, 0, "
            "0]^T\n"
            "    ldmatrix b[0, 0] <- S[1, 0, 0]^T\n    mma c <- a, b\n    store Y[0, 0] <- c\n",
            "  smem S: bf16[2, 64, 128] swizzle 128\n")},
      {"mma_warpgroup_sm80", "sm_80",
       role(
           "    fragment a: bf16[128, 16] wgmma_a\n    fragment p: bf16[128, 32] wgmma_a\n    fragment b: bf16[24, 16] "
           "mma_b\n    fragment c: f32[128, 24] wgmma_acc\n"
           "    ldmatrix a[0, 0] <- S[0, 0, 0]\n    ldmatrix p[0, 0] <- S[0, 0, 0]\n    ldmatrix b[0, 0] <- S[1, 0, "
           "0]^T\n    mma c <- a, b\n    mma c <- p[0, 16], b\n    store Y[0, 0] <- c\n",
           "  smem S: bf16[2, 128, 128] swizzle 128\n")},
      {"cp_async_sm80", "sm_80",
       role("    cp_async S[0, 0, 0] <- X[0, 0] rows 64 columns 128\n    cp_commit\n    cp_async S[1, 0, 0] <- X[0, 0] "
            "rows 5 columns 24\n"
            "    cp_wait 0\n    put Y[0, thread] = f32(S[0, thread, 3])\n",
            "  smem S: bf16[2, 64, 128] pad 8\n")},
      {"element_work_sm80", "sm_80",
       role("    fragment x: bf16[4, 256] vector vec 8 lanes 32\n    fragment y: f32[4, 256] vector vec 8 lanes 32\n   "
            " fragment m: f32[4] rows of y\n"
            "    load x <- X[0, 0] hint evict_first\n    each r, c in y:\n      y[r, c] = exp2(f32(x[r, c])) + "
            "sin(1.0) * f32(r + c)\n"
            "    each r in m:\n      m[r] = 0.0\n    row_reduce sum m <- y\n    lane_reduce max m lanes 32\n"
            "    each r, c in x:\n      x[r, c] = bf16(y[r, c] / m[r])\n    store S[0, 0, 0] <- x\n    sync_threads\n  "
            "  load x <- S[0, 0, 0]\n",
            "  smem S: bf16[2, 64, 256] pad 8\n")},
      {"scalars_sm80", "sm_80",
       role("    t0 = clock()\n    g = globaltimer()\n    old = atomic_add(C[0], 1)\n    b = broadcast(old)\n    put "
            "C[1] = b + i32(t0) + i32(g) + max(lane, 3) % 5\n"
            "    put S[0, thread] = V[thread] + rsqrt(tanh(log2(2.0)))\n    sync_warp\n    var n: i64 = 0\n    while n "
            "< 5:\n      set n = n + 1\n"
            "    for i in range(8) unroll 4:\n      if i == 2 and thread > 1:\n        put Y[0, i] = S[0, i]\n      "
            "else:\n        put Y[1, i] = fma(1.0, 2.0, abs(V[i]))\n",
            "  smem S: f32[2, 128]\n")},
      {"shared_atomics_sm80", "sm_80", role(shared_atomics(), kAtomicTiles)},
      {"shuffles_sm80", "sm_80",
       role("    a = shuffle(lane, lane ^ 1)\n    b = shuffle(f32(lane), lane - 4)\n    c = shuffle(f64(lane), 31)\n   "
            " d "
            "= shuffle(u64(lane), a)\n    put Y[a, 0] = b + f32(c) + f32(d)\n")},
      {"tma_multicast_sm90", "sm_90",
       "  cluster 2\n  map X_map = X box [64, 64] swizzle 128\n" +
           role("    elect:\n      mbar_init full\n      fence mbar_init\n    cluster_arrive\n    cluster_wait\n    "
                "elect:\n      prefetch X_map\n"
                "      expect full[0] bytes 16384\n      tma_load S[0, 0, 0] <- X_map[0, 0] on full[0] multicast 3 "
                "hint evict_last\n"
                "      arrive full[1] at 1\n    wait full[0] parity 0\n",
                kTile)},
      {"bulk_and_barriers_sm90", "sm_90",
       role("    elect:\n      mbar_init full\n      fence mbar_init\n    sync_threads\n    elect:\n      expect "
            "full[0] bytes 256\n"
            "      bulk_load S[0, 0] <- V[0] bytes 256 on full[0] hint evict_first\n    wait full[0] parity 0\n    "
            "fence proxy_async\n"
            "    barrier_sync 3 threads 128\n    warp 2:\n      sync_warp\n",
            "  smem S: f32[2, 64]\n  mbar full[2] count 1\n")},
      {"stmatrix_sm90", "sm_90",
       role("    fragment c: f32[64, 64] wgmma_acc\n    each r, c2 in c:\n      c[r, c2] = f32(r * c2)\n    stmatrix "
            "S[0, 0, 64] <- c[0, 0] columns 64\n"
            "    sync_threads\n    put Y[0, 0] = f32(S[0, 3, 70])\n",
            kTile)},
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(EmitCuda, OtherForms, ::testing::ValuesIn(forms()),
                         [](const auto& test) { return std::string(test.param.name); });

/// An element of a narrow type is read as a number; arithmetic in narrow integers wraps where theirs does.
class NarrowElements : public ::testing::TestWithParam<const char*> {};

TEST_P(NarrowElements, AreRead) {
  NEEDS_COMPILER(nvrtc);
  std::string type = GetParam();
  bool integer = type[0] == 'i' || type[0] == 'u';
  std::string text = fmt::format(
      "roles t(X: in {}[N], Y: out f32[N]) device h200:\n  launch 1\n  role all warps 4:\n    put Y[thread] = "
      "f32({})\n",
      type, integer ? "X[thread] + X[thread]" : "X[thread]");
  EXPECT_EQ(assemble(*nvrtc, text, "sm_90a"), "");
  EXPECT_EQ(assemble(*nvrtc, text, "sm_80"), "");
}

INSTANTIATE_TEST_SUITE_P(EmitCuda, NarrowElements,
                         ::testing::Values("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "i16", "u16", "e2m1", "e4m3",
                                           "e5m2"));

/// What every type takes: fragments of whole and of broken registers, elements of tensors and tiles, casts.
class Types : public ::testing::TestWithParam<const char*> {
 protected:
  void expect_assembled(const std::string& params, const std::string& body) {
    NEEDS_COMPILER(nvrtc);
    std::string text =
        fmt::format("roles t({}) device h200:\n  launch 1\n  smem s: {}[16, 64]\n  role all warps 4:\n{}", params,
                    is_narrow() ? "f32" : type(), body);
    for (const char* arch : {"sm_80", "sm_90a"}) EXPECT_EQ(assemble(*nvrtc, text, arch), "");
  }
  std::string type() const { return GetParam(); }
  bool is_narrow() const { return type() == "e2m1" || (type().size() == 2 && type()[1] < '8' && type()[0] != 'f'); }
  bool is_float() const { return type()[0] == 'f' || type()[0] == 'e' || type() == "bf16" || type() == "tf32"; }
  std::string twice(const std::string& x) const { return type() == "bool" ? "not " + x : x + " + " + x; }
};

TEST_P(Types, AreHeldInRegisters) {
  if (is_narrow()) return;
  std::string body = fmt::format(
      "    fragment x: {0}[16, 64] vector vec 2 lanes 32\n    fragment y: {0}[4, 32] vector vec 1 lanes 32\n"
      "    fragment r: {0}[16] rows of x\n    fragment f: f32[16, 64] vector vec 2 lanes 32\n"
      "    load x <- X[0, 0]\n    load y <- X[0, 0]\n    load r <- Z[0]\n"
      "    each i, j in x:\n      x[i, j] = {1}\n      f[i, j] = f32({2})\n"
      "    each i, j in y:\n      y[i, j] = {3}\n"
      "    each i, j in f:\n      x[i, j] = select(f[i, j] > 1.0, x[i, j], r[i])\n"
      "    store s[0, 0] <- x\n    load x <- s[0, 0]\n    store Y[0, 0] <- x\n    store Y[16, 0] <- y\n",
      type(), twice("x[i, j]"), type() == "bool" ? "i32(x[i, j])" : "x[i, j]", twice("y[i, j]"));
  expect_assembled(fmt::format("X: in {0}[N, 64], Y: out {0}[N, 64], Z: in {0}[16]", type()), body);
}

TEST_P(Types, AreWrittenAsElements) {
  expect_assembled(fmt::format("X: in {0}[N], Y: out {0}[N]", type()),
                   fmt::format("    put Y[thread] = {}\n", twice("X[thread]")));
}

TEST_P(Types, AreConverted) {
  std::string body;
  int n = 0;
  for (const char* from : {"f32", "f64", "f16", "i64", "u64", "i32", "u8"}) {
    bool from_float = from[0] == 'f';
    std::vector<std::string> options = {""};
    if (type() != "bool") options.push_back(", saturate=true");
    if (type() != "bool" && from_float)
      options.insert(options.end(), {", round=down", ", round=up", ", round=toward_zero, saturate=true"});
    for (const std::string& option : options)
      body += fmt::format("    put Y[thread + {}] = {}({}(W[thread]){})\n", n++, type(), from, option);
  }
  body += fmt::format("    put Z[thread] = f64({}(W[thread]))\n", type());
  expect_assembled(fmt::format("W: in f32[N], Y: out {}[N], Z: out f64[N]", type()), body);
}

TEST_P(Types, HaveFunctions) {
  if (!is_float()) return;
  std::string body;
  for (const char* function : {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "sigmoid",
                               "floor", "ceil", "round", "trunc", "abs"})
    body += fmt::format("    put Y[thread] = {}(X[thread])\n", function);
  body += "    put Y[thread] = pow(X[thread], min(X[0], X[1]))\n    put Y[thread] = fma(X[0], X[1], max(X[2], X[3]))\n";
  body += "    put Y[thread] = select(isnan(X[0]) or isinf(X[1]), X[2], X[3])\n";
  expect_assembled(fmt::format("X: in {0}[N], Y: out {0}[N]", type()), body);
}

INSTANTIATE_TEST_SUITE_P(EmitCuda, Types,
                         ::testing::Values("bool", "i1", "i2", "i4", "i8", "i16", "i32", "i64", "u1", "u2", "u4", "u8",
                                           "u16", "u32", "u64", "f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2",
                                           "e2m1"));

class Atomics : public ::testing::TestWithParam<const char*> {};

TEST_P(Atomics, AreInstructionsOrLoops) {
  NEEDS_COMPILER(nvrtc);
  std::string text =
      fmt::format("roles t(X: in {0}[N], Y: inout {0}[N]) device h200:\n  launch 1\n  role all warps 4:\n", GetParam());
  for (const char* op : {"add", "max", "min"})
    text += fmt::format("    old_{0} = atomic_{0}(Y[0], X[thread])\n    put Y[thread] = old_{0}\n", op);
  for (const char* arch : {"sm_80", "sm_90a"}) EXPECT_EQ(assemble(*nvrtc, text, arch), "");
}

INSTANTIATE_TEST_SUITE_P(EmitCuda, Atomics, ::testing::Values("i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"));

/// Both have as many bits.
class Bitcasts : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Bitcasts, GoBothWays) {
  NEEDS_COMPILER(nvrtc);
  auto [a, b] = GetParam();
  std::string text = fmt::format(
      "roles t(X: in {0}[N], Z: in {1}[N], Y: out {1}[N], W: out {0}[N]) device h200:\n  launch 1\n"
      "  role all warps 4:\n    put Y[thread] = bitcast({1}, X[thread])\n    put W[thread] = bitcast({0}, Z[thread])\n",
      a, b);
  for (const char* arch : {"sm_80", "sm_90a"}) EXPECT_EQ(assemble(*nvrtc, text, arch), "");
}

INSTANTIATE_TEST_SUITE_P(EmitCuda, Bitcasts,
                         ::testing::Values(std::pair("f64", "i64"), std::pair("f64", "u64"), std::pair("f32", "u32"),
                                           std::pair("tf32", "u32"), std::pair("f16", "i16"), std::pair("bf16", "u16"),
                                           std::pair("f16", "bf16"), std::pair("e4m3", "u8"), std::pair("e5m2", "i8"),
                                           std::pair("e4m3", "e5m2"), std::pair("e2m1", "u4"), std::pair("i4", "u4"),
                                           std::pair("i1", "u1"), std::pair("i8", "u8"), std::pair("i64", "u64")));

struct Shipped {
  const char* name;
  const char* arch;
  lang::Bindings bindings = {};
};

class RolePrograms : public ::testing::TestWithParam<Shipped> {};

TEST_P(RolePrograms, AssembleWithoutSpillsOrSerializedInstructions) {
  NEEDS_COMPILER(nvrtc);
  const Shipped& shipped = GetParam();
  std::string path = std::string(PLAIT_SOURCE_DIR) + "/tests/roles/" + shipped.name + ".roles";
  std::ifstream in(path);
  std::string text(std::istreambuf_iterator<char>(in), {});
  Result<roles::Program> program = roles::parse(std::make_shared<SourceFile>(path, text), shipped.bindings);
  ASSERT_TRUE(program.ok()) << program.diagnostics().render();
  Diagnostics found = roles::verify(*program);
  ASSERT_FALSE(found.has_errors()) << found.render();
  Result<Module> module = emit(*program, shipped.arch);
  ASSERT_TRUE(module.ok()) << module.diagnostics().render();
  Result<plait::cuda::Code> code = plait::cuda::compile(*nvrtc, *module);
  ASSERT_TRUE(code.ok()) << code.diagnostics().render();
  EXPECT_EQ(code->report.spill_store_bytes + code->report.spill_load_bytes, 0);
  EXPECT_TRUE(code->warnings.empty()) << code->warnings.render();
}

INSTANTIATE_TEST_SUITE_P(EmitCuda, RolePrograms,
                         ::testing::Values(Shipped{"matmul_coop", "sm_90a"},
                                           Shipped{"matmul_coop", "sm_90a", {{"in_flight", "1"}}},
                                           Shipped{"matmul_channels", "sm_90a"}, Shipped{"matmul_multicast", "sm_90a"},
                                           Shipped{"matmul_pingpong", "sm_90a"}, Shipped{"attention_fwd", "sm_90a"},
                                           Shipped{"attention_fwd", "sm_90a", {{"causal", "true"}, {"paired", "true"}}},
                                           Shipped{"matmul_sm80", "sm_80"}, Shipped{"matmul_sm80", "sm_89"},
                                           Shipped{"matmul_sm80", "sm_90"}, Shipped{"softmax_rows", "sm_80"},
                                           Shipped{"softmax_rows", "sm_90a"}, Shipped{"copy_bulk", "sm_90"},
                                           Shipped{"copy_rows", "sm_80"}, Shipped{"micro/micro_wgmma", "sm_90a"},
                                           Shipped{"micro/micro_tma", "sm_90"}, Shipped{"micro/micro_vector", "sm_90"},
                                           Shipped{"micro/micro_barriers", "sm_90"}));

}  // namespace
}  // namespace plait::emit::cuda
