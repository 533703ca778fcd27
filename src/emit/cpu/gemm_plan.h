#pragma once

#include <vector>

#include "emit/cpu/gemm_kernel.h"

namespace plait::cpu {

/// `count` blocks of `rows` rows each, from row `begin` on.
struct RowRun {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  int rows = 0;
};

/// `count` panels of `vectors` vectors each from column `begin` on; the last vector of a panel has `tail` columns (0:
/// it is full).
struct ColumnRun {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  int vectors = 0;
  int tail = 0;
};

/// How the micro-kernel finds its operands: element (i, k) of A at i·a_row + k·a_step, row k of B at k·b_step, row i of
/// C at i·c_row.
struct MicroStrides {
  std::int64_t a_row = 0, a_step = 0, b_step = 0, c_row = 0;
};

enum class PackA {
  none,
  rows,    ///< widened, row-major [m, k]
  panels,  ///< a [k, rows] panel for each block of rows
};

/// All decisions about one shape on one target.
struct GemmPlan {
  GemmPlan(const GemmShape& gemm_shape, const VectorTarget& vector_target);

  GemmShape shape;
  VectorTarget target;
  int element_bytes = 4;  ///< of packed A and B and of C
  int lanes = 1;
  int block_vectors = 1;  ///< vectors of a full panel
  PackA pack_a = PackA::none;
  bool pack_b = false;
  std::vector<ColumnRun> columns;

  bool is_float() const { return shape.element == GemmElement::f32 || shape.element == GemmElement::f64; }
  /// A and B in memory are narrower than the accumulators.
  bool widens() const { return shape.element == GemmElement::i8 || shape.element == GemmElement::u8; }
  /// Blocks of rows for a panel of that many vectors.
  std::vector<RowRun> rows(int vectors) const;
  MicroStrides strides(int block_rows, int vectors) const;
  std::int64_t packed_a_bytes() const;
  std::int64_t packed_b_bytes() const;
};

}  // namespace plait::cpu
