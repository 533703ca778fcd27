#pragma once

#include "place/placed.h"

namespace plait::place {

/// Products of few rows, computed as their transposes. An instruction takes the rows of a result in 64s and its columns
/// in 8s up to 256: where a tile has, say, 16 rows and 64 columns, Cᵀ = Bᵀ·Aᵀ fits and C does not. The fragments change
/// places of rows and columns, and with them all that names their elements; where one is used in a way that has no such
/// form, the product stays. The kernel computes the same values, in the same order of k.
ir::Kernel swap_products(const ir::Kernel& kernel, std::vector<Remark>& remarks);

}  // namespace plait::place
