#include <algorithm>

#include "ir/build.h"
#include "pipeline/threads.h"

// Tiles that go to a tensor through shared memory.
namespace plait::pipeline {

using namespace ir;

using roles::FragmentKind;
using roles::build::at;

/// Slices of columns go through shared memory; `store` moves a slice that all threads of the replica have written, and
/// which begins at that column, on to the tensor, `before` waits until all may write the slice's place.
void Lowering::in_slices(const Stmt& stmt, const std::function<void()>& before,
                         const std::function<void(const Values& slice, const Value& column)>& store) {
  const Buffer from = staged_fragment(stmt);
  const Staging& staging = stagings_.at(&stmt);
  std::int64_t rows = own_rows(from), columns = static_shape(*from)[1];
  Value replica = placed_.replicas == 1 ? Value(0) : Value(b_.builtins().replica);
  BodyScope scope(*this);
  b_.unrolled(fresh("j"), columns / staging.chunk, [&](const Value& j) {
    Values slice = {replica, staging.slices == 1 ? Value(0) : j % staging.slices};
    before();
    for (std::int64_t row = 0; row < rows; row += 64)
      b_.add(roles::StMatrix{at(staging.smem, {slice[0], slice[1], row, 0}),
                             at(fragment(from), {row, staging.chunk * j}), staging.chunk});
    store(slice, staging.chunk * j);
  });
}

/// Where a slice begins in the tensor that a copy stores to.
Values Lowering::origin_of_slice(const TileOp& copy, const Value& column) {
  const Buffer& from = copy.operands[0].buffer;
  TileDims dims = tile_dims(copy.operands[1], static_shape(*from));
  Values to = origin_of(copy.operands[1], dims, from);
  Value& at = to[dims.column()];
  at = as_int(at.expr()) == 0 ? column : at + column;
  return to;
}

/// Whether the threads meet between the last reading of a slice's place and the next writing of it anyway.
bool Lowering::slices_take_turns(const Stmt& stmt) const {
  const Staging& staging = stagings_.at(&stmt);
  return staging.slices > 1 && static_shape(*staged_fragment(stmt))[1] / staging.chunk % staging.slices == 0;
}

/// Rows that have places of their own: threads store pieces of a slice, each of the same rows in every slice, whose
/// places are computed once.
void Lowering::staged_rows(const Stmt& stmt) {
  const graph::TensorRows rows = *graph::row_scatter(stmt);
  const Staging& staging = stagings_.at(&stmt);
  const std::int64_t piece = std::get<place::CopyAtom>(placed_.atom(stmt)).piece;
  const std::int64_t elements = piece * 8 / dtype_bits(rows.tensor->type), lanes = staging.chunk / elements;
  const std::int64_t own = own_rows(rows.tile), step = std::int64_t{placed_.warps} * 32 / lanes;
  BodyScope scope(*this);
  const Scalars::Demanding narrow(scalars_);
  Value thread = b_.builtins().thread;
  Value first = b_.let(fresh("row"), thread / lanes), column = b_.let(fresh("column"), thread % lanes * elements);
  Value begin = b_.let(fresh("from"), scalars_.index(rows.begin) + column);
  struct Row {
    Value at = 0;  ///< in the replica's part of the tile
    Values index;
    std::optional<Value> inside;
  };
  std::vector<Row> places;
  for (std::int64_t r = 0; r < own; r += step) {
    Scalars::Scope inner(scalars_);
    Row row{r == 0 ? first : first + r, {}, {}};
    scalars_.add_loop(std::get<For>(stmt.node));
    scalars_.bind(rows.row.var, row_of(rows.tile, row.at));
    for (const ExprRef& e : rows.index) row.index.push_back(b_.let(fresh("at"), scalars_.index(e)));
    if (rows.inside != nullptr) row.inside = b_.let(fresh("inside"), scalars_.convert(rows.inside));
    places.push_back(std::move(row));
  }
  auto before = [&] {
    if (!slices_take_turns(stmt)) meet_replica();
  };
  in_slices(stmt, before, [&](const Values& slice, const Value& shift) {
    meet_replica();
    Value at_column = begin + shift;
    for (const Row& row : places) {
      std::optional<Value> cond = row.inside;
      if (rows.clipped) {
        Value within = at_column < scalars_.index(rows.tensor->shape.back());
        cond = cond ? *cond && within : within;
      }
      Values to = row.index;
      to.push_back(at_column);
      auto store = [&] {
        b_.add(roles::PutPiece{at(rows.tensor, to), at(staging.smem, {slice[0], slice[1], row.at, column}), piece});
      };
      if (!cond) {
        store();
      } else {
        b_.if_(*cond, store);
      }
    }
  });
}

/// Where TMA cannot store, each warp writes rows of the slice, neighbours by neighbours: all of what a thread writes is
/// read from shared memory first. Rows that lie apart in the tensor are written in a loop over the elements.
void Lowering::staged_elements(const Stmt& stmt) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  const Buffer& to = op.operands[1].buffer;
  const Staging& staging = stagings_.at(&stmt);
  std::int64_t own = own_rows(op.operands[0].buffer);
  TileDims dims = tile_dims(op.operands[1], static_shape(*op.operands[0].buffer));
  Fragment rows;
  if (dims.row() + 1 == dims.column())
    rows = b_.fragment(fresh(to->name + "_rows"), to->type, {own, staging.chunk}, FragmentKind::vector,
                       {1, static_cast<int>(std::min<std::int64_t>(32, staging.chunk)), nullptr});
  auto before = [&] {
    if (!slices_take_turns(stmt)) meet_replica();
  };
  in_slices(stmt, before, [&](const Values& slice, const Value& column) {
    const Values origin = origin_of_slice(op, column);
    meet_replica();
    if (rows == nullptr) return Threads(*this).store_slice(op, staging.smem, slice, origin, own, staging.chunk);
    b_.add(roles::LoadShared{rows, at(staging.smem, {slice[0], slice[1], 0, 0})});
    b_.add(roles::StoreTensor{at(to, origin), rows, hint_of(op)});
  });
}

/// A slice is written to shared memory while those before it are being stored. Barriers stand between the threads that
/// write it and the one that stores it.
void Lowering::staged_store(const Stmt& stmt) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  const Staging& staging = stagings_.at(&stmt);
  auto before = [&] {
    b_.elect([&] { b_.add(roles::BulkWait{static_cast<int>(staging.slices) - 1, true}); });
    meet_replica();
  };
  // Where the slices are no multiple of their places, the first one has the place of the last one of the time before.
  std::int64_t slices = static_shape(*op.operands[0].buffer)[1] / staging.chunk;
  if (slices % staging.slices != 0) b_.elect([&] { b_.add(roles::BulkWait{0, true}); });
  in_slices(stmt, before, [&](const Values& slice, const Value& column) {
    const Values to = origin_of_slice(op, column);
    b_.add(roles::Fence{roles::FenceKind::proxy_async});
    meet_replica();
    b_.elect([&] {
      b_.add(roles::TmaStore{staging.map, roles::build::exprs(to), at(staging.smem, {slice[0], slice[1], 0, 0}),
                             hint_of(op)});
      b_.add(roles::BulkCommit{});
    });
  });
}

}  // namespace plait::pipeline
