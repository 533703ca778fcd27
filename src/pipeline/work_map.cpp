#include "pipeline/work_map.h"

#include "pipeline/hilbert.h"

namespace plait::pipeline {

using namespace ir;

WorkMap::WorkMap(const Kernel& kernel, const plan::Work& work, const Pieces* pieces, roles::build::Builder& b,
                 Scalars& scalars, FreshNames& names)
    : kernel_(kernel),
      work_(work),
      pieces_(pieces),
      axes_(pieces == nullptr ? kernel.grid.size() : pieces->axes),
      b_(b),
      scalars_(scalars),
      names_(names),
      cluster_(cluster_of(work)) {}

void WorkMap::declare() {
  const std::int64_t together = cluster_.blocks;
  if (together > 1) b_.cluster(cluster_.blocks);
  for (std::size_t d = 0; d < axes_; ++d) {
    const GridAxis& axis = kernel_.grid[d];
    Value count = scalars_.index(axis.extent);
    if (together > 1 && d == cluster_.axis) count = ceildiv(count, together);
    counts_.push_back(let(axis.var->name + "_count", count));
  }
  rows_ = counts_.front();
  bool pairs = work_.order == plan::TileOrder::paired;
  if (pairs) rows_ = let("pairs", ceildiv(counts_.front(), 2));
  items_ = rows_;
  for (std::size_t d = 1; d < counts_.size(); ++d) items_ = items_ * counts_[d];
  if (counts_.size() > 1) items_ = let(pairs ? "items" : "tiles", items_);
  if (pieces_ != nullptr) {
    declare_pieces();
  } else {
    launch();
  }
  if (hands_out()) declare_tickets();
}

void WorkMap::launch() {
  const std::int64_t together = cluster_.blocks;
  Value most = resident();
  if (together > 1) most = max(most / together, Value(1));
  Value groups = stays() ? min(most, items_) : items_;
  b_.launch({together > 1 ? groups * together : groups});
}

/// Blocks that run at once.
Value WorkMap::resident() const {
  Value sms = b_.builtins().sms;
  return work_.occupancy > 1 ? sms * std::int64_t{work_.occupancy} : sms;
}

void WorkMap::each(Side side, const std::function<void()>& item) {
  const roles::Builtins& own = b_.builtins();
  const std::int64_t together = cluster_.blocks;
  Value block = together > 1 ? own.block / Value(together) : Value(own.block);
  Value blocks = together > 1 ? own.blocks / Value(together) : Value(own.blocks);
  OpenBody scope(scalars_, names_);
  switch (work_.kind) {
    case plan::WorkKind::plain:
      return at_number(block, item);
    case plan::WorkKind::persistent:
      return b_.loop(names_.in_role("tile"), {block, all_items(), blocks},
                     [&](const Value& number) { at_number(number, item); });
    case plan::WorkKind::dynamic:
      return hand_out(side, item);
    case plan::WorkKind::stream_k:
      return stream(item);
  }
}

/// A work item by its number.
void WorkMap::at_number(const Value& number, const std::function<void()>& item) {
  if (pieces_ == nullptr) return at_place(number, item);
  OpenBody scope(scalars_, names_);
  const std::int64_t parts = work_.split_k;
  Value tile = let("of_tile", number / parts);
  piece_.own = let("piece", number % parts);
  piece_.of = parts;
  piece_.slot = [=](const Value& piece) { return tile * parts + piece; };
  auto begin = [&](const Value& piece) { return piece * (steps_ / parts) + min(piece, steps_ % parts); };
  bind_piece(let("from", begin(piece_.own)), let("to", begin(piece_.own + 1)));
  at_place(tile, item);
}

/// A tile, or a pair of them.
void WorkMap::at_place(const Value& number, const std::function<void()>& item) {
  OpenBody scope(scalars_, names_);
  Value place = decode(number);
  switch (work_.order) {
    case plan::TileOrder::longest_first:
      return at_row(counts_[0] - 1 - place, item);
    case plan::TileOrder::paired: {
      place = let("pair", place);
      Value both = 2 * place + 1 < counts_[0];
      return b_.loop(names_.in_role("half"), {0, select(both, 2, 1)}, [&](const Value& half) {
        OpenBody inner(scalars_, names_);
        at_row(select(half == 0, counts_[0] - 1 - place, place), item);
      });
    }
    default:
      return at_row(place, item);
  }
}

void WorkMap::at_row(const Value& row, const std::function<void()>& item) {
  name(0, row);
  item();
}

/// A coordinate of the tile gets its value.
void WorkMap::name(std::size_t axis, const Value& place) {
  const Var& var = kernel_.grid[axis].var;
  scalars_.bind(var, let(var->name, in_cluster(axis, place)));
}

/// Of the tiles that a cluster has along its axis, each block takes one.
Value WorkMap::in_cluster(std::size_t axis, const Value& place) const {
  if (cluster_.blocks == 1 || axis != cluster_.axis) return place;
  return place * std::int64_t{cluster_.blocks} + b_.builtins().cluster_rank;
}

/// Binds the coordinates of a tile, the first axis fastest, and gives its place along the first. Grouped: `group`
/// rows of tiles are walked together, column by column; heads: the same with the second and third axes as one.
Value WorkMap::decode(const Value& number) {
  if (axes_ == 1) return number;
  int together = work_.order == plan::TileOrder::grouped ? work_.group : work_.heads;
  Value rest = number, lines = counts_[1];
  if (axes_ == 3 && work_.heads > 1) {
    lines = counts_[1] * counts_[2];
  } else if (axes_ == 3) {
    name(2, number / (rows_ * counts_[1]));
    rest = let("plane", number % (rows_ * counts_[1]));
  }
  Value line = rest / rows_, place = rest % rows_;
  if (work_.order == plan::TileOrder::hilbert) {
    Cell cell = hilbert_cell(b_, names_, rest, rows_, lines);
    line = cell.column;
    place = cell.row;
  } else if (together > 1) {
    Value span = let("span", together * rows_);
    Value first = let("first", rest / span * together);
    Value width = let("width", min(lines - first, together));
    line = first + rest % span % width;
    place = rest % span / width;
  }
  if (axes_ == 2 || work_.heads == 1) {
    name(1, line);
    return place;
  }
  line = let("line", line);
  name(2, line / counts_[1]);
  name(1, line % counts_[1]);
  return place;
}

}  // namespace plait::pipeline
