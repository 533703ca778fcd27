#include "pipeline/default_work.h"

#include "analysis/expr_util.h"
#include "ir/visit.h"
#include "place/placed.h"

namespace plait::pipeline {

using namespace ir;

namespace {

/// Rows of tiles that are walked together, so that their operands stay in L2.
constexpr int kGroup = 8;

/// Whether a block's coordinates, or a let that may come from them, are part of the expression.
bool uses(const ExprRef& expr) {
  return analysis::any_of_tree(expr, [](const Expr& e) {
    const auto* ref = std::get_if<VarRef>(&e.node);
    return ref != nullptr && (ref->var->kind == VarKind::grid || ref->var->kind == VarKind::let);
  });
}

}  // namespace

plan::Work default_work(const Kernel& kernel, const machine::Device& device) {
  plan::Work work;
  bool loads_ahead = false, even = true;
  walk(kernel.body, [&](const Stmt& stmt) {
    const auto* loop = std::get_if<For>(&stmt.node);
    if (loop == nullptr || loop->kind != LoopKind::pipelined) return;
    loads_ahead = true;
    even = even && !uses(loop->axes.front().begin) && !uses(loop->axes.front().end);
  });
  if (!loads_ahead || !even) return work;
  if (place::is_hopper(device)) work.kind = plan::WorkKind::persistent;
  if (kernel.grid.size() > 1) {
    work.order = plan::TileOrder::grouped;
    work.group = kGroup;
  }
  return work;
}

}  // namespace plait::pipeline
