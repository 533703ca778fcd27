#include "emit/cpu/gemm_kernel.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <random>

#include "unit/cpu_micro/jit.h"

namespace plait::cpu::test {
namespace {

using llvm::IRBuilder;
using llvm::Value;

/// Memory that ends at a page nobody may touch.
class Fenced {
 public:
  explicit Fenced(std::size_t bytes) : bytes_(bytes), size_((bytes + page - 1) / page * page + page) {
    base_ = static_cast<char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + size_ - page, page, PROT_NONE);
  }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  ~Fenced() { munmap(base_, size_); }
  void* data() const { return base_ + size_ - page - bytes_; }

 private:
  static constexpr std::size_t page = 4096;
  std::size_t bytes_;
  std::size_t size_;
  char* base_;
};

template <typename T>
T multiply_add(T a, T b, T c) {
  return std::fma(a, b, c);
}
template <>
std::int32_t multiply_add(std::int32_t a, std::int32_t b, std::int32_t c) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b) +
                                   static_cast<std::uint32_t>(c));
}

template <typename T>
T element(std::mt19937& random) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(std::normal_distribution<double>()(random));
  } else {
    return static_cast<T>(random());
  }
}

std::size_t extent(std::int64_t rows, std::int64_t columns, std::int64_t leading) {
  return rows == 0 || columns == 0 ? 0 : static_cast<std::size_t>((rows - 1) * leading + columns);
}

/// Runs the emitted product on memory that ends with the operands and compares each element with a serial chain, bit by
/// bit.
template <typename In, typename Acc>
void check(const GemmShape& s, const Machine& machine = {}) {
  const std::size_t size_a = s.trans_a ? extent(s.k, s.m, s.lda) : extent(s.m, s.k, s.lda);
  const std::size_t size_b = s.trans_b ? extent(s.n, s.k, s.ldb) : extent(s.k, s.n, s.ldb);
  const std::size_t size_c = extent(s.m, s.n, s.ldc);
  const auto scratch_bytes = static_cast<std::size_t>(gemm_scratch_bytes(s, Jit::target(machine)));
  const Fenced mem_a(size_a * sizeof(In)), mem_b(size_b * sizeof(In)), mem_c(size_c * sizeof(Acc)),
      scratch((scratch_bytes + 63) / 64 * 64);
  auto* a = static_cast<In*>(mem_a.data());
  auto* b = static_cast<In*>(mem_b.data());
  auto* c = static_cast<Acc*>(mem_c.data());
  std::mt19937 random(static_cast<unsigned>(s.m * 31 + s.n * 7 + s.k));
  for (std::size_t i = 0; i < size_a; ++i) a[i] = element<In>(random);
  for (std::size_t i = 0; i < size_b; ++i) b[i] = element<In>(random);
  for (std::size_t i = 0; i < size_c; ++i) c[i] = element<Acc>(random);
  std::vector<Acc> expected(c, c + size_c);
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      Acc& sum = expected[static_cast<std::size_t>(i * s.ldc + j)];
      if (s.clear) sum = 0;
      for (std::int64_t k = 0; k < s.k; ++k) {
        sum = multiply_add<Acc>(a[s.trans_a ? k * s.lda + i : i * s.lda + k],
                                b[s.trans_b ? j * s.ldb + k : k * s.ldb + j], sum);
      }
    }
  }
  const Jit jit(
      4,
      [&](IRBuilder<>& builder, const VectorTarget& target, std::vector<Value*> args) {
        emit_gemm(builder, target, s, args[0], args[1], args[2], args[3]);
      },
      machine);
  jit(a, b, c, scratch.data());
  ASSERT_TRUE(size_c == 0 || std::memcmp(c, expected.data(), size_c * sizeof(Acc)) == 0)
      << "m " << s.m << " n " << s.n << " k " << s.k << (s.trans_a ? " trans_a" : "") << (s.trans_b ? " trans_b" : "")
      << " element " << static_cast<int>(s.element);
}

GemmShape shape(std::int64_t m, std::int64_t n, std::int64_t k, bool trans_a, bool trans_b, std::int64_t slack = 0) {
  GemmShape s;
  s.m = m;
  s.n = n;
  s.k = k;
  s.trans_a = trans_a;
  s.trans_b = trans_b;
  s.lda = (trans_a ? m : k) + slack;
  s.ldb = (trans_b ? k : n) + slack;
  s.ldc = n + slack;
  return s;
}

template <typename In, typename Acc>
void check_all(GemmElement element, std::initializer_list<std::array<std::int64_t, 3>> shapes) {
  int count = 0;
  for (const auto& [m, n, k] : shapes) {
    for (const bool trans_a : {false, true}) {
      for (const bool trans_b : {false, true}) {
        GemmShape s = shape(m, n, k, trans_a, trans_b, count % 3);
        s.element = element;
        s.clear = count++ % 2 == 1;
        check<In, Acc>(s);
      }
    }
  }
}

TEST(Gemm, f32_whole_and_ragged_tiles) {
  check_all<float, float>(GemmElement::f32, {{12, 32, 8}, {13, 37, 11}, {7, 9, 3}, {64, 48, 130}});
}

TEST(Gemm, few_rows) {
  for (std::int64_t m = 1; m <= 11; ++m) check<float, float>(shape(m, 3 + 13 * m, 5 + m, m % 2 == 0, m % 3 == 0));
}

TEST(Gemm, narrow) {
  for (std::int64_t n = 1; n <= 9; ++n) check<float, float>(shape(29 - n, n, 40 + n, false, n % 2 == 0, 1));
}

TEST(Gemm, strides_that_repeat_in_the_cache_are_packed) {
  check<float, float>(shape(40, 100, 96, true, false, 924));
  check<float, float>(shape(25, 20, 70, false, true, 954));
}

TEST(Gemm, f64) { check_all<double, double>(GemmElement::f64, {{13, 19, 9}, {26, 8, 33}}); }

TEST(Gemm, i8_wraps_in_i32) { check_all<std::int8_t, std::int32_t>(GemmElement::i8, {{14, 21, 19}, {3, 40, 8}}); }

TEST(Gemm, u8) { check_all<std::uint8_t, std::int32_t>(GemmElement::u8, {{14, 21, 19}}); }

TEST(Gemm, i32_products_wrap) { check_all<std::int32_t, std::int32_t>(GemmElement::i32, {{9, 17, 10}}); }

TEST(Gemm, empty_extents) {
  GemmShape cleared = shape(5, 7, 0, false, false);
  cleared.clear = true;
  check<float, float>(cleared);
  check<float, float>(shape(5, 7, 0, false, true));
  check<float, float>(shape(0, 7, 3, false, false));
  check<float, float>(shape(5, 0, 3, true, false));
}

TEST(Gemm, sixteen_lanes) {
  Machine wide;
  wide.vector_bits = 512;
  check<float, float>(shape(31, 75, 37, false, true, 1), wide);
  check<float, float>(shape(15, 9, 5, true, false), wide);
  check<double, double>(
      [] {
        GemmShape s = shape(14, 21, 11, true, true);
        s.element = GemmElement::f64;
        return s;
      }(),
      wide);
}

TEST(Gemm, a_processor_without_fma_gives_the_same_bits) {
  check<float, float>(shape(7, 9, 5, false, true), {"x86-64", ""});
}

TEST(Gemm, wide_registers_are_used_where_there_are_some) {
  const std::string text =
      Jit::assembly(4,
                    [](IRBuilder<>& b, const VectorTarget& target, std::vector<Value*> args) {
                      EXPECT_EQ(target.vector_bits, 512);
                      emit_gemm(b, target, shape(24, 64, 64, false, true), args[0], args[1], args[2], args[3]);
                    },
                    {"x86-64-v4", ""});
  EXPECT_NE(text.find("zmm24"), std::string::npos);
  // The accumulators are not spilled: no vector is stored to the stack inside a kernel.
  EXPECT_EQ(text.find("(%rsp), %zmm"), std::string::npos);
}

TEST(Gemm, code_stays_small) {
  const auto size = [](std::int64_t extent) {
    return Jit::assembly(4,
                         [&](IRBuilder<>& b, const VectorTarget& target, std::vector<Value*> args) {
                           emit_gemm(b, target, shape(extent, extent, extent, false, true), args[0], args[1], args[2],
                                     args[3]);
                         })
        .size();
  };
  EXPECT_LT(size(240), 60000U);
  EXPECT_LT(size(2400), size(240) + 10000);
}

}  // namespace
}  // namespace plait::cpu::test
