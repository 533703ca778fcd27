#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "emit/cuda/emitter.h"
#include "ir/numeric.h"

// The conversions that are printed as C++, compiled for the host with CUDA's intrinsics replaced, against src/ir.
namespace plait::emit::cuda {
namespace {

using ir::DType;
using ir::Rounding;

constexpr const char* kIntrinsics = R"(
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#define __device__
#define __forceinline__ inline
#define __CUDA_ARCH__ 800
using std::max;
template <class T, class F> T as(F f) { T t; static_assert(sizeof t == sizeof f); std::memcpy(&t, &f, sizeof t); return t; }
inline unsigned __float_as_uint(float x) { return as<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return as<float>(x); }
inline float __int_as_float(int x) { return as<float>(x); }
inline double __longlong_as_double(long long x) { return as<double>(x); }
template <class T> float rz(T x) {
  float y = static_cast<float>(x);
  bool away = std::fabs(static_cast<long double>(y)) > std::fabs(static_cast<long double>(x));
  return away ? std::nextafter(y, 0.0f) : y;
}
inline float __double2float_rz(double x) { return std::isfinite(x) ? rz(x) : static_cast<float>(x); }
inline float __int2float_rz(int x) { return rz(x); }
inline float __uint2float_rz(unsigned x) { return rz(x); }
inline float __ll2float_rz(long long x) { return rz(x); }
inline float __ull2float_rz(unsigned long long x) { return rz(x); }
template <class F> long long ll(F x) {
  return x >= F(0x1p63) ? INT64_MAX : x < -F(0x1p63) ? INT64_MIN : static_cast<long long>(x);
}
inline long long __float2ll_rz(float x) { return ll(x); }
inline long long __double2ll_rz(double x) { return ll(x); }
inline unsigned long long __float2ull_rz(float x) { return static_cast<unsigned long long>(x); }
inline unsigned long long __double2ull_rz(double x) { return static_cast<unsigned long long>(x); }
inline float f16_to_float(unsigned short x) {
  float size = std::ldexp(float((x >> 10 & 31) == 0 ? x & 1023 : (x & 1023) | 1024), std::max(x >> 10 & 31, 1) - 25);
  if ((x >> 10 & 31) == 31) size = (x & 1023) == 0 ? INFINITY : NAN;
  return x >> 15 ? -size : size;
}
)";

/// Everything that differs between formats.
const std::vector<DType> kNarrow = {DType::f16, DType::bf16, DType::tf32, DType::e4m3, DType::e5m2, DType::e2m1};
const std::vector<DType> kIntegers = {DType::i8, DType::i16, DType::i32, DType::i64,
                                      DType::u8, DType::u16, DType::u32, DType::u64};

std::string rounding_name(DType type, int rounding, bool saturate) {
  return fmt::format("to_{}_{}_{}", ir::dtype_name(type), rounding, saturate ? 1 : 0);
}

/// The helpers and functions by which the test calls them.
std::string source() {
  roles::Program none;
  Emitter e(none, "sm_80");
  std::string calls;
  auto entry = [&](const std::string& text) { calls += "extern \"C\" " + text + "\n"; };
  for (DType type : kNarrow) {
    for (int rounding = 0; rounding < 4; ++rounding) {
      for (bool saturate : {false, true}) {
        std::string name = rounding_name(type, rounding, saturate);
        std::string helper = "helper_" + name;
        e.helper(helper, rounding_text(e, helper, type, static_cast<Rounding>(rounding), saturate));
        entry(fmt::format("float {}(float x) {{ return {}(x); }}", name, helper));
      }
    }
  }
  for (DType type : kIntegers) {
    for (bool saturate : {false, true}) {
      std::string text = cast_text(e, DType::f32, type, Rounding::toward_zero, saturate, "x");
      entry(fmt::format("long long to_{}_{}(float x) {{ return (long long)({}); }}", ir::dtype_name(type),
                        saturate ? 1 : 0, text));
    }
  }
  for (DType type : {DType::e4m3, DType::e5m2, DType::e2m1}) {
    entry(fmt::format("int code_{}(float x) {{ return {}; }}", ir::dtype_name(type), code_text(e, type, "x")));
    entry(fmt::format("float value_{}(int x) {{ return {}; }}", ir::dtype_name(type), from_code(e, type, "x")));
  }
  e.helper("odd");
  entry("float odd_f64(double x) { return odd(x); }");
  entry("float odd_i64(long long x) { return odd(x); }");
  entry("float odd_u64(unsigned long long x) { return odd(x); }");
  std::string helpers = e.helpers_text(), own = fixed_helper("f16_to_float").text;
  if (std::size_t at = helpers.find(own); at != std::string::npos) helpers.erase(at, own.size());
  return kIntrinsics + helpers + calls;
}

/// The compiled functions.
class Numbers : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("plait_numbers_{}", getpid());
    std::filesystem::create_directories(folder);
    std::string text = (folder / "numbers.cpp").string(), library = (folder / "numbers.so").string();
    std::ofstream(text) << source();
    std::string command =
        fmt::format("{} -std=c++20 -O1 -ffp-contract=off -w -shared -fPIC -o {} {}", PLAIT_CXX, library, text);
    if (std::system(command.c_str()) == 0)
      library_ = dlopen(library.c_str(), RTLD_NOW);  // NOLINT(concurrency-mt-unsafe)
    std::filesystem::remove_all(folder);
  }
  void SetUp() override { ASSERT_NE(library_, nullptr) << "the printed conversions are no C++"; }

  template <typename Function>
  static Function* find(const std::string& name) {
    return reinterpret_cast<Function*>(dlsym(library_, name.c_str()));
  }

  inline static void* library_ = nullptr;
};

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// Floats of all sizes, with the neighbours of what narrower types round to.
std::vector<float> floats() {
  std::vector<float> all;
  for (std::uint32_t high = 0; high < 65536; ++high) {
    for (std::uint32_t low : {0x0u, 0x1000u, 0x1001u, 0x3000u, 0x7fffu, 0x8000u, 0x8001u, 0xf000u})
      all.push_back(std::bit_cast<float>(high << 16 | low));
  }
  return all;
}

TEST_F(Numbers, RoundAsTheLanguageDoes) {
  const std::vector<float> all = floats();
  for (DType type : kNarrow) {
    for (int rounding = 0; rounding < 4; ++rounding) {
      for (bool saturate : {false, true}) {
        std::string name = rounding_name(type, rounding, saturate);
        auto* convert = find<float(float)>(name);
        for (float x : all) {
          double want = ir::round_to(type, x, static_cast<Rounding>(rounding), saturate);
          ASSERT_TRUE(same(convert(x), want)) << name << " of " << x << " is " << convert(x) << ", not " << want;
        }
      }
    }
  }
}

TEST_F(Numbers, WiderTypesAreRoundedOnce) {
  std::mt19937_64 draw(1);
  auto* from_double = find<float(double)>("odd_f64");
  auto* from_signed = find<float(long long)>("odd_i64");
  auto* from_unsigned = find<float(unsigned long long)>("odd_u64");
  for (DType type : kNarrow) {
    auto* convert = find<float(float)>(rounding_name(type, 0, false));
    for (int i = 0; i < 50000; ++i) {
      auto whole = static_cast<std::int64_t>(draw() >> draw() % 64);
      double x = std::ldexp(static_cast<double>(whole), static_cast<int>(draw() % 60) - 50);
      ASSERT_TRUE(same(convert(from_double(x)), ir::round_to(type, x))) << ir::dtype_name(type) << " of " << x;
      ASSERT_TRUE(same(convert(from_signed(whole)), ir::int_to_float(type, whole))) << whole;
      ASSERT_TRUE(
          same(convert(from_unsigned(static_cast<unsigned long long>(whole))), ir::int_to_float(type, whole, true)))
          << whole;
    }
  }
}

TEST_F(Numbers, IntegersWrapByWayOfI64OrSaturate) {
  const std::vector<float> all = floats();
  for (DType type : kIntegers) {
    for (bool saturate : {false, true}) {
      std::string name = fmt::format("to_{}_{}", ir::dtype_name(type), saturate ? 1 : 0);
      auto* convert = find<long long(float)>(name);
      for (float x : all)
        ASSERT_EQ(convert(x), ir::float_to_int(type, x, Rounding::toward_zero, saturate)) << name << " of " << x;
    }
  }
}

TEST_F(Numbers, CodesAreThoseOfTheFormats) {
  for (DType type : {DType::e4m3, DType::e5m2, DType::e2m1}) {
    auto* code = find<int(float)>(fmt::format("code_{}", ir::dtype_name(type)));
    auto* value = find<float(int)>(fmt::format("value_{}", ir::dtype_name(type)));
    for (int i = 0; i < 1 << ir::dtype_bits(type); ++i) {
      double want = ir::decode_float(type, static_cast<std::uint64_t>(i));
      EXPECT_TRUE(same(value(i), want)) << ir::dtype_name(type) << " " << i << " is " << value(i) << ", not " << want;
      if (!std::isnan(want)) {
        EXPECT_EQ(code(value(i)), i) << ir::dtype_name(type);
      }
    }
  }
}

}  // namespace
}  // namespace plait::emit::cuda
