#pragma once

#include "layout/smem.h"

/// ldmatrix and stmatrix: a warp moves 8x8 matrices of 16-bit elements (rows of 16 bytes) between shared memory and one
/// register a lane for each matrix.
namespace plait::layout {

/// One instruction over `count` (1, 2 or 4) matrices. Lane 8·i + j of the first 8·count gives the address of row j of
/// matrix i; matrix i goes to or comes from register first_register + i of every lane.
struct MatrixAccess {
  int count = 4;
  std::int64_t first_register = 0;
  /// A lane's row of 16 bytes begins at this row and column of the stored tile (from the tile's first element); as many
  /// as lanes that give addresses.
  std::vector<Coord> lanes;
};

/// The part of a fragment that a warp moves, and how the tile that it moves to or from is stored.
struct MatrixRequest {
  FragmentMap map;
  int bits = 16;          ///< of an element in memory: 8, 16 or 32; with `trans` 16
  std::int64_t warp = 0;  ///< of the threads of the map
  Coord begin;            ///< the part: rows x columns of the fragment from here, of all warps together
  std::int64_t rows = 8;
  std::int64_t columns = 8;
  bool trans = false;  ///< the tile is stored with rows and columns swapped
};

/// Why the instructions cannot move it: its registers do not form matrices, or the part cuts one.
std::optional<std::string> matrix_access_error(const MatrixRequest& request);
/// The instructions, in the order of registers. Coordinates in the stored tile count from the part's first element.
std::vector<MatrixAccess> matrix_accesses(const MatrixRequest& request);

/// Where byte `byte` (0…3) of a lane's register lies in its matrix: row, and byte of the row of 16.
Coord matrix_byte(int lane, int byte, bool trans);

}  // namespace plait::layout
