// Compiled without contraction of a*b+c, so that the same input gives the same bits with every compiler.
#include "runtime/random.h"

#include <algorithm>
#include <cmath>

#include "ir/numeric.h"

namespace plait::runtime {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::uint64_t bits_at(std::uint64_t key, std::uint64_t number) { return mix(key + (number + 1) * kGolden); }

/// In (0, 1): 53 bits, never 0.
double unit_value(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

/// Natural logarithm of x in (0, 1) by 2·artanh((m - 1) / (m + 1)); frexp is exact.
double log_of(double x) {
  constexpr double kLn2 = 0.693147180559945309417;
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  double s = (m - 1) / (m + 1), square = s * s, sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return exponent * kLn2 + 2 * s * sum;
}

/// Cosine and sine of 2·pi·x for x in [0, 1), from the series on an eighth of the circle.
void circle_point(double x, double& cosine, double& sine) {
  constexpr double kTwoPi = 6.28318530717958647692;
  auto quarter = static_cast<int>(std::floor(x * 4 + 0.5));
  double angle = (x - quarter * 0.25) * kTwoPi, square = angle * angle;
  double c = 0, s = 0;
  for (int k = 9; k >= 1; --k) {
    c = (1 + c) * (-square / ((2 * k) * (2 * k - 1)));
    s = (1 + s) * (-square / ((2 * k) * (2 * k + 1)));
  }
  c = 1 + c;
  s = angle * (1 + s);
  quarter %= 4;
  cosine = quarter == 0 ? c : (quarter == 1 ? -s : (quarter == 2 ? -c : s));
  sine = quarter == 0 ? s : (quarter == 1 ? c : (quarter == 2 ? -s : -c));
}

/// Values 2n and 2n+1 of a stream.
void normal_pair(std::uint64_t key, std::uint64_t n, double& even, double& odd) {
  double radius = std::sqrt(-2 * log_of(unit_value(bits_at(key, 2 * n))));
  double cosine = 0, sine = 0;
  circle_point(unit_value(bits_at(key, 2 * n + 1)), cosine, sine);
  even = radius * cosine;
  odd = radius * sine;
}

std::uint64_t stream_key(const std::string& name, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return mix(hash ^ mix(seed + kGolden));
}

struct IntRange {
  std::int64_t low, high;
};

IntRange range_of(ir::DType type) {
  if (ir::is_bool(type)) return {0, 1};
  int bits = ir::dtype_bits(type);
  if (!ir::is_signed_integer(type)) return {0, std::min<std::int64_t>(7, (std::int64_t{1} << std::min(bits, 8)) - 1)};
  if (bits >= 32) return {0, 7};
  std::int64_t half = std::int64_t{1} << (bits - 1);
  return {std::max<std::int64_t>(-4, -half), std::min<std::int64_t>(4, half - 1)};
}

}  // namespace

double normal_value(std::uint64_t key, std::uint64_t number) {
  double even = 0, odd = 0;
  normal_pair(key, number / 2, even, odd);
  return number % 2 == 0 ? even : odd;
}

void fill_random(HostTensor& tensor, const std::string& name, std::uint64_t seed) {
  const ir::TensorView& view = tensor.view();
  const std::uint64_t key = stream_key(name, seed);
  std::uint64_t number = 0;
  ElementWalk walk(view);
  if (ir::is_float(view.type)) {
    double pair[2] = {};
    for (; !walk.done(); walk.next(), ++number) {
      if (number % 2 == 0) normal_pair(key, number / 2, pair[0], pair[1]);
      ir::store_float(view.type, view.data, walk.offset(), ir::round_to(view.type, pair[number % 2]));
    }
    return;
  }
  IntRange range = range_of(view.type);
  auto count = static_cast<std::uint64_t>(range.high - range.low + 1);
  for (; !walk.done(); walk.next(), ++number) {
    auto value = static_cast<std::int64_t>((bits_at(key, number) >> 32) * count >> 32);
    ir::store_int(view.type, view.data, walk.offset(), range.low + value);
  }
}

}  // namespace plait::runtime
