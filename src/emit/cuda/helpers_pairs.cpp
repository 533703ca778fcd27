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

/// How two values of four bits become a pair: as the lowest digits of numbers so large that these count ones, or for the
/// upper value 16s. What is too much is taken away, exactly.
struct Offset {
  const char* spread;               ///< the byte `x` over both halves
  unsigned mask, size;              ///< (x & mask) ^ size, by one instruction
  unsigned factor, rest;            ///< times factor, plus rest
};

std::string nibbles_text(const std::string& from, const std::string& to, const Offset& how) {
  return fmt::format(R"(// The {0} values of one byte of a word, the lower first.
__device__ __forceinline__ unsigned {0}_pair_{1}(unsigned word, int byte) {{
  {2}
  unsigned v, y;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(v) : "r"(x), "r"({3:#x}u), "r"({4:#x}u));
  asm("fma.rn.{1}x2 %0, %1, %2, %3;" : "=r"(y) : "r"(v), "r"({5:#x}u), "r"({6:#x}u));
  return y;
}}
)",
                     from, to, how.spread, how.mask, how.size, how.factor, how.rest);
}

}  // namespace

void add_pair_helpers(HelperTable& table) {
  table["word_of"] = {{}, R"(__device__ __forceinline__ unsigned word_of(const uint4& x, int i) {
  return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w;
}
)"};
  for (std::string type : {"f16", "bf16"}) table["mul_" + type + "x2"] = {{}, product_text(type)};
  // f16 counts ones from 1024 on. The upper value stays where it is in the byte: 1024 + 16 v, divided by 16, is 64 + v.
  const char* twice = "const unsigned x = __byte_perm(word, 0, byte * 0x1111);";
  // Flipping the sign bit of a signed value adds 8.
  table["u4_pair_f16"] = {{}, nibbles_text("u4", "f16", {twice, 0x00f0000f, 0x64006400, 0x2c003c00, 0xd400e400})};
  table["i4_pair_f16"] = {{}, nibbles_text("i4", "f16", {twice, 0x00f0000f, 0x64806408, 0x2c003c00, 0xd480e408})};
  // bf16 counts ones from 128 on, and has no room for four bits more: the upper value comes down by a product.
  const char* apart = "const unsigned x = __byte_perm(word, 0, byte | 0x4440) * 0x1001u;";
  table["u4_pair_bf16"] = {{}, nibbles_text("u4", "bf16", {apart, 0x000f000f, 0x43004300, 0x3f803f80, 0xc300c300})};
  table["i4_pair_bf16"] = {{}, nibbles_text("i4", "bf16", {apart, 0x000f000f, 0x43084308, 0x3f803f80, 0xc308c308})};
}

}  // namespace plait::emit::cuda
