#pragma once

#include "place/placed.h"
#include "plan/schedule.h"

namespace plait::pipeline {

/// Blocks that share tiles: neighbours along one axis of the grid. What they load alike each of them loads a part of,
/// for all of them (multicast), so that it crosses L2 once.
struct Cluster {
  int blocks = 1;
  std::size_t axis = 0;  ///< of the grid
};

Cluster cluster_of(const plan::Work& work);

/// What depends on where a block of a cluster lies.
class Varying {
 public:
  Varying(const ir::Kernel& kernel, std::size_t axis);
  bool depends(const ir::ExprRef& expr) const;
  bool depends(const ir::Region& region) const;

 private:
  std::set<const ir::VarDecl*> vars_;
  std::set<const ir::BufferDecl*> written_;  ///< tensors of the kernel
};

/// Whether the blocks share this copy to shared memory, and can split its rows evenly among them.
bool is_shared_load(const ir::Stmt& stmt, const place::Placed& placed, const Varying& varying, int blocks);

/// Why the blocks of the work map's cluster cannot work together; empty where they can.
std::string cluster_obstacle(const place::Placed& placed, const plan::Work& work);

/// The cluster that pays: of two blocks, along the axis that saves most, where rows of loaded tensors start within a
/// line of L2 (128 bytes). Each row of a box then takes two lines, and what passes from L2 to a multiprocessor bounds
/// products of large tiles: docs/performance.md. No cluster elsewhere.
Cluster worthwhile_cluster(const place::Placed& placed, const plan::Work& work);

}  // namespace plait::pipeline
