#pragma once

#include "ir/kernel.h"

namespace plait::pipeline {

/// How threads share out the lines of a tile, along which something is reduced or summed up: `lanes` of a warp, a power
/// of two, and of `warps` warps all lanes, take a line together.
struct Team {
  std::int64_t lanes = 1;
  std::int64_t warps = 1;
  bool along = false;  ///< neighbouring lanes have neighbours of the line; else they have neighbouring lines
  std::int64_t threads() const { return lanes * warps; }
};

/// Whether it reduces or sums up along lines of its first operand.
bool runs_along_lines(ir::OpKind kind);

/// Of so many warps, for a reduction or a running sum along a dimension of its first operand.
Team team_of(const ir::TileOp& op, std::int64_t warps);

/// Types of the values that a thread has of its part of a line, for those of a team to exchange: of 32 or 64 bits. Sums
/// of integers are unsigned ones, which wrap.
std::vector<ir::DType> held_types(const ir::TileOp& op);

/// The type in which elements that are stored as `type` are summed.
ir::DType sum_type(ir::DType type);

}  // namespace plait::pipeline
