#pragma once

#include "explain/explain.h"
#include "npu/lower/derive.h"

namespace plait::explain {

/// A task of a loop on an NPU.
struct NpuTask {
  std::string name, role, unit;
  int stage = 0, order = 0;
  std::string copies;  ///< of what it writes: `A_s x3`
  std::int64_t latency = 0;
  std::map<machine::UnitKind, std::int64_t> busy;
  std::string source;  ///< of the cost
};
struct NpuLoop {
  std::string name, planner;
  std::vector<NpuTask> tasks;                      ///< by order
  std::map<machine::UnitKind, std::int64_t> busy;  ///< of an iteration
  std::int64_t interval = 0;                       ///< of the unit that is busy longest
  std::string critical;                            ///< its name
  std::int64_t sequence = 0;                       ///< the tasks' latencies together
};
/// A buffer and the memory that it lies in.
struct NpuBuffer {
  std::string name, type;
  std::vector<std::int64_t> shape;
  std::string memory;
  int copies = 1;
};
/// What a tile program became on an NPU.
struct NpuExplanation {
  std::vector<NpuLoop> loops;
  std::vector<NpuBuffer> buffers;
  std::vector<npu::MemoryUse> memory;
  int vector_cores = 1;
  std::vector<Note> notes;
};
NpuExplanation explain(const npu::Derived& derived, const machine::Device& device);
std::string text(const NpuExplanation& npu, const Explanation& whole);

}  // namespace plait::explain
