#pragma once

#include "graph/graph.h"
#include "npu/homes.h"
#include "plan/costs.h"
#include "support/result.h"

namespace plait::npu {

/// What one execution of a statement costs on an NPU, by the functions whose figures stand in its model. `cores`:
/// vector cores that share out its rows.
Result<plan::TaskCost> cost_of(const ir::Stmt& stmt, const Homes& homes, const machine::Device& device, int cores = 1);

/// The same of a task of a loop; what the author gave with `task` overrules.
Result<plan::TaskCost> cost_of(const graph::Node& node, const Homes& homes, const machine::Device& device,
                               int cores = 1);
/// Of every task of a loop, with the homes that the loop's own products give.
Result<std::vector<plan::TaskCost>> costs_of(const graph::TaskGraph& graph, const machine::Device& device);

/// One transfer of so many bytes.
plan::TaskCost cost_of_transfer(const machine::Transfer& by, std::int64_t bytes);
/// Bytes that a copy moves for each of `cores`: of the side whose type is wider.
std::int64_t copied_bytes(const ir::TileOp& copy, int cores);
/// A cost with what the author measured in the place of what is modelled.
plan::TaskCost overruled(plan::TaskCost cost, std::optional<std::int64_t> latency, std::optional<std::int64_t> ii);

/// Elements of K that a product brings to L0 at once: what the model says, less where L0A or L0B hold no two such
/// slices; 0 where they hold none of 16.
std::int64_t slice_of(const ir::TileOp& product, const machine::Device& device);

}  // namespace plait::npu
