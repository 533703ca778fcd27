#include <fmt/format.h>

#include "emit/cuda/helpers.h"

// Elements that share a register or a byte, and steps that other threads do not see halves of.
namespace plait::emit::cuda {
namespace {

void add_registers(HelperTable& table) {
  table["pack_8x4"] = {{}, R"(// Four bytes, the first the lowest.
__device__ __forceinline__ unsigned pack_8x4(unsigned a, unsigned b, unsigned c, unsigned d) {
  return a & 255u | (b & 255u) << 8 | (c & 255u) << 16 | d << 24;
}
)"};
  table["pack_16x2"] = {{}, R"(__device__ __forceinline__ unsigned pack_16x2(unsigned low, unsigned high) {
  return low & 65535u | high << 16;
}
)"};
  table["with_bits"] = {{}, R"(// x with other bits from `at` on.
template <int BITS>
__device__ __forceinline__ unsigned with_bits(unsigned x, int at, unsigned bits) {
  const unsigned mask = (1u << BITS) - 1u;
  return x & ~(mask << at) | (bits & mask) << at;
}
)"};
  for (std::string type : {"e4m3", "e5m2"}) {
    for (std::string end : {"", "_saturated"}) {
      bool saturates = !end.empty();
      std::string name = "pack_" + type + "x4" + end, round = "round_" + type + end;
      std::string each;
      for (const char* value : {"a", "b", "c", "d"})
        each += fmt::format("{}to_{}({}({})).bits", each.empty() ? "" : ", ", type, round, value);
      std::string text = "// Four values rounded to " + type + (saturates ? ", saturating" : "") +
                         ", the first in the lowest byte.\n__device__ __forceinline__ unsigned " + name +
                         "(float a, float b, float c, float d) {\n";
      std::string software = "  return pack_8x4(" + each + ");\n";
      // The instruction saturates; 464 is half way from the largest e4m3 to the next number.
      bool instruction = saturates || type == "e4m3";
      if (instruction) {
        text += "#if __CUDA_ARCH__ >= 890\n";
        if (!saturates) {
          for (const char* value : {"a", "b", "c", "d"})
            text += fmt::format("  {0} = fabsf({0}) > 464.0f ? __int_as_float(0x7fc00000) : {0};\n", value);
        }
        text += "  unsigned y;\n  asm volatile(\"{\\n.reg .b16 low, high;\\n\"\n               \"cvt.rn.satfinite." +
                type + "x2.f32 low, %2, %1;\\n\"\n               \"cvt.rn.satfinite." + type +
                "x2.f32 high, %4, %3;\\n\"\n               \"mov.b32 %0, {low, high};\\n}\" : \"=r\"(y) : \"f\"(a), "
                "\"f\"(b), \"f\"(c), \"f\"(d));\n  return y;\n#else\n" +
                software + "#endif\n";
      } else {
        text += software;
      }
      table[name] = {{"pack_8x4", "to_" + type, round}, text + "}\n"};
    }
  }
}

/// Elements narrower than a byte: several share one, the first in its lowest bits.
void add_bits(HelperTable& table) {
  for (int bits : {1, 2, 4}) {
    std::string shift = std::to_string(32 - bits), width = std::to_string(bits), each = std::to_string(8 / bits);
    for (std::string sign : {"i", "u"}) {
      std::string type = sign + width, word = sign == "i" ? "int" : "unsigned";
      std::string value = sign == "i" ? "signed char" : "unsigned char";
      table["wrap_" + type] = {{},
                               "__device__ __forceinline__ " + value + " wrap_" + type + "(long long x) {\n  return (" +
                                   word + ")((unsigned)x << " + shift + ") >> " + shift + ";\n}\n"};
      table[type + "_at"] = {{"wrap_" + type},
                             "__device__ __forceinline__ " + value + " " + type + "_at(const " + value +
                                 "* bytes, long long i) {\n  return wrap_" + type + "(bytes[i / " + each +
                                 "] >> (int)(i % " + each + ") * " + width + ");\n}\n"};
    }
  }
  table["e2m1_at"] = {{"e2m1_to_float"},
                      R"(__device__ __forceinline__ float e2m1_at(const unsigned char* bytes, long long i) {
  return e2m1_to_float(bytes[i / 2] >> (int)(i % 2) * 4 & 15u);
}
)"};
  table["put_bits"] = {
      {},
      R"(// Element i of those of BITS bits. Other threads write the others of the byte, so that each changes its own alone.
template <int BITS>
__device__ __forceinline__ void put_bits(void* bytes, long long i, unsigned value) {
  const unsigned long long at = reinterpret_cast<unsigned long long>(bytes) + i / (8 / BITS);
  unsigned* word = reinterpret_cast<unsigned*>(at & ~3ull);
  const int shift = (int)(at & 3) * 8 + (int)(i % (8 / BITS)) * BITS;
  const unsigned mask = (1u << BITS) - 1u;
  atomicAnd(word, ~(mask << shift) | (value & mask) << shift);
  atomicOr(word, (value & mask) << shift);
}
)"};
}

struct AtomicType {
  const char *type, *value, *word, *memory;  ///< its name; in expressions; that atomicCAS takes; in memory
};

/// old = op(old, value) until nobody came between, where there is no instruction.
void add_atomics(HelperTable& table) {
  const AtomicType types[] = {{"f16", "float", "unsigned short", "f16"},
                              {"bf16", "float", "unsigned short", "bf16"},
                              {"f32", "float", "unsigned", "float"},
                              {"f64", "double", "unsigned long long", "double"}};
  for (const AtomicType& t : types) {
    std::string type = t.type;
    bool narrow = type == "f16" || type == "bf16";
    for (std::string op : {"add", "max", "min"}) {
      std::string both = op + (type == "f64" ? "_nan_f64" : "_nan");
      std::string sum = op == "add" ? "was + value" : both + "(was, value)";
      std::string get = narrow          ? type + "_to_float(old)"
                        : type == "f32" ? "__uint_as_float(old)"
                                        : "__longlong_as_double(old)";
      std::string code = narrow          ? "to_" + type + "(" + sum + ").bits"
                         : type == "f32" ? "__float_as_uint(" + sum + ")"
                                         : "__double_as_longlong(" + sum + ")";
      std::vector<std::string> needs;
      if (narrow) needs = {type, type + "_to_float", "to_" + type};
      if (op != "add") needs.push_back(both);
      table["atomic_" + op + "_" + type] = {
          needs, fmt::format(R"(__device__ __forceinline__ {0} atomic_{1}_{2}({3}* place, {0} value) {{
  auto* word = reinterpret_cast<{4}*>(place);
  {4} old = *const_cast<const volatile {4}*>(word), seen;
  do {{
    seen = old;
    const {0} was = {5};
    old = atomicCAS(word, seen, ({4}){6});
  }} while (old != seen);
  return {5};
}}
)",
                             t.value, op, type, t.memory, t.word, get, code)};
    }
  }
  table["atomic_add_i64"] = {{},
                             R"(__device__ __forceinline__ long long atomic_add_i64(long long* place, long long value) {
  return (long long)atomicAdd(reinterpret_cast<unsigned long long*>(place), (unsigned long long)value);
}
)"};
}

}  // namespace

void add_element_helpers(HelperTable& table) {
  add_registers(table);
  add_bits(table);
  add_atomics(table);
}

}  // namespace plait::emit::cuda
