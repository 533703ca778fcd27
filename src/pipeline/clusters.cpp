#include "pipeline/clusters.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/expr_util.h"
#include "graph/row_gather.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/rings.h"

namespace plait::pipeline {

using namespace ir;

namespace {

/// Rows after which the pattern of a swizzle repeats: parts of a tile begin at multiples of them.
constexpr std::int64_t kSwizzleRows = 8;

bool loads_within(const Body& body, const place::Placed& placed) {
  bool found = false;
  walk(body, [&](const Stmt& stmt) { found = found || is_load(stmt, placed); });
  return found;
}

const TileOp& op_of(const Stmt& stmt) { return std::get<TileOp>(stmt.node); }

}  // namespace

Cluster cluster_of(const plan::Work& work) {
  if (work.cluster_y > 1) return {work.cluster_y, 1};
  return {work.cluster_x, 0};
}

Varying::Varying(const Kernel& kernel, std::size_t axis) {
  walk(kernel.body, [&](const Stmt& stmt) {
    for (const Buffer& buffer : touched_alone(stmt).writes) written_.insert(buffer.get());
  });
  vars_.insert(kernel.grid[axis].var.get());
  walk(kernel.body, [&](const Stmt& stmt) {
    if (const auto* let = std::get_if<Let>(&stmt.node); let != nullptr && depends(let->value))
      vars_.insert(let->var.get());
    const auto* loop = std::get_if<For>(&stmt.node);
    if (loop == nullptr) return;
    for (const LoopAxis& a : loop->axes) {
      if (depends(a.begin) || depends(a.end) || depends(a.step)) vars_.insert(a.var.get());
    }
  });
}

bool Varying::depends(const ExprRef& expr) const {
  return expr != nullptr && analysis::any_of_tree(expr, [&](const Expr& e) {
           if (const auto* ref = std::get_if<VarRef>(&e.node)) return vars_.contains(ref->var.get());
           const auto* load = std::get_if<Load>(&e.node);
           return load != nullptr && (load->buffer->scope != Scope::global || written_.contains(load->buffer.get()));
         });
}

bool Varying::depends(const Region& region) const {
  return std::any_of(region.ranges.begin(), region.ranges.end(),
                     [&](const Range& range) { return depends(range.begin) || depends(range.extent); });
}

bool is_shared_load(const Stmt& stmt, const place::Placed& placed, const Varying& varying, int blocks) {
  if (!is_tma_load(stmt, placed) || varying.depends(op_of(stmt).operands[0])) return false;
  std::vector<std::int64_t> shape = static_shape(*op_of(stmt).operands[1].buffer);
  return shape.size() == 2 && shape[0] % (blocks * kSwizzleRows) == 0;
}

namespace {

/// Blocks beyond the end of the grid fill up the last cluster: what they do must be clipped.
std::string unclipped(const Stmt& stmt, const place::Placed& placed, const Varying& varying) {
  auto reads_beyond = [&](const ExprRef& root) {
    return analysis::any_of_tree(root, [&](const Expr& e) {
      const auto* load = std::get_if<Load>(&e.node);
      if (load == nullptr || load->buffer->scope != Scope::global) return false;
      return std::any_of(load->index.begin(), load->index.end(), [&](const ExprRef& i) { return varying.depends(i); });
    });
  };
  std::string why =
      fmt::format("line {} accesses elements that a block beyond the end of the grid must not touch", stmt.loc.line);
  if (std::holds_alternative<Store>(stmt.node) || std::holds_alternative<AtomicElement>(stmt.node)) return why;
  bool beyond = false;
  for_each_expr(stmt, [&](const ExprRef& root) { beyond = beyond || reads_beyond(root); });
  if (beyond) return why;
  auto it = placed.atoms.find(&stmt);
  if (it == placed.atoms.end() || !std::holds_alternative<place::ThreadsAtom>(it->second)) return {};
  const auto* op = std::get_if<TileOp>(&stmt.node);
  bool clipped = op != nullptr && op->kind == OpKind::copy;
  bool in_memory = op != nullptr && std::none_of(op->operands.begin(), op->operands.end(),
                                                 [](const Region& r) { return r.buffer->scope == Scope::global; });
  return clipped || in_memory || op == nullptr ? std::string() : why;
}

/// All blocks load the same number of tiles.
std::string uneven(const Stmt& stmt, const place::Placed& placed, const Varying& varying) {
  bool differs = false;
  if (const auto* loop = std::get_if<For>(&stmt.node); loop != nullptr && loads_within(loop->body, placed)) {
    for (const LoopAxis& axis : loop->axes)
      differs = differs || varying.depends(axis.begin) || varying.depends(axis.end) || varying.depends(axis.step);
  }
  if (const auto* node = std::get_if<If>(&stmt.node);
      node != nullptr && (loads_within(node->then_body, placed) || loads_within(node->else_body, placed)))
    differs = varying.depends(node->cond);
  return differs ? fmt::format("how many tiles line {} loads differs among its blocks", stmt.loc.line) : "";
}

std::string order_obstacle(const plan::Work& work, const Cluster& cluster, std::size_t rank) {
  if (work.cluster_x > 1 && work.cluster_y > 1) return "its blocks lie along two axes";
  if (cluster.axis >= rank) return "the grid has one axis";
  bool from_end = work.order == plan::TileOrder::paired || work.order == plan::TileOrder::longest_first;
  if (cluster.axis == 0 && from_end) return "the order changes the places of tiles along its axis";
  if (cluster.axis == 1 && work.heads > 1) return "its axis is one of those that count as heads";
  return {};
}

}  // namespace

std::string cluster_obstacle(const place::Placed& placed, const plan::Work& work) {
  Cluster cluster = cluster_of(work);
  if (std::string why = order_obstacle(work, cluster, placed.kernel.grid.size()); !why.empty()) return why;
  Varying varying(placed.kernel, cluster.axis);
  bool shared = false;
  std::string why;
  walk(placed.kernel.body, [&](const Stmt& stmt) {
    shared = shared || is_shared_load(stmt, placed, varying, cluster.blocks);
    if (why.empty()) why = unclipped(stmt, placed, varying);
    if (why.empty()) why = uneven(stmt, placed, varying);
  });
  if (why.empty() && !shared) why = "its blocks load no tile alike";
  return why;
}

Cluster worthwhile_cluster(const place::Placed& placed, const plan::Work& work) {
  constexpr int kBlocks = 2;
  Cluster best;
  if (!placed.device.has(machine::Feature::cluster)) return best;
  std::int64_t most = 0;
  for (std::size_t axis = 0; axis < std::min<std::size_t>(placed.kernel.grid.size(), 2); ++axis) {
    plan::Work tried = work;
    (axis == 0 ? tried.cluster_x : tried.cluster_y) = kBlocks;
    if (placed.kernel.grid.size() < 2 || !cluster_obstacle(placed, tried).empty()) continue;
    Varying varying(placed.kernel, axis);
    std::int64_t saved = 0;
    bool straddles = false;
    walk(placed.kernel.body, [&](const Stmt& stmt) {
      const auto* loop = std::get_if<For>(&stmt.node);
      if (loop == nullptr || loop->kind != LoopKind::pipelined) return;
      walk(loop->body, [&](const Stmt& inner) {
        if (!is_load(inner, placed)) return;
        straddles = straddles || placed.assumptions.straddling.contains(graph::loaded_tensor(inner)->name);
        if (!is_shared_load(inner, placed, varying, kBlocks)) return;
        const Buffer& tile = op_of(inner).operands[1].buffer;
        std::vector<std::int64_t> shape = static_shape(*tile);
        saved += shape[0] * shape[1] * dtype_bits(tile->type);
      });
    });
    if (!straddles || saved <= most) continue;
    most = saved;
    best = {kBlocks, axis};
  }
  return best;
}

}  // namespace plait::pipeline
