#include "pipeline/work_map.h"

namespace plait::pipeline {

using namespace ir;

WorkMap::WorkMap(const Kernel& kernel, const plan::Work& work, roles::build::Builder& b, Scalars& scalars,
                 FreshNames& names)
    : kernel_(kernel), work_(work), b_(b), scalars_(scalars), names_(names), cluster_(cluster_of(work)) {}

void WorkMap::declare() {
  const std::int64_t together = cluster_.blocks;
  if (together > 1) b_.cluster(cluster_.blocks);
  auto of_all = [&](const Value& first) {
    Value all = first;
    for (std::size_t d = 1; d < counts_.size(); ++d) all = all * counts_[d];
    return all;
  };
  for (std::size_t d = 0; d < kernel_.grid.size(); ++d) {
    const GridAxis& axis = kernel_.grid[d];
    Value count = scalars_.index(axis.extent);
    if (together > 1 && d == cluster_.axis) count = ceildiv(count, together);
    counts_.push_back(b_.let(names_.in_role(axis.var->name + "_count"), count));
  }
  rows_ = counts_.front();
  bool pairs = work_.order == plan::TileOrder::paired;
  if (pairs) rows_ = b_.let(names_.in_role("pairs"), ceildiv(counts_.front(), 2));
  items_ = of_all(rows_);
  if (counts_.size() > 1) items_ = b_.let(names_.in_role(pairs ? "items" : "tiles"), items_);
  Value most = b_.builtins().sms;
  if (together > 1) most = max(most / together, Value(1));
  Value groups = stays() ? min(most, items_) : items_;
  b_.launch({together > 1 ? groups * together : groups});
}

void WorkMap::each(const std::function<void()>& item) {
  const roles::Builtins& own = b_.builtins();
  const std::int64_t together = cluster_.blocks;
  Value block = together > 1 ? own.block / Value(together) : Value(own.block);
  if (!stays()) return at_place(block, item);
  Value blocks = together > 1 ? own.blocks / Value(together) : Value(own.blocks);
  OpenBody scope(scalars_, names_);
  b_.loop(names_.in_role("tile"), {block, items_, blocks}, [&](const Value& number) { at_place(number, item); });
}

/// One work item: a tile, or a pair of them.
void WorkMap::at_place(const Value& number, const std::function<void()>& item) {
  OpenBody scope(scalars_, names_);
  Value place = decode(number);
  switch (work_.order) {
    case plan::TileOrder::longest_first:
      return at_row(counts_[0] - 1 - place, item);
    case plan::TileOrder::paired: {
      place = b_.let(names_.in_role("pair"), place);
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
  scalars_.bind(var, b_.let(names_.in_role(var->name), in_cluster(axis, place)));
}

/// Of the tiles that a cluster has along its axis, each block takes one.
Value WorkMap::in_cluster(std::size_t axis, const Value& place) const {
  if (cluster_.blocks == 1 || axis != cluster_.axis) return place;
  return place * std::int64_t{cluster_.blocks} + b_.builtins().cluster_rank;
}

/// Binds the coordinates of a work item, the first axis fastest, and gives its place along the first. Grouped: `group`
/// rows of tiles are walked together, column by column; heads: the same with the second and third axes as one.
Value WorkMap::decode(const Value& number) {
  const std::size_t axes = kernel_.grid.size();
  if (axes == 1) return number;
  int together = work_.order == plan::TileOrder::grouped ? work_.group : work_.heads;
  Value rest = number, lines = counts_[1];
  if (axes == 3 && work_.heads > 1) {
    lines = counts_[1] * counts_[2];
  } else if (axes == 3) {
    name(2, number / (rows_ * counts_[1]));
    rest = b_.let(names_.in_role("plane"), number % (rows_ * counts_[1]));
  }
  Value line = rest / rows_, place = rest % rows_;
  if (together > 1) {
    Value span = b_.let(names_.in_role("span"), together * rows_);
    Value first = b_.let(names_.in_role("first"), rest / span * together);
    Value width = b_.let(names_.in_role("width"), min(lines - first, together));
    line = first + rest % span % width;
    place = rest % span / width;
  }
  if (axes == 2 || work_.heads == 1) {
    name(1, line);
    return place;
  }
  line = b_.let(names_.in_role("line"), line);
  name(2, line / counts_[1]);
  name(1, line % counts_[1]);
  return place;
}

}  // namespace plait::pipeline
