#include "ir/numeric.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "support/diagnostic.h"

namespace plait::ir {
namespace {

/// What lies beyond the largest finite number of a format.
enum class Beyond { infinity, nan, largest };

/// A float format narrower than f64.
struct Format {
  int bits;          ///< sign, exponent, fraction
  int fraction;      ///< stored fraction bits
  int min_exponent;  ///< of the smallest normal number
  double largest;    ///< finite
  Beyond beyond;
};

constexpr int kDoubleFraction = 52;
constexpr int kDoubleBias = 1023;
constexpr std::uint64_t kDoubleFractionMask = (std::uint64_t{1} << kDoubleFraction) - 1;
constexpr std::uint64_t kDoubleInfinity = std::uint64_t{0x7ff} << kDoubleFraction;
constexpr std::uint64_t kDoubleQuiet = std::uint64_t{1} << (kDoubleFraction - 1);

constexpr Format kF32 = {32, 23, -126, 0x1.fffffep127, Beyond::infinity};
constexpr Format kTf32 = {19, 10, -126, 0x1.ffcp127, Beyond::infinity};
constexpr Format kBf16 = {16, 7, -126, 0x1.fep127, Beyond::infinity};
constexpr Format kF16 = {16, 10, -14, 65504, Beyond::infinity};
constexpr Format kE5m2 = {8, 2, -14, 57344, Beyond::infinity};
constexpr Format kE4m3 = {8, 3, -6, 448, Beyond::nan};
constexpr Format kE2m1 = {4, 1, 0, 6, Beyond::largest};

const Format& format_of(DType type) {
  switch (type) {
    case DType::f32:
      return kF32;
    case DType::tf32:
      return kTf32;
    case DType::bf16:
      return kBf16;
    case DType::f16:
      return kF16;
    case DType::e5m2:
      return kE5m2;
    case DType::e4m3:
      return kE4m3;
    case DType::e2m1:
      return kE2m1;
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
  throw InternalError("no float format narrower than f64: " + std::string(dtype_name(type)));
}

/// 2^exponent, a normal number.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kDoubleBias) << kDoubleFraction);
}

/// Exponent field of a double, unbiased: its binary exponent where it is a normal number, below every other one where
/// it is not.
int exponent_of(double value) {
  return static_cast<int>((std::bit_cast<std::uint64_t>(value) >> kDoubleFraction) & 0x7ff) - kDoubleBias;
}

/// Independent of the rounding mode of the processor. The sign of a zero is that of `x`.
double round_integral(double x, Rounding rounding) {
  double below = std::floor(x);
  double rest = x - below;
  bool up = false;
  switch (rounding) {
    case Rounding::nearest_even:
      up = rest > 0.5 || (rest == 0.5 && std::floor(below / 2) * 2 != below);
      break;
    case Rounding::toward_zero:
      up = rest > 0 && x < 0;
      break;
    case Rounding::down:
      break;
    case Rounding::up:
      up = rest > 0;
      break;
  }
  return std::copysign(up ? below + 1 : below, x);
}

/// What a number that rounds beyond the largest finite one becomes.
double overflowed(const Format& format, double value, Rounding rounding, bool saturate) {
  double largest = std::copysign(format.largest, value);
  bool stops = rounding == Rounding::toward_zero || (rounding == Rounding::down && value > 0) ||
               (rounding == Rounding::up && value < 0);
  if (saturate || format.beyond == Beyond::largest || (stops && std::isfinite(value))) return largest;
  double beyond =
      format.beyond == Beyond::nan ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  return std::copysign(beyond, value);
}

double round_to_f64(double value, bool saturate) {
  if (!saturate || !std::isinf(value)) return value;
  return std::copysign(std::numeric_limits<double>::max(), value);
}

struct IntRange {
  double low, beyond_high;  ///< low <= x < beyond_high fits
  std::int64_t min, max;    ///< as the bits kept in 64
};

IntRange range_of(DType type) {
  int bits = dtype_bits(type);
  if (is_signed_integer(type)) {
    auto min = static_cast<std::int64_t>(~std::uint64_t{0} << (bits - 1));
    return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1), min, ~min};
  }
  return {0, std::ldexp(1.0, bits), 0, static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - bits))};
}

/// Stops at the ends of i64.
std::int64_t to_i64(double integral) {
  if (integral >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  if (integral < -0x1p63) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(integral);
}

std::int64_t wrap(DType type, std::int64_t value) {
  int unused = 64 - dtype_bits(type);
  auto high = static_cast<std::uint64_t>(value) << unused;
  if (is_signed_integer(type)) return static_cast<std::int64_t>(high) >> unused;
  return static_cast<std::int64_t>(high >> unused);
}

std::uint64_t encode_nan(const Format& format, double value) {
  std::uint64_t exponent = (std::uint64_t{1} << (format.bits - 1 - format.fraction)) - 1;
  std::uint64_t payload =
      (std::bit_cast<std::uint64_t>(value) & kDoubleFractionMask) >> (kDoubleFraction - format.fraction);
  if (format.beyond == Beyond::nan) payload = (std::uint64_t{1} << format.fraction) - 1;
  if (payload == 0) payload = std::uint64_t{1} << (format.fraction - 1);
  return exponent << format.fraction | payload;
}

/// Code of a magnitude that the format holds.
std::uint64_t encode_magnitude(const Format& format, double value) {
  double magnitude = std::fabs(value);
  if (std::isnan(value)) return encode_nan(format, value);
  if (std::isinf(value)) {
    return ((std::uint64_t{1} << (format.bits - 1 - format.fraction)) - 1) << format.fraction;
  }
  if (exponent_of(magnitude) < format.min_exponent) {
    return static_cast<std::uint64_t>(magnitude * power_of_two(format.fraction - format.min_exponent));
  }
  std::uint64_t bits = std::bit_cast<std::uint64_t>(magnitude) >> (kDoubleFraction - format.fraction);
  auto rebias = static_cast<std::uint64_t>(kDoubleBias - 1 + format.min_exponent);
  return bits - (rebias << format.fraction);
}

double decode_magnitude(const Format& format, std::uint64_t code) {
  std::uint64_t fraction = code & ((std::uint64_t{1} << format.fraction) - 1);
  std::uint64_t exponent = code >> format.fraction;
  std::uint64_t top = (std::uint64_t{1} << (format.bits - 1 - format.fraction)) - 1;
  bool all_ones = code == (std::uint64_t{1} << (format.bits - 1)) - 1;
  bool special = format.beyond == Beyond::infinity ? exponent == top : format.beyond == Beyond::nan && all_ones;
  if (special) return std::bit_cast<double>(kDoubleInfinity | fraction << (kDoubleFraction - format.fraction));
  if (exponent == 0) return static_cast<double>(fraction) * power_of_two(format.min_exponent - format.fraction);
  std::uint64_t rebiased = exponent + static_cast<std::uint64_t>(kDoubleBias - 1 + format.min_exponent);
  return std::bit_cast<double>(rebiased << kDoubleFraction | fraction << (kDoubleFraction - format.fraction));
}

}  // namespace

double round_to(DType type, double value, Rounding rounding, bool saturate) {
  if (type == DType::f64) return round_to_f64(value, saturate);
  const Format& format = format_of(type);
  if (std::isnan(value)) {
    if (format.beyond == Beyond::largest) return format.largest;
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) | kDoubleQuiet);
  }
  if (std::isinf(value)) return overflowed(format, value, rounding, saturate);
  // The distance between neighbours around `value` is a power of two; counted in it, rounding gives an integer.
  int quantum = std::max(exponent_of(value), format.min_exponent) - format.fraction;
  double rounded = round_integral(value * power_of_two(-quantum), rounding) * power_of_two(quantum);
  return std::fabs(rounded) > format.largest ? overflowed(format, value, rounding, saturate) : rounded;
}

std::int64_t float_to_int(DType type, double value, Rounding rounding, bool saturate) {
  if (is_bool(type)) return value != 0 ? 1 : 0;
  if (std::isnan(value)) return 0;
  double integral = std::isinf(value) ? value : round_integral(value, rounding);
  IntRange range = range_of(type);
  if (saturate && integral < range.low) return range.min;
  if (saturate && integral >= range.beyond_high) return range.max;
  if (type == DType::u64 && integral >= 0 && integral < range.beyond_high) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(integral));
  }
  return wrap(type, to_i64(integral));
}

std::int64_t int_to_int(DType type, std::int64_t value, bool from_unsigned_64, bool saturate) {
  if (is_bool(type)) return value != 0 ? 1 : 0;
  if (!saturate) return wrap(type, value);
  IntRange range = range_of(type);
  bool huge = from_unsigned_64 && value < 0;
  if (type == DType::u64) return value < 0 && !huge ? 0 : value;
  if (huge || value > range.max) return range.max;
  return value < range.min ? range.min : value;
}

double int_to_float(DType type, std::int64_t value, bool from_unsigned_64, bool saturate) {
  bool negative = value < 0 && !from_unsigned_64;
  std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  if (type != DType::f64) {
    // The last of 53 bits stands for all the lost ones, so that the second rounding decides as a single one would.
    int lost = std::max(11 - std::countl_zero(magnitude), 0);
    std::uint64_t rest = magnitude & ((std::uint64_t{1} << lost) - 1);
    magnitude = (magnitude >> lost | (rest != 0 ? 1 : 0)) << lost;
  }
  auto wide = static_cast<double>(magnitude);
  return round_to(type, negative ? -wide : wide, Rounding::nearest_even, saturate);
}

std::uint64_t encode_float(DType type, double value) {
  if (type == DType::f64) return std::bit_cast<std::uint64_t>(value);
  // In memory a tf32 is an f32.
  const Format& format = type == DType::tf32 ? kF32 : format_of(type);
  std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (format.bits - 1) : 0;
  return sign | encode_magnitude(format, value);
}

double decode_float(DType type, std::uint64_t bits) {
  if (type == DType::f64) return std::bit_cast<double>(bits);
  const Format& format = type == DType::tf32 ? kF32 : format_of(type);
  std::uint64_t sign_bit = std::uint64_t{1} << (format.bits - 1);
  double magnitude = decode_magnitude(format, bits & (sign_bit - 1));
  std::uint64_t sign = (bits & sign_bit) != 0 ? std::uint64_t{1} << 63 : 0;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) | sign);
}

}  // namespace plait::ir
