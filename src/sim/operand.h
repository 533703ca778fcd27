#pragma once

#include <vector>

#include "sim/copy.h"

/// Operands of matrix instructions as dense matrices.
namespace plait::sim {

/// Converts `count` elements of a float type to f32; out[i * step] is element i. The bits of a tf32 below its fraction
/// are ignored, as the tensor cores do.
void decode(ir::DType type, const std::uint8_t* from, std::int64_t count, float* out, std::int64_t step);

/// The part of a tile of floats, transposed where asked for, as a dense matrix.
std::vector<float> tile_floats(const Block& block, const SmemCode& smem, const layout::SmemTile::Position& at,
                               std::int64_t rows, std::int64_t columns, bool transpose);

}  // namespace plait::sim
