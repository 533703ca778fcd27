#include "pipeline/default_work.h"

#include "ir/visit.h"
#include "pipeline/pieces.h"
#include "place/placed.h"

namespace plait::pipeline {

using namespace ir;

namespace {

/// Rows of tiles that are walked together, so that their operands stay in L2.
constexpr int kGroup = 8;

}  // namespace

plan::Work default_work(const Kernel& kernel, const machine::Device& device) {
  plan::Work work;
  bool loads_ahead = false, even = true;
  const VarMap lets = lets_of(kernel);
  auto differs = [&](const ExprRef& bound) { return !is_of_the_call(bound, lets); };
  walk(kernel.body, [&](const Stmt& stmt) {
    const auto* loop = std::get_if<For>(&stmt.node);
    if (loop == nullptr || loop->kind != LoopKind::pipelined) return;
    loads_ahead = true;
    even = even && !differs(loop->axes.front().begin) && !differs(loop->axes.front().end);
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
