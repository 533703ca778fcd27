#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "emit/cpu/liveness.h"

namespace plait::cpu {

/// Statements around a `parallel` loop that run as one loop where the tiles lie inside their tensors: copies into
/// buffers that only this loop reads become loads in the loop, copies out of buffers that nobody reads later become
/// stores in it. So the data passes once.
struct Fusion {
  std::size_t count = 0;                  ///< statements replaced, from the first one on
  ir::Body rest;                          ///< those that stay as they are, before the loop
  ir::StmtRef loop;                       ///< the fused loop
  ir::Body late;                          ///< copies that stay as they are, behind the loop
  std::vector<const ir::Region*> inside;  ///< regions of tensors that must lie inside
  std::vector<ir::Buffer> locals;         ///< buffers of the loop body that stand for elements in registers
  std::unordered_map<const ir::Load*, const ir::Region*> sources;  ///< loads that were copies
  std::unordered_map<const ir::Stmt*, const ir::Region*> streams;  ///< stores that were copies with cache=evict_first
  /// Loads and stores that `inside` or the original statement vouches for: new one, old one (null: in bounds).
  std::vector<std::pair<const void*, const void*>> vouched;
};

/// Whether an index of a load is known to lie inside.
using Proved = std::function<bool(const ir::Load& load, std::size_t dim)>;

/// The fusion that begins with the statement at `place`, if one pays.
std::optional<Fusion> plan_fusion(const Place& place, const Proved& proved);

}  // namespace plait::cpu
