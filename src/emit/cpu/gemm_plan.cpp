#include "emit/cpu/gemm_plan.h"

#include <algorithm>

namespace plait::cpu {
namespace {

/// Operands read with a stride stay in the L1 cache up to this size; larger ones are packed.
constexpr std::int64_t strided_limit_bytes = 16384;
/// Fewer rows than this do not repay the packing of a B that could be read in place.
constexpr std::int64_t min_rows_to_pack = 13;

int element_size(GemmElement element) { return element == GemmElement::f64 ? 8 : 4; }
std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

/// Vectors of a panel: two, or more where few rows would leave the multiplier idle between dependent steps.
int panel_vectors(std::int64_t m) { return m >= 4 ? 2 : m >= 2 ? 4 : 8; }

/// Rows of a block that keep all accumulators in registers beside the operands.
int block_rows(int registers, int vectors) {
  const int accumulators = registers == 32 ? 24 : 12;
  return std::max(1, accumulators / vectors);
}

std::vector<ColumnRun> split_columns(std::int64_t n, int lanes, int vectors) {
  std::vector<ColumnRun> runs;
  const std::int64_t width = static_cast<std::int64_t>(lanes) * vectors;
  const std::int64_t full = n / width;
  if (full > 0) runs.push_back({0, full, vectors, 0});
  const std::int64_t rest = n - full * width;
  if (rest > 0)
    runs.push_back({full * width, 1, static_cast<int>((rest + lanes - 1) / lanes), static_cast<int>(rest % lanes)});
  return runs;
}

}  // namespace

GemmPlan::GemmPlan(const GemmShape& gemm_shape, const VectorTarget& vector_target)
    : shape(gemm_shape),
      target(vector_target),
      element_bytes(element_size(gemm_shape.element)),
      lanes(vector_target.lanes(8 * element_bytes)),
      block_vectors(panel_vectors(gemm_shape.m)),
      columns(split_columns(gemm_shape.n, lanes, block_vectors)) {
  const bool large_a = shape.k * shape.lda * element_bytes > strided_limit_bytes;
  const bool large_b = shape.k * shape.ldb * element_bytes > strided_limit_bytes;
  if (shape.trans_a) {
    pack_a = widens() || large_a ? PackA::panels : PackA::none;
  } else if (widens()) {
    pack_a = PackA::rows;
  }
  pack_b = shape.trans_b || widens() || (large_b && shape.m >= min_rows_to_pack);
}

std::vector<RowRun> GemmPlan::rows(int vectors) const {
  // Panels of A are packed once for all columns, so their height cannot depend on a narrower last panel.
  const int height = block_rows(target.registers, pack_a == PackA::panels ? block_vectors : vectors);
  std::vector<RowRun> runs;
  std::int64_t full = shape.m / height;
  std::int64_t rest = shape.m % height;
  // A low last block has too few independent sums to fill the pipeline: it shares rows with its neighbour.
  if (rest > 0 && full > 0 && 3 * rest < 2 * height) {
    --full;
    rest += height;
  }
  if (full > 0) runs.push_back({0, full, height});
  std::int64_t begin = full * height;
  if (rest > height) {
    const std::int64_t upper = (rest + 1) / 2;
    runs.push_back({begin, 1, static_cast<int>(upper)});
    begin += upper;
    rest -= upper;
  }
  if (rest > 0) runs.push_back({begin, 1, static_cast<int>(rest)});
  return runs;
}

MicroStrides GemmPlan::strides(int rows_of_block, int vectors) const {
  MicroStrides strides{shape.lda, 1, shape.ldb, shape.ldc};
  if (shape.trans_a) strides = {1, shape.lda, shape.ldb, shape.ldc};
  if (pack_a == PackA::rows) strides.a_row = shape.k;
  if (pack_a == PackA::panels) strides.a_step = rows_of_block;
  if (pack_b) strides.b_step = static_cast<std::int64_t>(vectors) * lanes;
  return strides;
}

std::int64_t GemmPlan::packed_a_bytes() const {
  return pack_a == PackA::none ? 0 : round_up(shape.m * shape.k * element_bytes, 64);
}

std::int64_t GemmPlan::packed_b_bytes() const {
  return pack_b ? round_up(shape.k * block_vectors * lanes * element_bytes, 64) : 0;
}

}  // namespace plait::cpu
