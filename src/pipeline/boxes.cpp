#include <algorithm>

#include "ir/build.h"
#include "pipeline/lowering.h"

// Tiles that TMA moves, by as many boxes as their panels and rows take.
namespace plait::pipeline {

using namespace ir;

/// `share`: among so many the rows of the tile are shared out.
Lowering::Boxes Lowering::boxes_of(const Region& global, const Buffer& buffer, std::int64_t share) {
  std::vector<std::int64_t> shape = static_shape(*buffer);
  Boxes made;
  made.dims = tile_dims(global, shape);
  const place::SharedHome& home = placed_.shared.at(buffer.get());
  roles::Swizzle swizzle = home.swizzle;
  if (home.packed) shape.back() = place::row_bytes(buffer);
  std::int64_t span = roles::swizzle_span(swizzle) * 8 / dtype_bits(slot_type(*buffer));
  made.columns = std::min(shape.back(), span == 0 ? kMaxBox : span);
  made.rows = (shape.size() > 1 ? shape[shape.size() - 2] : 1) / share;
  made.height = std::min(made.rows, kMaxBox);
  while (made.rows % made.height != 0) --made.height;
  while (shape.back() % made.columns != 0) --made.columns;
  made.panels = shape.back() / made.columns;
  std::vector<std::int64_t> box = made.dims.box;
  box[made.dims.column()] = made.columns;
  if (shape.size() > 1) box[made.dims.row()] = made.height;
  made.map = map_of(global.buffer, box, swizzle);
  return made;
}

/// Calls `box` with where each begins in the tile and in the tensor, in which the tile begins at `begin`; all rows are
/// shifted by `shift`.
void Lowering::each_box(const Boxes& boxes, const Values& begin, const std::optional<Value>& shift, const BoxFn& box) {
  auto plus = [](const Value& a, const Value& b) {
    auto literal = as_int(a.expr());
    return literal == 0 ? b : a + b;
  };
  auto issue = [&](std::int64_t own, const Value& column, bool moves_column) {
    Value row = shift ? plus(own, *shift) : Value(own);
    Values from = begin;
    if (own != 0 || shift) from[boxes.dims.row()] = plus(from[boxes.dims.row()], row);
    if (moves_column) from[boxes.dims.column()] = plus(from[boxes.dims.column()], column);
    box(row, column, from);
  };
  for (std::int64_t r = 0; r < boxes.rows; r += boxes.height) {
    if (boxes.panels == 1) {
      issue(r, 0, false);
    } else {
      BodyScope scope(*this);
      b_.unrolled(fresh("p"), boxes.panels, [&](const Value& p) { issue(r, boxes.columns * p, true); });
    }
  }
}

/// From shared memory to a tensor. One thread issues the boxes and waits until they were read, so that the tile may be
/// written again where threads next meet.
void Lowering::store_tile(const Stmt& stmt) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  const Region& dst = op.operands[1];
  const Buffer& buffer = op.operands[0].buffer;
  Boxes boxes = boxes_of(dst, buffer, 1);
  Values begin;
  for (const Range& range : dst.ranges) begin.push_back(scalars_.index(range.begin));
  auto store = [&] {
    b_.elect([&] {
      BodyScope scope(*this);
      each_box(boxes, begin, {}, [&](const Value& row, const Value& column, const Values& to) {
        b_.add(roles::TmaStore{boxes.map, roles::build::exprs(to), tile(buffer, {row, column}), hint_of(op)});
      });
      b_.add(roles::BulkCommit{});
      b_.add(roles::BulkWait{0, true});
    });
  };
  if (placed_.replicas == 1) return store();
  b_.if_(Value(b_.builtins().replica) == 0, store);
}

/// Whether TMA stores something of which the role has to see the end.
bool Lowering::stores_by_tma() const {
  return std::any_of(placed_.atoms.begin(), placed_.atoms.end(), [](const auto& placed) {
    const auto* copy = std::get_if<place::CopyAtom>(&placed.second);
    return copy != nullptr && (copy->way == place::CopyWay::tma_store || copy->way == place::CopyWay::staged_store);
  });
}

}  // namespace plait::pipeline
