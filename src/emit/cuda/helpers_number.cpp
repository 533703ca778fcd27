#include <fmt/format.h>

#include "emit/cuda/helpers.h"

// Conversions: what docs/language.md says of them, where no instruction does.
namespace plait::emit::cuda {
namespace {

using ir::DType;
using ir::Rounding;

/// A float format narrower than float, as the helpers take it.
struct Narrow {
  int fraction = 0, least = 0;   ///< stored fraction bits; exponent of the smallest normal number
  const char *largest, *beyond;  ///< finite; what lies beyond it
  bool same_exponents = false;   ///< as float: rounding drops bits
};

constexpr const char* kInfinity = "__int_as_float(0x7f800000)";
constexpr const char* kNan = "__int_as_float(0x7fc00000)";

Narrow narrow_of(DType type) {
  switch (type) {
    case DType::bf16:
      return {7, -126, "__int_as_float(0x7f7f0000)", kInfinity, true};
    case DType::tf32:
      return {10, -126, "__int_as_float(0x7f7fe000)", kInfinity, true};
    case DType::f16:
      return {10, -14, "65504.0f", kInfinity};
    case DType::e5m2:
      return {2, -14, "57344.0f", kInfinity};
    case DType::e4m3:
      return {3, -6, "448.0f", kNan};
    case DType::e2m1:
      return {1, 0, "6.0f", "6.0f"};
    case DType::f32:
    case DType::f64:
    case DType::bool_:
    case DType::i1:
    case DType::i2:
    case DType::i4:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u1:
    case DType::u2:
    case DType::u4:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      break;
  }
  throw InternalError(fmt::format("{} is no narrow float", ir::dtype_name(type)));
}

/// The helpers that a rounding to the type calls.
std::vector<std::string> rounding_needs(DType type) {
  return {narrow_of(type).same_exponents ? "round_bits" : "round_scaled", "limited"};
}

std::string rounding_function(const std::string& name, DType type, Rounding rounding, bool saturate) {
  Narrow to = narrow_of(type);
  int mode = static_cast<int>(rounding);
  std::string whole = to.same_exponents ? fmt::format("round_bits<{}, {}>(x)", 23 - to.fraction, mode)
                                        : fmt::format("round_scaled<{}, {}, {}>(x)", to.fraction, to.least, mode);
  std::string value = fmt::format("limited<{}, {}>({}, x, {}, {})", mode, saturate, whole, to.largest, to.beyond);
  if (type == DType::e2m1) value = "x == x ? " + value + " : 6.0f";
  return fmt::format("__device__ __forceinline__ float {}(float x) {{\n  return {};\n}}\n", name, value);
}

void add_rounding(HelperTable& table) {
  table["round_scaled"] = {
      {},
      R"(// To FRACTION bits behind the first one, to those of 2^LEAST for what is smaller. ROUNDING 0: to nearest even,
// 1: toward zero, 2: down, 3: up.
template <int FRACTION, int LEAST, int ROUNDING>
__device__ __forceinline__ float round_scaled(float x) {
  const int exponent = (int)(__float_as_uint(x) >> 23 & 255u) - 127;
  const int unit = max(exponent, LEAST) - FRACTION;
  const float y = x * __uint_as_float((unsigned)(127 - unit) << 23);
  const float whole = ROUNDING == 0 ? rintf(y) : ROUNDING == 1 ? truncf(y) : ROUNDING == 2 ? floorf(y) : ceilf(y);
  return exponent == 128 ? x : whole * __uint_as_float((unsigned)(127 + unit) << 23);
}
)"};
  table["round_bits"] = {{},
                         R"(// The same where the type has the exponents of float: the last DROP bits are rounded away.
template <int DROP, int ROUNDING>
__device__ __forceinline__ float round_bits(float x) {
  const unsigned bits = __float_as_uint(x), below = (1u << DROP) - 1u;
  const bool away = ROUNDING == 3 ? x > 0.0f : ROUNDING == 2 && x < 0.0f;
  const unsigned more = ROUNDING == 0 ? (below >> 1) + (bits >> DROP & 1u) : away ? below : 0u;
  return (bits >> 23 & 255u) == 255u ? x : __uint_as_float((bits + more) & ~below);
}
)"};
  table["limited"] = {
      {},
      R"(// `rounded`, of x, where it is too large: a finite number that is rounded toward zero stops at the largest one.
template <int ROUNDING, bool SATURATE>
__device__ __forceinline__ float limited(float rounded, float x, float largest, float beyond) {
  const bool finite = fabsf(x) < __int_as_float(0x7f800000);
  const bool inward = ROUNDING == 1 || (ROUNDING == 2 && x > 0.0f) || (ROUNDING == 3 && x < 0.0f);
  return fabsf(rounded) > largest ? copysignf(SATURATE || (finite && inward) ? largest : beyond, x) : rounded;
}
)"};
  for (DType type : {DType::tf32, DType::e4m3, DType::e5m2, DType::e2m1}) {
    std::string name = fmt::format("round_{}", ir::dtype_name(type));
    table[name] = {rounding_needs(type), rounding_function(name, type, Rounding::nearest_even, false)};
    name += "_saturated";
    table[name] = {rounding_needs(type), rounding_function(name, type, Rounding::nearest_even, true)};
  }
  table["odd"] = {
      {},
      R"(// To float, toward zero, with the last bit set where something is lost: the rounding behind it decides as one alone.
__device__ __forceinline__ float odd_if(bool lost, float x) {
  return lost ? __uint_as_float(__float_as_uint(x) | 1u) : x;
}
__device__ __forceinline__ float odd(double x) {
  const float y = __double2float_rz(x);
  return odd_if(x == x && (double)y != x, y);
}
__device__ __forceinline__ float odd(int x) {
  const float y = __int2float_rz(x);
  return odd_if((int)y != x, y);
}
__device__ __forceinline__ float odd(unsigned x) {
  const float y = __uint2float_rz(x);
  return odd_if((unsigned)y != x, y);
}
__device__ __forceinline__ float odd(long long x) {
  const float y = __ll2float_rz(x);
  return odd_if((long long)y != x, y);
}
__device__ __forceinline__ float odd(unsigned long long x) {
  const float y = __ull2float_rz(x);
  return odd_if((unsigned long long)y != x, y);
}
)"};
}

void add_to_integers(HelperTable& table) {
  table["to_integer"] = {{}, R"(// Toward zero; of a NaN 0, of what is too large the end of the type.
__device__ __forceinline__ long long to_integer(float x) {
  return x == x ? __float2ll_rz(x) : 0;
}
__device__ __forceinline__ long long to_integer(double x) {
  return x == x ? __double2ll_rz(x) : 0;
}
)"};
  table["to_u64"] = {{"to_integer"}, R"(// Exact where the value fits, else by way of long long.
__device__ __forceinline__ unsigned long long to_u64(float x) {
  return x >= 0.0f && x < 18446744073709551616.0f ? __float2ull_rz(x) : (unsigned long long)to_integer(x);
}
__device__ __forceinline__ unsigned long long to_u64(double x) {
  return x >= 0.0 && x < 18446744073709551616.0 ? __double2ull_rz(x) : (unsigned long long)to_integer(x);
}
)"};
  table["saturated"] = {{"to_u64"},
                        R"(// Toward zero, at most to the ends of T, which are `low` and one less than `beyond`.
template <typename T, typename F>
__device__ __forceinline__ T saturated(F x, F low, F beyond, long long least, unsigned long long most) {
  return x < low ? (T)least : x >= beyond ? (T)most : T(-1) < T(0) ? (T)to_integer(x) : (T)to_u64(x);
}
)"};
  for (std::string type : {"f32", "f64"}) {
    bool wide = type == "f64";
    table["saturated_" + type] = {
        {},
        fmt::format("__device__ __forceinline__ {0} saturated_{1}({0} x) {{\n  const {0} largest = {2};\n"
                    "  return {3}(x) > largest ? {4}(largest, x) : x;\n}}\n",
                    wide ? "double" : "float", type,
                    wide ? "__longlong_as_double(0x7fefffffffffffffll)" : "__int_as_float(0x7f7fffff)",
                    wide ? "fabs" : "fabsf", wide ? "copysign" : "copysignf")};
  }
}

/// The codes of 8-bit floats and those of 4 bits; instructions from sm_89 on read and pack those of 8.
void add_codes(HelperTable& table) {
  table["float_code"] = {{}, R"(// The bits, without sign, of a number that the format holds.
template <int FRACTION, int LEAST>
__device__ __forceinline__ unsigned float_code(float x) {
  const unsigned size = __float_as_uint(x) & 0x7fffffffu;
  if ((int)(size >> 23) - 127 < LEAST) return (unsigned)(fabsf(x) * (float)(1 << (FRACTION - LEAST)));
  return (size >> (23 - FRACTION)) - ((unsigned)(126 + LEAST) << FRACTION);
}
)"};
  table["to_e4m3"] = {{"e4m3", "float_code"}, R"(__device__ __forceinline__ e4m3 to_e4m3(float x) {
  const unsigned code = x == x ? float_code<3, -6>(x) : 0x7fu;
  return {(unsigned char)(__float_as_uint(x) >> 24 & 0x80u | code)};
}
)"};
  table["to_e5m2"] = {{"e5m2", "float_code"}, R"(__device__ __forceinline__ e5m2 to_e5m2(float x) {
  const bool finite = fabsf(x) < __int_as_float(0x7f800000);
  const unsigned code = finite ? float_code<2, -14>(x) : x == x ? 0x7cu : 0x7eu;
  return {(unsigned char)(__float_as_uint(x) >> 24 & 0x80u | code)};
}
)"};
  table["to_e2m1"] = {{"float_code"}, R"(__device__ __forceinline__ unsigned to_e2m1(float x) {
  return __float_as_uint(x) >> 28 & 8u | float_code<1, 0>(x);
}
)"};
  table["e2m1_to_float"] = {{}, R"(// 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
__device__ __forceinline__ float e2m1_to_float(unsigned code) {
  const unsigned exponent = code >> 1 & 3u, mantissa = code & 1u;
  const float size = exponent == 0 ? 0.5f * mantissa : (1.0f + 0.5f * mantissa) * (float)(1u << (exponent - 1));
  return (code & 8u) != 0 ? -size : size;
}
)"};
  std::string hardware = R"cuda(#if __CUDA_ARCH__ >= 890
  float y;
  asm("{\n.reg .b16 low, high;\n.reg .b32 both;\n"
      "cvt.rn.f16x2.TYPEx2 both, %1;\n"
      "mov.b32 {low, high}, both;\ncvt.f32.f16 %0, low;\n}" : "=f"(y) : "h"((unsigned short)x));
  return y;
#else
)cuda";
  auto decode = [&](const std::string& type, const std::string& otherwise) {
    std::string text = hardware;
    text.replace(text.find("TYPE"), 4, type);
    table[type + "_to_float"] = {{"f16_to_float"},
                                 "__device__ __forceinline__ float " + type + "_to_float(unsigned char x) {\n" + text +
                                     otherwise + "#endif\n}\n"};
  };
  decode("e5m2", "  return f16_to_float((unsigned short)(x << 8));\n");
  decode("e4m3",
         "  const float size = 256.0f * f16_to_float((unsigned short)((x & 0x80) << 8 | (x & 0x7f) << 7));\n"
         "  return (x & 0x7f) == 0x7f ? __int_as_float(0x7fc00000) : size;\n");
}

}  // namespace

std::string rounding_text(Emitter& e, const std::string& name, DType type, Rounding rounding, bool saturate) {
  for (const std::string& need : rounding_needs(type)) e.helper(need);
  return rounding_function(name, type, rounding, saturate);
}

void add_number_helpers(HelperTable& table) {
  add_rounding(table);
  add_to_integers(table);
  add_codes(table);
}

}  // namespace plait::emit::cuda
