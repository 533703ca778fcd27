#pragma once

#include <map>

#include "roles/program.h"

namespace plait::cuda {

/// How the statements of a program move the rows of a tensor between memory and threads.
struct Piece {
  std::int64_t elements = 1;  ///< the most that one access moves: starts of rows are multiples of it
  bool whole = false;         ///< rows are made of whole pieces, since one at the edge is moved or left as a whole
};

/// The tensors that `load`, `store`, `cp_async` and the bulk copies access.
std::map<const ir::BufferDecl*, Piece> pieces(const roles::Program& program);

}  // namespace plait::cuda
