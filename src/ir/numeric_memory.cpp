#include <cstring>

#include "ir/numeric.h"

namespace plait::ir {
namespace {

template <typename T>
T load_raw(const void* data, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void store_raw(void* data, std::int64_t index, std::uint64_t bits) {
  auto value = static_cast<T>(bits);
  std::memcpy(static_cast<char*>(data) + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

/// Where an element narrower than a byte lies.
struct Packed {
  std::int64_t byte;
  unsigned shift, mask;
};
Packed packed(int bits, std::int64_t index) {
  std::int64_t per_byte = 8 / bits;
  return {index / per_byte, static_cast<unsigned>(index % per_byte) * static_cast<unsigned>(bits), (1U << bits) - 1U};
}

std::uint64_t load_bits(int bits, const void* data, std::int64_t index) {
  switch (bits) {
    case 8:
      return load_raw<std::uint8_t>(data, index);
    case 16:
      return load_raw<std::uint16_t>(data, index);
    case 32:
      return load_raw<std::uint32_t>(data, index);
    case 64:
      return load_raw<std::uint64_t>(data, index);
  }
  Packed place = packed(bits, index);
  return load_raw<std::uint8_t>(data, place.byte) >> place.shift & place.mask;
}

void store_bits(int bits, void* data, std::int64_t index, std::uint64_t value) {
  switch (bits) {
    case 8:
      return store_raw<std::uint8_t>(data, index, value);
    case 16:
      return store_raw<std::uint16_t>(data, index, value);
    case 32:
      return store_raw<std::uint32_t>(data, index, value);
    case 64:
      return store_raw<std::uint64_t>(data, index, value);
  }
  Packed place = packed(bits, index);
  unsigned kept = load_raw<std::uint8_t>(data, place.byte) & ~(place.mask << place.shift);
  store_raw<std::uint8_t>(data, place.byte, kept | (static_cast<unsigned>(value) & place.mask) << place.shift);
}

}  // namespace

double load_float(DType type, const void* data, std::int64_t index) {
  return decode_float(type, load_bits(dtype_bits(type), data, index));
}

void store_float(DType type, void* data, std::int64_t index, double value) {
  store_bits(dtype_bits(type), data, index, encode_float(type, value));
}

std::int64_t load_int(DType type, const void* data, std::int64_t index) {
  return int_to_int(type, static_cast<std::int64_t>(load_bits(dtype_bits(type), data, index)));
}

void store_int(DType type, void* data, std::int64_t index, std::int64_t value) {
  store_bits(dtype_bits(type), data, index, static_cast<std::uint64_t>(int_to_int(type, value)));
}

}  // namespace plait::ir
