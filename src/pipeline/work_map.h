#pragma once

#include "pipeline/clusters.h"
#include "pipeline/fresh_names.h"

namespace plait::pipeline {

/// Which block takes which work items of the grid, and in which order: the schedule's work map in a role program.
class WorkMap {
 public:
  WorkMap(const ir::Kernel& kernel, const plan::Work& work, roles::build::Builder& b, Scalars& scalars,
          FreshNames& names);

  /// The head's part: counts of tiles, and the launch.
  void declare();
  /// Calls `item` with the grid's variables bound, once or for each of the block's work items.
  void each(const std::function<void()>& item);

  /// Whether blocks stay and take item after item.
  bool stays() const { return work_.kind == plan::WorkKind::persistent; }
  const Cluster& cluster() const { return cluster_; }
  /// Tiles, or clusters of them, along each axis of the grid.
  const std::vector<Value>& counts() const { return counts_; }

 private:
  void at_place(const Value& number, const std::function<void()>& item);
  void at_row(const Value& row, const std::function<void()>& item);
  Value decode(const Value& number);
  void name(std::size_t axis, const Value& place);
  Value in_cluster(std::size_t axis, const Value& place) const;

  const ir::Kernel& kernel_;
  const plan::Work& work_;
  roles::build::Builder& b_;
  Scalars& scalars_;
  FreshNames& names_;
  Cluster cluster_;
  std::vector<Value> counts_;
  Value rows_ = 0, items_ = 0;  ///< work items along the first axis, and of all
};

}  // namespace plait::pipeline
