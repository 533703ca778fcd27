#include "emit/cpu/vector_convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "ir/numeric.h"
#include "unit/cpu_micro/map.h"

namespace plait::cpu::test {
namespace {

using ir::DType;
using ir::Rounding;
using llvm::IRBuilder;
using llvm::Value;
using Words = std::vector<std::uint64_t>;

const std::vector<DType> small_floats = {DType::f16, DType::bf16, DType::tf32, DType::e4m3, DType::e5m2, DType::e2m1};
const std::vector<DType> floats = {DType::f16,  DType::bf16, DType::tf32, DType::e4m3,
                                   DType::e5m2, DType::e2m1, DType::f32,  DType::f64};
const std::vector<DType> integers = {DType::i1, DType::i2, DType::i4, DType::i8, DType::i16, DType::i32, DType::i64,
                                     DType::u1, DType::u2, DType::u4, DType::u8, DType::u16, DType::u32, DType::u64};

struct Option {
  Rounding rounding;
  bool saturate;
};
const std::vector<Option> options = {{Rounding::nearest_even, false}, {Rounding::nearest_even, true},
                                     {Rounding::toward_zero, false},  {Rounding::toward_zero, true},
                                     {Rounding::down, false},         {Rounding::down, true},
                                     {Rounding::up, false},           {Rounding::up, true}};

/// Code shapes that take different ways: scalar and vector, with the host's instructions and with none but SSE2.
struct Form {
  unsigned lanes;
  Machine machine;
  std::string name;
};
std::vector<Form> forms() {
  return {
      {0, {}, "scalar"}, {8, {}, "vector"}, {0, {"x86-64", ""}, "plain scalar"}, {4, {"x86-64", ""}, "plain vector"}};
}

unsigned bits_of(DType type) { return static_cast<unsigned>(ir::dtype_bits(type)); }
Words all_codes(DType type) {
  Words codes(std::size_t{1} << bits_of(type));
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = i;
  return codes;
}

/// Memory bits to value and back around a conversion, so that a test sees only integers.
Map::Emit convert_bits(DType from, DType to, Option option) {
  return [=](IRBuilder<>& b, const VectorTarget& target, Value* bits) {
    Value* value = emit_decode(b, target, from, bits);
    value = emit_convert(b, target, from, to, value, option.rounding, option.saturate);
    return emit_encode(b, target, to, value);
  };
}

bool same_float(DType type, std::uint64_t a, std::uint64_t b) {
  return a == b || (std::isnan(ir::decode_float(type, a)) && std::isnan(ir::decode_float(type, b)) &&
                    std::signbit(ir::decode_float(type, a)) == std::signbit(ir::decode_float(type, b)));
}

std::uint64_t mask(DType type, std::int64_t value) {
  return static_cast<std::uint64_t>(value) & (~std::uint64_t{0} >> (64 - bits_of(type)));
}

/// What numeric.h says.
std::uint64_t expected_bits(DType from, DType to, std::uint64_t code, Option option) {
  const bool from_u64 = from == DType::u64;
  if (ir::is_float(from)) {
    const double value = ir::decode_float(from, code);
    if (ir::is_float(to)) return ir::encode_float(to, ir::round_to(to, value, option.rounding, option.saturate));
    return mask(to, ir::float_to_int(to, value, option.rounding, option.saturate));
  }
  const std::int64_t value = ir::int_to_int(from, static_cast<std::int64_t>(code), from_u64);
  if (ir::is_float(to)) return ir::encode_float(to, ir::int_to_float(to, value, from_u64, option.saturate));
  return mask(to, ir::int_to_int(to, value, from_u64, option.saturate));
}

struct Conversion {
  DType to;
  Option option;
};

void compare(DType from, const Conversion& conversion, const Form& form, const Words& codes, const Words& results) {
  const auto& [to, option] = conversion;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::uint64_t expected = expected_bits(from, to, codes[i], option);
    const bool same = ir::is_float(to) ? same_float(to, results[i], expected) : results[i] == expected;
    ASSERT_TRUE(same) << ir::dtype_name(from) << " -> " << ir::dtype_name(to) << ", " << form.name << ", rounding "
                      << static_cast<int>(option.rounding) << (option.saturate ? " saturate" : "") << ": code "
                      << std::hex << codes[i] << " gave " << results[i] << ", expected " << expected;
  }
}

/// Converts `codes` by every form and compares with numeric.h.
void check(DType from, const std::vector<DType>& targets, const Words& codes,
           const std::vector<Option>& which = options) {
  std::vector<Map::Emit> emits;
  std::vector<Conversion> conversions;
  for (const DType to : targets) {
    for (const Option& option : which) {
      emits.push_back(convert_bits(from, to, option));
      conversions.push_back({to, option});
    }
  }
  std::vector<Words> first;
  for (const Form& form : forms()) {
    const std::vector<Words> results = Map(bits_of(from), form.lanes, emits, form.machine)(codes);
    for (std::size_t c = 0; c < conversions.size(); ++c) {
      if (first.empty() || results[c] != first[c]) compare(from, conversions[c], form, codes, results[c]);
    }
    if (first.empty()) first = results;
  }
}

/// f32 bits on and beside every value and every midpoint of a format, and at random.
Words f32_around(DType type) {
  Words words;
  const std::uint64_t step = bits_of(type) > 16 ? 1048573 : 1;  // tf32 has as many codes as f32
  const std::uint64_t codes = std::uint64_t{1} << (bits_of(type) > 16 ? 32 : bits_of(type));
  for (std::uint64_t code = 0; code < codes; code += step) {
    const auto value = static_cast<float>(ir::round_to(type, ir::decode_float(type, code)));
    const double above = ir::decode_float(type, std::min(code + 1, codes - 1));
    const auto middle = static_cast<float>((static_cast<double>(value) + above) / 2);
    for (const float x : {value, middle}) {
      for (const std::uint32_t offset : {0U, 1U, ~0U}) words.push_back(std::bit_cast<std::uint32_t>(x) + offset);
    }
  }
  return words;
}

Words random_words(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  Words words(count);
  for (std::uint64_t& word : words) word = random();
  return words;
}

Words f32_words(DType type) {
  Words words = f32_around(type);
  for (const std::uint64_t word : random_words(20000, 1)) words.push_back(word >> 32);
  return words;
}

/// Doubles that a detour by way of f32 would round wrongly: a value or midpoint of the format plus much less than an
/// f32 step.
Words f64_words(DType type) {
  Words words;
  std::mt19937_64 random(7);
  for (const std::uint64_t word : f32_around(type)) {
    if (random() % 8 != 0 && bits_of(type) > 8) continue;
    const double value = std::bit_cast<float>(static_cast<std::uint32_t>(word));
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}})
      words.push_back(bits + offset);
  }
  const Words more = random_words(20000, 3);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Integers of every magnitude, at powers of two and beside them.
Words int_words(DType type) {
  if (bits_of(type) <= 8) return all_codes(type);
  Words words;
  for (unsigned bit = 0; bit < 64; ++bit) {
    for (std::int64_t offset = -3; offset <= 3; ++offset) {
      words.push_back((std::uint64_t{1} << bit) + static_cast<std::uint64_t>(offset));
      words.push_back(0 - words.back());
    }
  }
  std::mt19937_64 random(5);
  for (int i = 0; i < 4000; ++i) {
    std::uint64_t word = random() >> random() % 64;
    if (random() % 4 == 0) word = (word | 0xfffU) + 1;  // long runs of zeros at the end: ties
    words.push_back(random() % 2 == 0 ? word : 0 - word);
  }
  for (std::uint64_t& word : words) word = mask(type, static_cast<std::int64_t>(word));
  return words;
}

TEST(Convert, every_code_decodes) {
  for (const DType type : small_floats) {
    if (bits_of(type) <= 16) check(type, {DType::f32, DType::f64}, all_codes(type), {{Rounding::nearest_even, false}});
  }
}

TEST(Convert, every_code_survives_decoding_and_encoding) {
  for (const DType type : small_floats) {
    if (bits_of(type) > 16) continue;
    const Words codes = all_codes(type);
    for (const Form& form : forms()) {
      const Words out = Map(bits_of(type), form.lanes, {convert_bits(type, type, options[0])}, form.machine)(codes)[0];
      for (std::size_t i = 0; i < codes.size(); ++i) {
        ASSERT_TRUE(same_float(type, out[i], codes[i])) << ir::dtype_name(type) << " " << i;
      }
    }
  }
}

TEST(Convert, f32_to_small_floats) {
  for (const DType type : small_floats) check(DType::f32, {type}, f32_words(type));
}

TEST(Convert, f64_to_floats_rounds_once) {
  for (const DType type : small_floats) check(DType::f64, {type}, f64_words(type));
  check(DType::f64, {DType::f32, DType::f64}, f64_words(DType::e5m2));
}

TEST(Convert, small_floats_to_each_other) {
  const std::vector<DType> targets = {DType::e4m3, DType::e2m1, DType::bf16, DType::f16, DType::f32};
  for (const DType from : {DType::f16, DType::e5m2}) check(from, targets, all_codes(from), {options[0], options[1]});
}

TEST(Convert, floats_to_integers) {
  check(DType::f32, integers, f32_words(DType::e5m2), {options[2], options[3], options[0], options[7]});
  check(DType::f64, integers, f64_words(DType::e5m2), {options[2], options[3], options[4]});
  check(DType::f16, {DType::i8}, all_codes(DType::f16));
}

TEST(Convert, floats_to_integers_around_their_ends) {
  Words words;
  for (int bit = 0; bit <= 70; ++bit) {
    for (const double sign : {1.0, -1.0}) {
      for (const double offset : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
        words.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(sign * (std::ldexp(1.0, bit) + offset))));
      }
      words.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(sign * std::ldexp(1.0 + 0x1.8p-20, bit))));
    }
  }
  check(DType::f32, integers, words, {options[0], options[1], options[2], options[3]});
}

TEST(Convert, integers_to_floats_round_once) {
  for (const DType from : {DType::i4, DType::u8, DType::i16, DType::i32, DType::u32, DType::i64, DType::u64}) {
    check(from, floats, int_words(from), {options[0], options[1]});
  }
}

TEST(Convert, integers_to_integers) {
  for (const DType from :
       {DType::i2, DType::u4, DType::i8, DType::u8, DType::i32, DType::u32, DType::i64, DType::u64}) {
    check(from, integers, int_words(from), {options[2], options[3]});
  }
}

TEST(Convert, known_values) {
  const auto one = [](DType from, DType to, std::uint64_t code, bool saturate) {
    return Map(bits_of(from), 0, {convert_bits(from, to, {Rounding::nearest_even, saturate})})({code})[0][0];
  };
  EXPECT_EQ(one(DType::i32, DType::bf16, 259, false), 0x4382U);                                         // 260
  EXPECT_EQ(one(DType::i32, DType::bf16, 33000, false), 0x4701U);                                       // 33024
  EXPECT_EQ(one(DType::f32, DType::e5m2, 0x7f800000U, false), 0x7cU);                                   // infinity
  EXPECT_EQ(one(DType::f32, DType::e4m3, std::bit_cast<std::uint32_t>(464.0F), false), 0x7eU);          // a tie, to 448
  EXPECT_EQ(one(DType::f32, DType::e4m3, std::bit_cast<std::uint32_t>(465.0F), false) & 0x7fU, 0x7fU);  // NaN
  EXPECT_EQ(one(DType::f32, DType::e4m3, 0xff800000U, true), 0xfeU);                                    // -448
  EXPECT_EQ(one(DType::f32, DType::e2m1, 0x7fc00000U, false), 0x7U);                                    // NaN gives 6
  EXPECT_EQ(one(DType::f32, DType::bool_, 0x80000000U, false), 0U);
  EXPECT_EQ(one(DType::f32, DType::bool_, 0x7fc00000U, false), 1U);
}

}  // namespace
}  // namespace plait::cpu::test
