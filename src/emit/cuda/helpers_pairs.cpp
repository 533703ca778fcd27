#include <fmt/format.h>

#include "emit/cuda/helpers.h"

// Two elements of 16 bits at once.
namespace plait::emit::cuda {
namespace {

/// a·b of both, each rounded once: adding -0 changes no product, and no zero's sign.
std::string product_text(const std::string& type) {
  return fmt::format(R"(__device__ __forceinline__ unsigned mul_{0}x2(unsigned a, unsigned b) {{
  unsigned y;
  asm("fma.rn.{0}x2 %0, %1, %2, %3;" : "=r"(y) : "r"(a), "r"(b), "r"(0x80008000u));
  return y;
}}
)",
                     type);
}

/// How two values of four bits become a pair: as digits of numbers so large that these digits count ones. What is too
/// much is taken away, exactly.
struct Offset {
  const char* spread;   ///< the byte `x` over both halves
  unsigned mask, size;  ///< (x & mask) ^ size, by one instruction
  unsigned rest;        ///< that is added
};

std::string nibbles_text(const std::string& from, const std::string& to, const Offset& how) {
  // Before sm_90 bf16 is added by fma alone, here to 1·v.
  const char* sum = to == "f16" ? R"("add.rn.f16x2 %0, %1, %2;")" : R"("fma.rn.bf16x2 %0, %1, %3, %2;")";
  const char* one = to == "f16" ? "" : R"(, "r"(0x3f803f80u))";
  return fmt::format(R"(// The {0} values of one byte of a word, the lower first.
__device__ __forceinline__ unsigned {0}_pair_{1}(unsigned word, int byte) {{
  {2}
  unsigned v, y;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(v) : "r"(x), "r"({3:#x}u), "r"({4:#x}u));
  asm({5} : "=r"(y) : "r"(v), "r"({6:#x}u){7});
  return y;
}}
)",
                     from, to, how.spread, how.mask, how.size, sum, how.rest, one);
}

}  // namespace

void add_pair_helpers(HelperTable& table) {
  table["word_of"] = {{}, R"(__device__ __forceinline__ unsigned word_of(const uint4& x, int i) {
  return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w;
}
)"};
  for (std::string type : {"f16", "bf16"}) table["mul_" + type + "x2"] = {{}, product_text(type)};
  // The lowest four bits of an f16 from 1024 on count ones, and so do the four above them from 64 on: the upper value
  // stays where it is in the byte. Flipping the sign bit of a signed value adds 8.
  const char* twice = "const unsigned x = __byte_perm(word, 0, byte * 0x1111);";
  table["u4_pair_f16"] = {{}, nibbles_text("u4", "f16", {twice, 0x00f0000f, 0x54006400, 0xd400e400})};
  table["i4_pair_f16"] = {{}, nibbles_text("i4", "f16", {twice, 0x00f0000f, 0x54806408, 0xd480e408})};
  // A bf16 has seven such bits: the upper value comes down by a product. The lowest bits count ones from 128 on.
  const char* apart = "const unsigned x = __byte_perm(word, 0, byte | 0x4440) * 0x1001u;";
  table["u4_pair_bf16"] = {{}, nibbles_text("u4", "bf16", {apart, 0x000f000f, 0x43004300, 0xc300c300})};
  table["i4_pair_bf16"] = {{}, nibbles_text("i4", "bf16", {apart, 0x000f000f, 0x43084308, 0xc308c308})};
}

}  // namespace plait::emit::cuda
