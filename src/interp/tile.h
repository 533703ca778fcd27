#pragma once

#include <functional>

#include "interp/machine.h"

namespace plait::interp {

/// Begins and extents are cut to this before any arithmetic on them: no tensor reaches so far.
inline constexpr std::int64_t far_outside = std::int64_t{1} << 61;

/// What lies outside a global tensor: an error, or nothing (`copy` pads and drops, atomics drop).
enum class Outside { error, clipped };

/// One operand of a tile operation with its bounds evaluated. Dimensions of extent 1 are folded into `base`, so that
/// A[b, r:r+64, h, 0:64] and B[0:64, 0:64] have the same `dims`; there is always at least one.
struct Box {
  struct Dim {
    std::int64_t extent = 1;
    std::int64_t begin = 0, size = 1;  ///< within the buffer, whose extent here is `size`
    std::int64_t number_step = 0, offset_step = 0;
    std::size_t source = 0;  ///< number of this dimension in the buffer
  };
  const RegionCode* code = nullptr;
  ir::DType type = ir::DType::f32;
  bool global = false;
  std::vector<std::int64_t> extents;  ///< all of them, as written
  std::vector<Dim> dims;
  Place base;            ///< of the element (0, 0, …) of `dims`; may lie outside
  bool nothing = false;  ///< no element is there: a folded dimension lies outside the tensor
  /// Where each index of dims[0] lies instead, counted from its begin; negative: nowhere. Null: in order.
  const std::vector<std::int64_t>* rows = nullptr;
  /// Elements with an index beyond these are not there; one a dimension of `dims`, or empty.
  std::vector<std::int64_t> limits;

  /// Elements of the box; 0 if any extent is 0.
  std::int64_t count() const;
  /// Rows: the last of `dims` is walked along, the others select.
  std::int64_t row_length() const { return dims.back().extent; }
};

/// Evaluates a region; false after reporting a negative extent, or elements outside the buffer where they are an error.
/// `row`: the last dimension but one, of extent 1, lies that much further; a negative row is nowhere.
bool make_box(Machine& m, const RegionCode& code, Outside outside, Box& box, const std::int64_t* row = nullptr);
/// Whether both have the same extents but for ones; else reports it.
bool same_shape(Machine& m, const Box& a, const Box& b);

/// The indices of a row, that is of all of `dims` but the last.
using RowIndex = std::vector<std::int64_t>;
/// Calls `fn` for each row in order until it gives false.
bool for_each_row(const Box& box, const std::function<bool(const RowIndex&)>& fn);
/// The part of a row that is there: elements [from, to) of it.
struct Window {
  std::int64_t from = 0, to = 0;
  bool empty() const { return from >= to; }
};
Window window(const Box& box, const RowIndex& index);
/// Elements [from, to) of a row.
Row row_at(const Box& box, const RowIndex& index, Window window);

/// All elements of a box that lies inside its buffer, in row-major order.
bool gather(Machine& m, const Box& box, std::vector<Value>& out);
bool scatter(Machine& m, const Box& box, const std::vector<Value>& in);
/// Room for the elements of a box; false after reporting that they are too many.
bool reserve(Machine& m, const Box& box, std::vector<Value>& out);

bool run_copy(Machine& m, const TileCode& tile);
bool run_fill(Machine& m, const TileCode& tile);
bool run_gemm(Machine& m, const TileCode& tile);
bool run_reduce(Machine& m, const TileCode& tile);
bool run_arg_reduce(Machine& m, const TileCode& tile);
bool run_cumsum(Machine& m, const TileCode& tile);
bool run_transpose(Machine& m, const TileCode& tile);
bool run_atomic_tile(Machine& m, const TileCode& tile);

}  // namespace plait::interp
