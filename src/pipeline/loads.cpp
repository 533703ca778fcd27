#include <algorithm>
#include <utility>

#include "ir/build.h"
#include "pipeline/lowering.h"

namespace plait::pipeline {

using namespace ir;

/// One thread issues all copies of the block by TMA; where rows are gathered, all threads follow the same way.
void Lowering::load_role() {
  std::optional<int> regs;
  if (moves_registers()) regs = registers("load");
  auto body = [&] {
    begin_role();
    work_.each(WorkMap::Side::loads, [&] { load_body(kernel_.body); });
  };
  b_.role("load", {1, load_warps(), regs}, [&] {
    if (rings_.any_gathered()) {
      body();
    } else {
      b_.elect(body);
    }
    if (work_.cluster().blocks > 1) b_.add(roles::SyncWarp{});
    leave_cluster();
  });
}

/// All copies of an item by TMA, one behind the other, by one of the threads that gather.
void Lowering::load_together(const Body& body, std::size_t ring) {
  b_.elect([&] {
    b_.add(roles::Acquire{item(ring), nullptr});
    for (const StmtRef& stmt : body) {
      if (rings_.filled_by_loader(*stmt) == ring) load_tile(*stmt, ring);
    }
    b_.add(roles::Publish{item(ring)});
  });
}

/// The statements of the body that load, or that what loads depends on.
void Lowering::load_body(const Body& body) {
  std::vector<std::size_t> open, filled;
  auto last_of = [&](std::size_t ring) {
    auto is = [&](const StmtRef& stmt) { return rings_.filled_by_loader(*stmt) == ring; };
    return *std::find_if(body.rbegin(), body.rend(), is);
  };
  for (const StmtRef& stmt : body) {
    b_.origin(stmt->loc);
    if (const auto* node = std::get_if<Let>(&stmt->node)) {
      if (is_uniform_let(*node)) let(*node);
      continue;
    }
    if (auto ring = rings_.filled_by_loader(*stmt)) {
      const bool last = last_of(*ring) == stmt, gathered = rings_.all()[*ring].gathered;
      if (last) filled.push_back(*ring);
      if (rings_.any_gathered() && !gathered) {
        if (last) load_together(body, *ring);
        continue;
      }
      if (std::find(open.begin(), open.end(), *ring) == open.end()) {
        open.push_back(*ring);
        b_.add(roles::Acquire{item(*ring), nullptr});
      }
      gathered ? gather_tile(*stmt) : load_tile(*stmt, *ring);
      if (!last) continue;
      if (gathered) {
        publish_gathered(*ring);
      } else {
        b_.add(roles::Publish{item(*ring)});
      }
      continue;
    }
    if (!rings_.loads_within(*stmt)) continue;
    if (const auto* loop = std::get_if<For>(&stmt->node)) {
      load_loop(*loop);
      continue;
    }
    const Lag around = std::exchange(lag_, {});
    if (const auto* node = std::get_if<If>(&stmt->node)) {
      branch(*node, scalars_.convert(node->cond), [&](const Body& inner) { load_body(inner); });
    } else if (const auto* task = std::get_if<Task>(&stmt->node)) {
      load_body(task->body);
    } else {
      diags_.error(Rule::place_operation, stmt->loc, "loads within this statement have no placement yet");
    }
    lag_ = around;
  }
  advance(filled);
}

/// Of what all blocks of a cluster load each loads its share of the rows, for all.
void Lowering::load_tile(const Stmt& stmt, std::size_t ring) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  const Region& src = op.operands[0];
  const Buffer& buffer = op.operands[1].buffer;
  int blocks = work_.cluster().blocks;
  bool together = varying_ && is_shared_load(stmt, placed_, *varying_, blocks);
  Boxes boxes = boxes_of(src, buffer, together ? blocks : 1);
  Values begin;
  for (const Range& range : src.ranges) begin.push_back(scalars_.index(range.begin));
  if (placed_.shared.at(buffer.get()).packed) {
    Value& column = begin[boxes.dims.column()];
    column = column / (8 / dtype_bits(buffer->type));
  }
  ExprRef mask = together ? typed_int(DType::i32, (1 << blocks) - 1) : nullptr;
  std::optional<Value> shift;
  if (together) shift = boxes.rows * Value(b_.builtins().cluster_rank);
  each_box(boxes, begin, shift, [&](const Value& row, const Value& column, const Values& from) {
    b_.add(roles::TmaLoad{
        tile(buffer, {row, column}), boxes.map, roles::build::exprs(from), {}, mask, hint_of(op), item(ring)});
  });
}

}  // namespace plait::pipeline
