#include <fmt/format.h>

#include "emit/cuda/helpers.h"

namespace plait::emit::cuda {
namespace {

using Table = HelperTable;

/// A helper that is one PTX instruction without operands.
HelperText instruction(const std::string& name, const std::string& ptx) {
  return {{},
          "__device__ __forceinline__ void " + name + "() {\n  asm volatile(\"" + ptx + ";\" ::: \"memory\");\n}\n"};
}
/// One whose operand is a literal.
HelperText counted(const std::string& name, const std::string& ptx) {
  return {{},
          "template <int N>\n__device__ __forceinline__ void " + name + "() {\n  asm volatile(\"" + ptx +
              " %0;\" ::\"n\"(N) : \"memory\");\n}\n"};
}
/// float -> float by one instruction.
HelperText unary(const std::string& name, const std::string& ptx) {
  return {{},
          "__device__ __forceinline__ float " + name + "(float x) {\n  float y;\n  asm(\"" + ptx +
              " %0, %1;\" : \"=f\"(y) : \"f\"(x));\n  return y;\n}\n"};
}
HelperText binary(const std::string& name, const std::string& ptx) {
  return {{},
          "__device__ __forceinline__ float " + name + "(float a, float b) {\n  float y;\n  asm(\"" + ptx +
              " %0, %1, %2;\" : \"=f\"(y) : \"f\"(a), \"f\"(b));\n  return y;\n}\n"};
}

void add_types(Table& table) {
  table["TensorMap"] = {{}, "struct alignas(64) TensorMap {\n  unsigned long long opaque[16];\n};\n"};
  table["bf16"] = {{}, "struct bf16 {\n  unsigned short bits;\n};\n"};
  table["f16"] = {{}, "struct f16 {\n  unsigned short bits;\n};\n"};
  table["e4m3"] = {{}, "struct e4m3 {\n  unsigned char bits;\n};\n"};
  table["e5m2"] = {{}, "struct e5m2 {\n  unsigned char bits;\n};\n"};
}

void add_conversions(Table& table) {
  for (std::string type : {"bf16", "f16"}) {
    table["pack_" + type + "x2"] = {
        {},
        "// Two values rounded to " + type +
            ", the first in the low half. Volatile: stays behind the await before it.\n"
            "__device__ __forceinline__ unsigned pack_" +
            type + "x2(float low, float high) {\n  unsigned y;\n  asm volatile(\"cvt.rn." + type +
            "x2.f32 %0, %1, %2;\" : \"=r\"(y) : \"f\"(high), \"f\"(low));\n  return y;\n}\n"};
    table["round_" + type] = {{type + "_to_float"},
                              "__device__ __forceinline__ float round_" + type +
                                  "(float x) {\n  unsigned short y;\n  asm(\"cvt.rn." + type +
                                  ".f32 %0, %1;\" : \"=h\"(y) : \"f\"(x));\n  return " + type + "_to_float(y);\n}\n"};
    table["to_" + type] = {{type},
                           "__device__ __forceinline__ " + type + " to_" + type + "(float x) {\n  " + type +
                               " y;\n  asm(\"cvt.rn." + type +
                               ".f32 %0, %1;\" : \"=h\"(y.bits) : \"f\"(x));\n  return y;\n}\n"};
    table[type + "_low"] = {{type + "_to_float"},
                            "__device__ __forceinline__ float " + type + "_low(unsigned x) {\n  return " + type +
                                "_to_float((unsigned short)x);\n}\n"};
    table[type + "_high"] = {{type + "_to_float"},
                             "__device__ __forceinline__ float " + type + "_high(unsigned x) {\n  return " + type +
                                 "_to_float((unsigned short)(x >> 16));\n}\n"};
  }
  table["bf16_to_float"] = {{},
                            "__device__ __forceinline__ float bf16_to_float(unsigned short x) {\n  return "
                            "__uint_as_float((unsigned)x << 16);\n}\n"};
  table["f16_to_float"] = {{},
                           "__device__ __forceinline__ float f16_to_float(unsigned short x) {\n  float y;\n  "
                           "asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x));\n  return y;\n}\n"};
}

void add_math(Table& table) {
  table["exp2_approx"] = unary("exp2_approx", "ex2.approx.ftz.f32");
  table["log2_approx"] = unary("log2_approx", "lg2.approx.ftz.f32");
  table["rsqrt_approx"] = unary("rsqrt_approx", "rsqrt.approx.ftz.f32");
  table["sin_approx"] = unary("sin_approx", "sin.approx.ftz.f32");
  table["cos_approx"] = unary("cos_approx", "cos.approx.ftz.f32");
  table["tanh_approx"] = unary("tanh_approx", "tanh.approx.f32");
  table["max_nan"] = binary("max_nan", "max.NaN.f32");
  table["min_nan"] = binary("min_nan", "min.NaN.f32");
  for (std::string op : {"max", "min"}) {
    std::string name = op + "_nan_f64", compare = op == "max" ? ">" : "<";
    table[name] = {{},
                   "__device__ __forceinline__ double " + name +
                       "(double a, double b) {\n  return a != a ? a : b != b || !(a " + compare + " b) ? b : a;\n}\n"};
  }
  table["max_of"] = {
      {}, "template <typename T>\n__device__ __forceinline__ T max_of(T a, T b) {\n  return a > b ? a : b;\n}\n"};
  table["min_of"] = {
      {}, "template <typename T>\n__device__ __forceinline__ T min_of(T a, T b) {\n  return a < b ? a : b;\n}\n"};
  table["pick"] = {{},
                   "template <typename T>\n__device__ __forceinline__ T pick(bool condition, T a, T b) {\n"
                   "  return condition ? a : b;\n}\n"};
  table["ceil_div"] = {{},
                       "template <typename T>\n__device__ __forceinline__ T ceil_div(T a, T b) {\n"
                       "  return a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);\n}\n"};
}

void add_barriers(Table& table) {
  table["mbar_init"] = {{}, R"(__device__ __forceinline__ void mbar_init(unsigned mbar, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(mbar), "r"(count) : "memory");
}
)"};
  table["mbar_wait"] = {{}, R"(// Until the phase of this parity is complete.
__device__ __forceinline__ void mbar_wait(unsigned mbar, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(mbar), "r"(parity) : "memory");
}
)"};
  table["mbar_arrive"] = {{}, R"(__device__ __forceinline__ void mbar_arrive(unsigned mbar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(mbar) : "memory");
}
)"};
  table["mbar_arrive_at"] = {{}, R"(// At the same barrier of another block of the cluster.
__device__ __forceinline__ void mbar_arrive_at(unsigned mbar, unsigned rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(mbar), "r"(rank) : "memory");
}
)"};
  table["mbar_expect"] = {{}, R"(__device__ __forceinline__ void mbar_expect(unsigned mbar, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(mbar), "r"(bytes) : "memory");
}
)"};
  table["fence_mbar_init"] = instruction("fence_mbar_init", "fence.mbarrier_init.release.cluster");
  table["fence_proxy_async"] = instruction("fence_proxy_async", "fence.proxy.async.shared::cta");
  table["cluster_arrive"] = instruction("cluster_arrive", "barrier.cluster.arrive.release.aligned");
  table["cluster_wait"] = instruction("cluster_wait", "barrier.cluster.wait.acquire.aligned");
  table["barrier_sync"] = {{}, R"(__device__ __forceinline__ void barrier_sync(int id, int threads) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
)"};
  table["barrier_arrive"] = {{}, R"(__device__ __forceinline__ void barrier_arrive(int id, int threads) {
  asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
)"};
  table["more_registers"] = counted("more_registers", "setmaxnreg.inc.sync.aligned.u32");
  table["fewer_registers"] = counted("fewer_registers", "setmaxnreg.dec.sync.aligned.u32");
  table["cycles"] = {{}, R"(__device__ __forceinline__ unsigned cycles() {
  unsigned now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
  return now;
}
)"};
  table["nanoseconds"] = {{}, R"(__device__ __forceinline__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}
)"};
}

void add_copies(Table& table) {
  table["bulk_commit"] = instruction("bulk_commit", "cp.async.bulk.commit_group");
  table["bulk_wait"] = counted("bulk_wait", "cp.async.bulk.wait_group");
  table["bulk_wait_read"] = counted("bulk_wait_read", "cp.async.bulk.wait_group.read");
  table["prefetch"] = {{"TensorMap"}, R"(__device__ __forceinline__ void prefetch(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
)"};
  table["cache_hint_evict_first"] = {{},
                                     "// L2 policies, as createpolicy.fractional makes them for the whole access.\n"
                                     "constexpr unsigned long long cache_hint_evict_first = 0x12f0000000000000ull;\n"};
  table["cache_hint_evict_last"] = {{},
                                    "constexpr unsigned long long cache_hint_evict_last = 0x14f0000000000000ull;\n"};
  table["is_inside"] = {{}, R"(// 0 <= x < extent, by one comparison: without sign, what is below 0 is large.
__device__ __forceinline__ bool is_inside(long long x, long long extent) {
  return static_cast<unsigned long long>(x) < static_cast<unsigned long long>(extent);
}
)"};
  table["cp_async_16"] = {{}, R"(// 16 bytes, the last 16 - `bytes` of them zero.
__device__ __forceinline__ void cp_async_16(unsigned to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
)"};
  for (const char* bytes : {"8", "4"}) {
    std::string name = std::string("cp_async_") + bytes;
    table[name] = {{},
                   fmt::format(R"(// {0} bytes, the last {0} - `bytes` of them zero.
__device__ __forceinline__ void {1}(unsigned to, const void* from, int bytes) {{
  asm volatile("cp.async.ca.shared.global [%0], [%1], {0}, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}}
)",
                               bytes, name)};
  }
  table["cp_commit"] = instruction("cp_commit", "cp.async.commit_group");
  table["cp_wait"] = counted("cp_wait", "cp.async.wait_group");
  table["swizzled"] = {{}, R"(// The place of a byte in a tile whose 16-byte units are exchanged within SPAN bytes.
template <int SPAN>
__device__ __forceinline__ unsigned swizzled(unsigned byte) {
  return byte ^ ((byte >> 7 & SPAN / 16 - 1) << 4);
}
)"};
  table["shared_at"] = {{}, R"(template <typename T>
__device__ __forceinline__ T& shared_at(unsigned address) {
  return *reinterpret_cast<T*>(__cvta_shared_to_generic(address));
}
)"};
}

void add_matrix(Table& table) {
  table["wgmma_fence"] = instruction("wgmma_fence", "wgmma.fence.sync.aligned");
  table["wgmma_commit"] = instruction("wgmma_commit", "wgmma.commit_group.sync.aligned");
  table["wgmma_await"] = counted("wgmma_await", "wgmma.wait_group.sync.aligned");
  table["keep"] = {{}, R"(// Registers of instructions under way: no access moves over this point.
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
)"};
  table["never"] = {{}, R"(// Known to nobody before the kernel runs.
__device__ __forceinline__ bool never() {
  unsigned id;
  asm("mov.u32 %0, %%smid;" : "=r"(id));
  return id == ~0u;
}
)"};
  table["renew"] = {{}, R"(// Registers that are read here, and anything behind it.
template <typename T, int N>
__device__ __forceinline__ void renew(T (&x)[N]) {
  unsigned id;
  asm("mov.u32 %0, %%smid;" : "=r"(id));
  auto* place = reinterpret_cast<volatile T*>(static_cast<unsigned long long>(id) * 16);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    *place = x[i];
    x[i] = *place;
  }
}
)"};
  table["matrix_desc"] = {
      {},
      R"(// Descriptor of a wgmma operand in shared memory: byte distances of its pieces, swizzle code; its address within the block in units of 16 bytes.
template <unsigned LEADING, unsigned STRIDE, unsigned SWIZZLE>
__device__ __forceinline__ unsigned long long matrix_desc(unsigned address) {
  return (unsigned long long)(SWIZZLE << 30 | STRIDE >> 4) << 32 | ((LEADING >> 4 << 16) + address);
}
)"};
  table["stmatrix_x4"] = {
      {}, R"(__device__ __forceinline__ void stmatrix_x4(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}
)"};
  for (std::string trans : {"", "_trans"}) {
    std::string suffix = trans.empty() ? "" : ".trans";
    table["ldmatrix_x4" + trans] = {{},
                                    "__device__ __forceinline__ void ldmatrix_x4" + trans +
                                        "(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned from) {\n  asm "
                                        "volatile(\"ldmatrix.sync.aligned.m8n8.x4" +
                                        suffix +
                                        ".shared.b16 {%0, %1, %2, %3}, [%4];\" : \"=r\"(a), \"=r\"(b), \"=r\"(c), "
                                        "\"=r\"(d) : \"r\"(from) : \"memory\");\n}\n"};
    table["ldmatrix_x2" + trans] = {
        {},
        "__device__ __forceinline__ void ldmatrix_x2" + trans +
            "(unsigned& a, unsigned& b, unsigned from) {\n  asm volatile(\"ldmatrix.sync.aligned.m8n8.x2" + suffix +
            ".shared.b16 {%0, %1}, [%2];\" : \"=r\"(a), \"=r\"(b) : \"r\"(from) : \"memory\");\n}\n"};
  }
}

Table make_table() {
  Table table;
  add_types(table);
  add_conversions(table);
  add_number_helpers(table);
  add_element_helpers(table);
  add_math(table);
  add_barriers(table);
  add_copies(table);
  add_matrix(table);
  add_pair_helpers(table);
  return table;
}

const Table& helpers() {
  static const Table table = make_table();
  return table;
}

}  // namespace

bool is_fixed_helper(const std::string& name) { return helpers().contains(name); }

const HelperText& fixed_helper(const std::string& name) {
  auto found = helpers().find(name);
  PLAIT_ASSERT(found != helpers().end(), "no CUDA helper " + name);
  return found->second;
}

}  // namespace plait::emit::cuda
