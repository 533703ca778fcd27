#include "emit/cpu/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>

#include "unit/cpu_micro/map.h"

namespace plait::cpu::test {
namespace {

using ir::Intrinsic;
using llvm::IRBuilder;
using llvm::Value;
using Words = std::vector<std::uint64_t>;

/// One bound of docs/numerics-cpu.md: the largest error of `fn` in units in the last place.
struct Bound {
  Intrinsic fn;
  double (*f64)(double);
  long double (*f80)(long double);
  double ulp_f32;
  double ulp_f64;
};

const std::vector<Bound> bounds = {
    {Intrinsic::exp, [](double x) { return std::exp(x); }, [](long double x) { return std::exp(x); }, 1.5, 4},
    {Intrinsic::exp2, [](double x) { return std::exp2(x); }, [](long double x) { return std::exp2(x); }, 1.5, 4},
    {Intrinsic::log, [](double x) { return std::log(x); }, [](long double x) { return std::log(x); }, 1.5, 4},
    {Intrinsic::log2, [](double x) { return std::log2(x); }, [](long double x) { return std::log2(x); }, 2, 4},
    {Intrinsic::sqrt, [](double x) { return std::sqrt(x); }, [](long double x) { return std::sqrt(x); }, 0.5, 0.5},
    {Intrinsic::rsqrt, [](double x) { return 1 / std::sqrt(x); }, [](long double x) { return 1 / std::sqrt(x); }, 1.5,
     1.5},
    {Intrinsic::sin, [](double x) { return std::sin(x); }, [](long double x) { return std::sin(x); }, 4, 4},
    {Intrinsic::cos, [](double x) { return std::cos(x); }, [](long double x) { return std::cos(x); }, 4, 4},
    {Intrinsic::tanh, [](double x) { return std::tanh(x); }, [](long double x) { return std::tanh(x); }, 2.5, 4},
    {Intrinsic::erf, [](double x) { return std::erf(x); }, [](long double x) { return std::erf(x); }, 2, 4},
    {Intrinsic::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); },
     [](long double x) { return 1 / (1 + std::exp(-x)); }, 2.5, 5},
    {Intrinsic::floor, [](double x) { return std::floor(x); }, [](long double x) { return std::floor(x); }, 0, 0},
    {Intrinsic::ceil, [](double x) { return std::ceil(x); }, [](long double x) { return std::ceil(x); }, 0, 0},
    {Intrinsic::round, [](double x) { return std::round(x); }, [](long double x) { return std::round(x); }, 0, 0},
    {Intrinsic::trunc, [](double x) { return std::trunc(x); }, [](long double x) { return std::trunc(x); }, 0, 0},
    {Intrinsic::abs, [](double x) { return std::fabs(x); }, [](long double x) { return std::fabs(x); }, 0, 0},
};

/// Samples a function; PLAIT_ULP_SAMPLES sets how many, for the table in docs/numerics-cpu.md.
std::size_t sample_count() {
  const char* text = std::getenv("PLAIT_ULP_SAMPLES");
  return text == nullptr ? 60000 : static_cast<std::size_t>(std::atoll(text));
}

template <typename T>
std::uint64_t bits(T value) {
  if constexpr (sizeof(T) == 4) return std::bit_cast<std::uint32_t>(value);
  if constexpr (sizeof(T) == 8) return std::bit_cast<std::uint64_t>(value);
}
template <typename T>
T value_of(std::uint64_t word) {
  if constexpr (sizeof(T) == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(word));
  if constexpr (sizeof(T) == 8) return std::bit_cast<double>(word);
}

/// Specials, values of ordinary size, and bit patterns from everywhere.
template <typename T>
Words samples() {
  using Limits = std::numeric_limits<T>;
  Words words;
  for (const T x : {T(0),
                    Limits::infinity(),
                    Limits::quiet_NaN(),
                    Limits::denorm_min(),
                    Limits::min(),
                    Limits::max(),
                    T(1),
                    T(0.5),
                    T(88.7),
                    T(88.73),
                    T(87.3),
                    T(103.9),
                    T(104.1),
                    T(127),
                    T(128),
                    T(149),
                    T(150),
                    T(709.7),
                    T(709.8),
                    T(745.2),
                    T(0.925),
                    T(3.95),
                    T(10),
                    T(0.7071068),
                    T(1.4142135),
                    T(2.5),
                    T(1e5),
                    T(1e9)}) {
    words.push_back(bits(x));
    words.push_back(bits(-x));
  }
  std::mt19937_64 random(11);
  for (std::size_t i = 0; i < sample_count(); ++i) {
    const std::uint64_t word = random();
    const double scale = std::array<double, 4>{1, 4, 20, 120}[i % 4];
    words.push_back(i % 3 == 0 ? word >> (64 - 8 * sizeof(T))
                               : bits(static_cast<T>(std::ldexp(static_cast<double>(word), -63) * scale - scale)));
  }
  return words;
}

/// Distance in units in the last place of T at the exact value; infinite where one is NaN or an infinity of the wrong
/// kind.
template <typename T, typename Wide>
double ulp_error(T got, Wide exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(got) || std::isnan(rounded)) return std::isnan(got) && std::isnan(rounded) ? 0 : INFINITY;
  if (got == rounded)
    return std::isfinite(rounded)
               ? static_cast<double>(std::fabs(got - exact)) /
                     static_cast<double>(std::max<T>(
                         std::nextafter(std::fabs(rounded), std::numeric_limits<T>::infinity()) - std::fabs(rounded),
                         std::numeric_limits<T>::denorm_min()))
               : 0;
  if (std::isinf(rounded))
    return std::isinf(got) ? INFINITY : got == std::copysign(std::numeric_limits<T>::max(), rounded) ? 1 : INFINITY;
  if (std::isinf(got)) return std::fabs(rounded) == std::numeric_limits<T>::max() ? 1 : INFINITY;
  const T size = std::fabs(rounded);
  const T step = std::max<T>(size - std::nextafter(size, T(0)), std::numeric_limits<T>::denorm_min());
  return static_cast<double>(std::fabs(static_cast<Wide>(got) - exact) / static_cast<Wide>(step));
}

template <typename T>
Map::Emit emit(Intrinsic fn, bool fast) {
  return [=](IRBuilder<>& b, const VectorTarget& target, Value* word) {
    llvm::Type* type = word->getType()->getWithNewType(sizeof(T) == 4 ? b.getFloatTy() : b.getDoubleTy());
    Value* x = b.CreateBitCast(word, type);
    return b.CreateBitCast(emit_math(b, target, fn, x, fast), word->getType());
  };
}

struct Form {
  unsigned lanes;
  Machine machine;
  std::string name;
};
std::vector<Form> forms() {
  return {{0, {}, "scalar"},
          {8, {"", "", true}, "vector"},
          {3, {"x86-64", "", true}, "plain vector"},
          {4, {}, "lane by lane"}};
}

struct Worst {
  double ulp = 0;
  std::uint64_t word = 0;
};

template <typename T>
Worst worst(const Bound& bound, const Words& in, const Words& out) {
  Worst result;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const T x = value_of<T>(in[i]);
    const double ulp = sizeof(T) == 4 ? ulp_error(value_of<T>(out[i]), bound.f64(x))
                                      : ulp_error(value_of<T>(out[i]), bound.f80(static_cast<long double>(x)));
    if (ulp > result.ulp) result = {ulp, in[i]};
  }
  return result;
}

template <typename T>
void check_bounds(double Bound::* limit) {
  const Words in = samples<T>();
  std::vector<Map::Emit> emits;
  for (const Bound& bound : bounds) emits.push_back(emit<T>(bound.fn, false));
  for (const Form& form : forms()) {
    const std::vector<Words> out = Map(8 * sizeof(T), form.lanes, emits, form.machine)(in);
    for (std::size_t f = 0; f < bounds.size(); ++f) {
      const Worst found = worst<T>(bounds[f], in, out[f]);
      const std::string name(ir::intrinsic_name(bounds[f].fn));
      if (std::getenv("PLAIT_ULP_SAMPLES") != nullptr)
        std::printf("%-8s f%zu %-14s %.3f at %g\n", name.c_str(), 8 * sizeof(T), form.name.c_str(), found.ulp,
                    static_cast<double>(value_of<T>(found.word)));
      EXPECT_LE(found.ulp, bounds[f].*limit) << name << " " << form.name << " at " << value_of<T>(found.word);
    }
  }
}

TEST(Math, f32_stays_within_its_bounds) { check_bounds<float>(&Bound::ulp_f32); }
TEST(Math, f64_stays_within_its_bounds) { check_bounds<double>(&Bound::ulp_f64); }

TEST(Math, own_f32_functions_have_the_same_bits_in_every_width) {
  const Words in = samples<float>();
  for (const Intrinsic fn : {Intrinsic::exp, Intrinsic::exp2, Intrinsic::log, Intrinsic::log2, Intrinsic::tanh,
                             Intrinsic::erf, Intrinsic::sigmoid}) {
    const Words scalar = Map(32, 0, {emit<float>(fn, false)})(in)[0];
    EXPECT_EQ(Map(32, 8, {emit<float>(fn, false)})(in)[0], scalar) << ir::intrinsic_name(fn);
  }
}

TEST(Math, fast_exponentials_are_nearly_as_exact) {
  const Words in = samples<float>();
  const std::vector<Words> out =
      Map(32, 8, {emit<float>(Intrinsic::exp, true), emit<float>(Intrinsic::exp2, true)})(in);
  for (std::size_t f = 0; f < 2; ++f) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float x = value_of<float>(in[i]);
      const float got = value_of<float>(out[f][i]);
      const double exact = f == 0 ? std::exp(static_cast<double>(x)) : std::exp2(static_cast<double>(x));
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(got));
      } else if (exact < std::numeric_limits<float>::min()) {
        ASSERT_LE(got, 1.01 * std::numeric_limits<float>::min()) << x;
        ASSERT_GE(got, 0) << x;
      } else if (exact > 0x1.6p+127) {
        ASSERT_GT(got, 0x1.5p+127) << x;
      } else {
        ASSERT_LE(ulp_error(got, exact), 2.5 + (f == 0 ? 0.25 * std::fabs(x) : 0)) << x;
      }
    }
  }
  EXPECT_EQ(Map(32, 8, {emit<float>(Intrinsic::exp, true)})({bits(-INFINITY)})[0][0], bits(0.0F));
}

TEST(Math, predicates) {
  const auto predicate = [](Intrinsic fn) -> Map::Emit {
    return [=](IRBuilder<>& b, const VectorTarget& target, Value* word) {
      return emit_math(b, target, fn, b.CreateBitCast(word, word->getType()->getWithNewType(b.getFloatTy())));
    };
  };
  const Words in = {bits(1.0F), bits(INFINITY), bits(-INFINITY), bits(NAN), bits(-NAN), bits(0.0F)};
  for (const unsigned lanes : {0U, 8U}) {
    const std::vector<Words> out = Map(32, lanes, {predicate(Intrinsic::isnan), predicate(Intrinsic::isinf)})(in);
    EXPECT_EQ(out[0], (Words{0, 0, 0, 1, 1, 0}));
    EXPECT_EQ(out[1], (Words{0, 1, 1, 0, 0, 0}));
  }
}

TEST(Math, minimum_and_maximum_pass_nan) {
  const Words in = {bits(1.0F), bits(-2.0F), bits(NAN), bits(INFINITY), bits(-INFINITY)};
  for (const float other : {0.5F, NAN, INFINITY}) {
    for (const bool swapped : {false, true}) {
      const auto choose = [&](bool smallest) -> Map::Emit {
        return [=](IRBuilder<>& b, const VectorTarget&, Value* word) {
          Value* x = b.CreateBitCast(word, word->getType()->getWithNewType(b.getFloatTy()));
          Value* y = llvm::ConstantFP::get(x->getType(), other);
          if (swapped) std::swap(x, y);
          return b.CreateBitCast(smallest ? emit_fmin(b, x, y) : emit_fmax(b, x, y), word->getType());
        };
      };
      const std::vector<Words> out = Map(32, 4, {choose(true), choose(false)})(in);
      for (std::size_t i = 0; i < in.size(); ++i) {
        const float x = value_of<float>(in[i]);
        const bool nan = std::isnan(x) || std::isnan(other);
        EXPECT_EQ(std::isnan(value_of<float>(out[0][i])), nan);
        EXPECT_EQ(std::isnan(value_of<float>(out[1][i])), nan);
        if (nan) continue;
        EXPECT_EQ(value_of<float>(out[0][i]), std::min(x, other));
        EXPECT_EQ(value_of<float>(out[1][i]), std::max(x, other));
      }
    }
  }
}

TEST(Math, pow_and_fma_take_several_arguments) {
  const Words in = {bits(2.0F), bits(0.5F), bits(3.0F), bits(0.0F), bits(INFINITY)};
  const auto call = [](Intrinsic fn, std::vector<double> more) -> Map::Emit {
    return [=](IRBuilder<>& b, const VectorTarget& target, Value* word) {
      Value* x = b.CreateBitCast(word, word->getType()->getWithNewType(b.getFloatTy()));
      std::vector<Value*> args = {x};
      for (const double value : more) args.push_back(llvm::ConstantFP::get(x->getType(), value));
      return b.CreateBitCast(emit_math(b, target, fn, args), word->getType());
    };
  };
  for (const Form& form : forms()) {
    const std::vector<Words> out =
        Map(32, form.lanes, {call(Intrinsic::pow, {1.5}), call(Intrinsic::fma, {3, -1})}, form.machine)(in);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double x = value_of<float>(in[i]);
      EXPECT_LE(ulp_error(value_of<float>(out[0][i]), std::pow(x, 1.5)), 4) << form.name << x;
      EXPECT_EQ(value_of<float>(out[1][i]), static_cast<float>(3 * x - 1)) << form.name << x;
    }
  }
}

}  // namespace
}  // namespace plait::cpu::test
