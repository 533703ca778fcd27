#include <algorithm>

#include "ir/build.h"
#include "pipeline/lowering.h"

namespace plait::pipeline {

using namespace ir;

/// One thread issues all copies of the block.
void Lowering::load_role() {
  std::optional<int> regs;
  if (whole_groups()) regs = registers("load");
  b_.role("load", {1, whole_groups() ? 4 : 1, regs}, [&] {
    b_.elect([&] {
      begin_role();
      work_.each(WorkMap::Side::loads, [&] { load_body(kernel_.body); });
    });
    if (work_.cluster().blocks > 1) b_.add(roles::SyncWarp{});
    leave_cluster();
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
      if (std::find(open.begin(), open.end(), *ring) == open.end()) {
        open.push_back(*ring);
        b_.add(roles::Acquire{item(*ring), nullptr});
      }
      load_tile(*stmt, *ring);
      if (last_of(*ring) == stmt) {
        b_.add(roles::Publish{item(*ring)});
        filled.push_back(*ring);
      }
      continue;
    }
    if (!rings_.loads_within(*stmt)) continue;
    if (const auto* loop = std::get_if<For>(&stmt->node)) {
      const LoopAxis& axis = loop->axes.front();
      b_.loop(fresh(axis.var->name), {scalars_.index(axis.begin), scalars_.index(axis.end), scalars_.index(axis.step)},
              [&](const Value& value) {
                BodyScope scope(*this);
                scalars_.bind(axis.var, value);
                scalars_.add_loop(*loop);
                load_body(loop->body);
              });
    } else if (const auto* node = std::get_if<If>(&stmt->node)) {
      branch(*node, scalars_.convert(node->cond), [&](const Body& inner) { load_body(inner); });
    } else if (const auto* task = std::get_if<Task>(&stmt->node)) {
      load_body(task->body);
    } else {
      diags_.error(Rule::place_operation, stmt->loc, "loads within this statement have no placement yet");
    }
  }
  advance(filled);
}

/// A tile by as many boxes as its panels and rows take. Of what all blocks of a cluster load each loads its share of
/// the rows, for all.
void Lowering::load_tile(const Stmt& stmt, std::size_t ring) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  const Region& src = op.operands[0];
  const Buffer& buffer = op.operands[1].buffer;
  std::vector<std::int64_t> shape = static_shape(*buffer);
  TileDims dims = tile_dims(src, shape);
  roles::Swizzle swizzle = placed_.shared.at(buffer.get()).swizzle;
  std::int64_t bits = dtype_bits(buffer->type), span = roles::swizzle_span(swizzle) * 8 / bits;
  std::int64_t columns = std::min(shape.back(), span == 0 ? kMaxBox : span);
  std::int64_t rows = shape.size() > 1 ? shape[shape.size() - 2] : 1;
  bool together = varying_ && is_shared_load(stmt, placed_, *varying_, work_.cluster().blocks);
  if (together) rows /= work_.cluster().blocks;
  std::int64_t height = std::min(rows, kMaxBox);
  while (rows % height != 0) --height;
  while (shape.back() % columns != 0) --columns;
  std::vector<std::int64_t> box = dims.box;
  box[dims.column()] = columns;
  if (shape.size() > 1) box[dims.row()] = height;
  roles::Map map = map_of(src.buffer, box, swizzle);
  Values begin;
  for (const Range& range : src.ranges) begin.push_back(scalars_.index(range.begin));
  auto plus = [](const Value& a, const Value& b) {
    auto literal = as_int(a.expr());
    return literal == 0 ? b : a + b;
  };
  ExprRef mask = together ? typed_int(DType::i32, (1 << work_.cluster().blocks) - 1) : nullptr;
  auto issue = [&](const Value& own_row, const Value& column, bool moves_row, bool moves_column) {
    Value row = together ? plus(own_row, rows * Value(b_.builtins().cluster_rank)) : own_row;
    moves_row = moves_row || together;
    Values from = begin;
    if (moves_row) from[dims.row()] = plus(from[dims.row()], row);
    if (moves_column) from[dims.column()] = plus(from[dims.column()], column);
    Values to = {row, column};
    b_.add(roles::TmaLoad{tile(buffer, to), map, roles::build::exprs(from), {}, mask, hint_of(op), item(ring)});
  };
  for (std::int64_t r = 0; r < rows; r += height) {
    if (shape.back() == columns) {
      issue(r, 0, r != 0, false);
    } else {
      BodyScope scope(*this);
      b_.unrolled(fresh("p"), shape.back() / columns, [&](const Value& p) { issue(r, columns * p, r != 0, true); });
    }
  }
}

}  // namespace plait::pipeline
