#include "sim/operand.h"

#include <bit>
#include <cstring>

namespace plait::sim {
namespace {

/// The values of all 16-bit patterns of f16.
const std::vector<float>& half_values() {
  static const std::vector<float> values = [] {
    std::vector<float> list(1U << 16U);
    for (std::size_t bits = 0; bits < list.size(); ++bits)
      list[bits] = static_cast<float>(ir::decode_float(ir::DType::f16, bits));
    return list;
  }();
  return values;
}

template <typename T>
T bits_at(const std::uint8_t* from, std::int64_t element) {
  T bits;
  std::memcpy(&bits, from + element * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return bits;
}

}  // namespace

void decode(ir::DType type, const std::uint8_t* from, std::int64_t count, float* out, std::int64_t step) {
  const std::vector<float>& halves = half_values();
  for (std::int64_t i = 0; i < count; ++i) {
    float& to = out[i * step];
    if (type == ir::DType::bf16) {
      to = std::bit_cast<float>(std::uint32_t{bits_at<std::uint16_t>(from, i)} << 16U);
    } else if (type == ir::DType::f16) {
      to = halves[bits_at<std::uint16_t>(from, i)];
    } else if (type == ir::DType::tf32) {
      to = std::bit_cast<float>(bits_at<std::uint32_t>(from, i) & 0xffffe000U);
    } else {
      to = static_cast<float>(ir::load_float(type, from, i));
    }
  }
}

std::vector<float> tile_floats(const Block& block, const SmemCode& smem, const layout::SmemTile::Position& at,
                               std::int64_t rows, std::int64_t columns, bool transpose) {
  std::vector<float> out(static_cast<std::size_t>(rows * columns));
  ir::DType type = smem.decl->buffer->type;
  for_each_run(
      smem, at, rows, columns, [&](std::int64_t begin, std::int64_t bytes, std::int64_t row, std::int64_t column) {
        std::int64_t first = transpose ? column * rows + row : row * columns + column;
        decode(type, block.smem.data() + begin, bytes * 8 / smem.tile.bits, out.data() + first, transpose ? rows : 1);
      });
  return out;
}

}  // namespace plait::sim
