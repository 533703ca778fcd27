#pragma once

#include <optional>

#include "ir/kernel.h"

namespace plait::graph {

/// Rows of a tensor, each of its own place, that a parallel nest moves to or from a tile of two dimensions: element
/// (i, c) of the tile goes with tensor[index…, begin + c] where `inside` and, with `clipped`, begin + c < the tensor's
/// last extent hold. `index`, `begin` and `inside` hold no c; lets of the nest are put into them.
struct TensorRows {
  ir::Buffer tile, tensor;
  ir::LoopAxis row;                ///< the nest's axis over the rows: from 0 by 1 over all of them
  std::vector<ir::ExprRef> index;  ///< of the tensor, but for the last dimension
  ir::ExprRef begin;               ///< element of the tensor's row with which the tile's begins, the same in each
  ir::ExprRef inside;              ///< null: every row is one of the tensor
  bool clipped = false;
};
/// A nest that fills a whole shared tile with rows of a tensor of its type, zeros in place of others. Nothing for every
/// other statement.
std::optional<TensorRows> row_gather(const ir::Stmt& stmt);
/// A nest that stores a whole fragment, rounded to the tensor's type, as rows of a tensor.
std::optional<TensorRows> row_scatter(const ir::Stmt& stmt);

/// The shared tile that a statement fills from global memory, by a copy or a gather of rows; null for others.
ir::Buffer loaded_tile(const ir::Stmt& stmt);
/// The tensor that it comes from; null for others.
ir::Buffer loaded_tensor(const ir::Stmt& stmt);

}  // namespace plait::graph
