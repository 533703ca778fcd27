#pragma once

#include <set>

#include "graph/graph.h"
#include "machine/device.h"

/// Tile programs on NPUs; docs/npu.md.
namespace plait::npu {

/// Which memory of an NPU each buffer of a program lies in: what a product writes in L0C, what products read in L1,
/// other buffers on chip in UB, tensors in global memory.
class Homes {
 public:
  Homes() = default;
  explicit Homes(const ir::Body& body);
  /// Those that a loop's own products give.
  explicit Homes(const graph::TaskGraph& graph);
  machine::MemoryKind of(const ir::Buffer& buffer) const;

 private:
  void add(const ir::Stmt& stmt);

  std::set<const ir::BufferDecl*> results_, factors_;
};

/// The two cores of an NPU that run a program, each with its own memories and units.
enum class Core { cube, vector };
/// The core that runs a statement without others inside: products, what is brought to L1, and what leaves L0C are the
/// cube core's.
Core core_of(const ir::Stmt& stmt, const Homes& homes);
/// The unit that works longest on such a statement.
machine::UnitKind unit_of(const ir::Stmt& stmt, const Homes& homes);

}  // namespace plait::npu
