#include "pipeline/teams.h"

#include <algorithm>
#include <bit>

#include "ir/build.h"

namespace plait::pipeline {

using namespace ir;

namespace {

constexpr std::int64_t kLanes = 32;
/// Elements of a lane for which it pays that further warps take part, who have to meet.
constexpr std::int64_t kLeastOfLane = 4;

std::int64_t floor_power(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}

std::int64_t ceil_power(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}

std::size_t dim_of(const TileOp& op) {
  if (const auto* sum = std::get_if<CumsumAttrs>(&op.attrs)) return static_cast<std::size_t>(sum->dim);
  return static_cast<std::size_t>(std::get<ReduceAttrs>(op.attrs).dim);
}

/// What a register holds of it.
DType held_as(DType type, bool is_sum) {
  if (ir::is_float(type)) return type == DType::f64 ? DType::f64 : DType::f32;
  const bool wide = dtype_bits(type) == 64;
  if (is_sum || ir::is_bool(type) || !ir::is_signed_integer(type)) return wide ? DType::u64 : DType::u32;
  return wide ? DType::i64 : DType::i32;
}

}  // namespace

bool runs_along_lines(OpKind kind) {
  switch (kind) {
    case OpKind::reduce_sum:
    case OpKind::reduce_max:
    case OpKind::reduce_min:
    case OpKind::reduce_abssum:
    case OpKind::reduce_absmax:
    case OpKind::reduce_bitand:
    case OpKind::reduce_bitor:
    case OpKind::reduce_bitxor:
    case OpKind::reduce_argmax:
    case OpKind::reduce_argmin:
    case OpKind::cumsum:
      return true;
    case OpKind::copy:
    case OpKind::fill:
    case OpKind::gemm:
    case OpKind::transpose:
    case OpKind::atomic_add:
    case OpKind::atomic_max:
    case OpKind::atomic_min:
      return false;
  }
  return false;
}

DType sum_type(DType type) { return ir::is_float(type) && type != DType::f64 ? DType::f32 : type; }

std::vector<DType> held_types(const TileOp& op) {
  if (op.kind == OpKind::reduce_argmax || op.kind == OpKind::reduce_argmin)
    return {held_as(op.operands[0].buffer->type, false), DType::i32};
  const bool is_sum = op.kind == OpKind::reduce_sum || op.kind == OpKind::reduce_abssum || op.kind == OpKind::cumsum;
  return {held_as(sum_type(op.operands[1].buffer->type), is_sum)};
}

Team team_of(const TileOp& op, std::int64_t warps) {
  const std::vector<Range>& ranges = op.operands[0].ranges;
  const std::size_t dim = dim_of(op);
  std::optional<std::int64_t> lines = 1, length = as_int(ranges[dim].extent);
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    auto extent = as_int(ranges[d].extent);
    if (d != dim) lines = lines && extent ? std::optional(*lines * *extent) : std::nullopt;
  }
  Team team;
  team.along = dim + 1 == ranges.size();
  const std::int64_t most = length ? std::min(ceil_power(*length), kLanes) : kLanes;
  if (team.along) {
    team.lanes = most;
  } else if (lines) {
    // As long as there are lines enough for all lanes, neighbours of theirs are read together.
    team.lanes = std::min(most, floor_power(warps * kLanes / std::max<std::int64_t>(*lines, 1)));
  }
  if (team.lanes < kLanes || !lines) return team;
  team.warps = floor_power(warps / std::max<std::int64_t>(*lines, 1));
  while (team.warps > 1 && length && *length < team.threads() * kLeastOfLane) team.warps /= 2;
  return team;
}

}  // namespace plait::pipeline
