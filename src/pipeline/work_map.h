#pragma once

#include "pipeline/clusters.h"
#include "pipeline/fresh_names.h"
#include "pipeline/pieces.h"

namespace plait::pipeline {

/// Which block takes which work items of the grid, and in which order: the schedule's work map in a role program. A
/// work item is a tile, a pair of them, or a piece of one.
class WorkMap {
 public:
  /// `pieces`: null where tiles are done whole.
  WorkMap(const ir::Kernel& kernel, const plan::Work& work, const Pieces* pieces, roles::build::Builder& b,
          Scalars& scalars, FreshNames& names);

  /// The head's part: counts of tiles, the launch, what blocks hand each other.
  void declare();
  enum class Side { loads, computes };
  /// Calls `item` with the grid's variables bound, once or for each of the block's work items, in a role of that side.
  void each(Side side, const std::function<void()>& item);

  /// Whether blocks stay and take item after item.
  bool stays() const { return work_.kind != plan::WorkKind::plain; }
  /// Whether the role that loads hands out the items.
  bool hands_out() const { return work_.kind == plan::WorkKind::dynamic; }
  const Cluster& cluster() const { return cluster_; }
  /// Of the kernel's own grid.
  std::size_t axes() const { return axes_; }
  /// Tiles, or clusters of them, along each axis of the grid.
  const std::vector<Value>& counts() const { return counts_; }

  // Of pieces; values hold within an item.
  const Pieces* pieces() const { return pieces_; }
  /// Places for the sums of pieces.
  const Value& slots() const { return slots_; }
  struct Piece {
    Value own = 0;                                  ///< number of this piece among those of its tile
    Value of = 1;                                   ///< pieces of the tile
    std::function<Value(const Value& piece)> slot;  ///< the place of a piece's sums
  };
  const Piece& piece() const { return piece_; }

 private:
  void launch();
  const Value& all_items() const { return pieces_ == nullptr ? items_ : slots_; }
  Value resident() const;
  void declare_pieces();
  void declare_tickets();
  void hand_out(Side side, const std::function<void()>& item);
  void stream(const std::function<void()>& item);
  void at_number(const Value& number, const std::function<void()>& item);
  void at_place(const Value& number, const std::function<void()>& item);
  void at_row(const Value& row, const std::function<void()>& item);
  Value decode(const Value& number);
  void name(std::size_t axis, const Value& place);
  Value in_cluster(std::size_t axis, const Value& place) const;
  void bind_piece(const Value& begin, const Value& end);
  Value let(const std::string& name, const Value& value) { return b_.let(names_.in_role(name), value); }
  Value begin_of_block(const Value& block) const;
  Value block_of(const Value& step) const;

  const ir::Kernel& kernel_;
  const plan::Work& work_;
  const Pieces* pieces_;
  std::size_t axes_;  ///< of the kernel's own grid
  roles::build::Builder& b_;
  Scalars& scalars_;
  FreshNames& names_;
  Cluster cluster_;
  std::vector<Value> counts_;
  Value rows_ = 0, items_ = 0;  ///< work items along the first axis, and of all
  Value steps_ = 0;             ///< iterations of a tile's loop
  Value rounds_ = 0;            ///< whole tiles of each block, before the pieces
  Value share_ = 0, more_ = 0;  ///< iterations of each block in pieces; of the first so many one more
  Value slots_ = 0;
  Piece piece_;
  roles::Channel tickets_;  ///< numbers of items, from the role that loads
  ir::Buffer next_;         ///< items handed out beyond the first of each block
};

}  // namespace plait::pipeline
