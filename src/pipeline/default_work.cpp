#include "pipeline/default_work.h"

#include "ir/visit.h"
#include "pipeline/pieces.h"
#include "place/placed.h"

namespace plait::pipeline {

using namespace ir;

namespace {

/// Rows of tiles that are walked together, so that their operands stay in L2.
constexpr int kGroup = 8;

/// Whether a loop has tiles that another role can load. Elsewhere what fills the time of a load is other blocks.
bool loads_tiles(const For& loop) {
  bool found = false;
  walk(loop.body, [&](const Stmt& stmt) {
    const auto* op = std::get_if<TileOp>(&stmt.node);
    found = found || (op != nullptr && op->kind == OpKind::copy && op->operands[0].buffer->scope == Scope::global &&
                      op->operands[1].buffer->scope == Scope::shared);
  });
  return found;
}

bool has_product(const Kernel& kernel) {
  bool found = false;
  walk(kernel.body, [&](const Stmt& stmt) {
    const auto* op = std::get_if<TileOp>(&stmt.node);
    found = found || (op != nullptr && op->kind == OpKind::gemm);
  });
  return found;
}

/// Whether what a loop loads follows the variable.
bool loads_along(const For& loop, const Var& var, const VarMap& lets) {
  bool found = false;
  walk(loop.body, [&](const Stmt& stmt) {
    const auto* op = std::get_if<TileOp>(&stmt.node);
    if (op == nullptr || op->kind != OpKind::copy || op->operands[0].buffer->scope != Scope::global) return;
    for (const Range& range : op->operands[0].ranges) {
      walk(substitute(range.begin, lets), [&](const Expr& expr) {
        const auto* ref = std::get_if<VarRef>(&expr.node);
        found = found || (ref != nullptr && ref->var == var);
      });
    }
  });
  return found;
}

}  // namespace

plan::Work default_work(const Kernel& kernel, const machine::Device& device) {
  plan::Work work;
  bool loads_ahead = false, even = true, along_rows = false;
  const VarMap lets = lets_of(kernel);
  auto differs = [&](const ExprRef& bound) { return !is_of_the_call(bound, lets); };
  walk(kernel.body, [&](const Stmt& stmt) {
    const auto* loop = std::get_if<For>(&stmt.node);
    if (loop == nullptr || loop->kind != LoopKind::pipelined) return;
    loads_ahead = loads_ahead || loads_tiles(*loop);
    along_rows = along_rows || loads_along(*loop, kernel.grid.front().var, lets);
    even = even && !differs(loop->axes.front().begin) && !differs(loop->axes.front().end);
  });
  if (!loads_ahead || !even) return work;
  // A product takes a multiprocessor to itself. Elsewhere several blocks find room, and one begins where one ends.
  if (place::is_hopper(device) && has_product(kernel)) work.kind = plan::WorkKind::persistent;
  // Where tiles that follow each other along the first axis load alike, that order is the best already.
  if (kernel.grid.size() > 1 && along_rows) {
    work.order = plan::TileOrder::grouped;
    work.group = kGroup;
  }
  return work;
}

}  // namespace plait::pipeline
