#pragma once

#include "ir/visit.h"
#include "place/placed.h"
#include "plan/schedule.h"

namespace plait::pipeline {

/// A kernel whose pipelined loop is done in pieces by several blocks (split-K, stream-K): each sums a part of its
/// iterations, and the block that comes last to a tile adds the sums up and does what follows the loop.
struct Pieces {
  ir::Var begin, end;            ///< the iterations of a piece: axes of the grid behind the kernel's own
  ir::ExprRef trips;             ///< of the whole loop
  std::size_t axes;              ///< of the kernel's own grid
  std::vector<ir::Buffer> sums;  ///< of products in the loop

  /// Whether this is the loop.
  bool is(const ir::Stmt& stmt) const;
};

/// What the lets at the top of a kernel are defined as, by way of other lets too: where a let has one value in all of a
/// block.
ir::VarMap lets_of(const ir::Kernel& kernel);
/// Whether the expression has one value for all blocks: it is made of dims and scalars, and lets of such.
bool is_of_the_call(const ir::ExprRef& expr, const ir::VarMap& lets);

/// Whether the work map asks for pieces.
bool asks_for_pieces(const plan::Work& work);

/// Gives the loop the bounds of a piece. An error of the kernel's where no loop can be done in pieces.
Result<Pieces> split_in_pieces(ir::Kernel& kernel, const plan::Work& work);

}  // namespace plait::pipeline
