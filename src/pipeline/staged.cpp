#include <algorithm>

#include "ir/build.h"
#include "pipeline/threads.h"

// Tiles that go to a tensor through shared memory.
namespace plait::pipeline {

using namespace ir;

using roles::FragmentKind;
using roles::build::at;

/// Slices of columns go through shared memory; `store` moves a slice that all threads of the replica have written on to
/// where it begins in the tensor, `before` waits until all may write the slice's place.
void Lowering::in_slices(const Stmt& stmt, const std::function<void()>& before,
                         const std::function<void(const Values& slice, const Values& to)>& store) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  const Buffer& from = op.operands[0].buffer;
  const Staging& staging = stagings_.at(&stmt);
  std::int64_t rows = own_rows(from), columns = static_shape(*from)[1];
  TileDims dims = tile_dims(op.operands[1], static_shape(*from));
  Values begin = origin_of(op.operands[1], dims, from);
  Value replica = placed_.replicas == 1 ? Value(0) : Value(b_.builtins().replica);
  BodyScope scope(*this);
  b_.unrolled(fresh("j"), columns / staging.chunk, [&](const Value& j) {
    Values slice = {replica, staging.slices == 1 ? Value(0) : j % staging.slices};
    before();
    for (std::int64_t row = 0; row < rows; row += 64)
      b_.add(roles::StMatrix{at(staging.smem, {slice[0], slice[1], row, 0}),
                             at(fragment(from), {row, staging.chunk * j}), staging.chunk});
    Values to = begin;
    Value& column = to[dims.column()];
    column = as_int(column.expr()) == 0 ? staging.chunk * j : column + staging.chunk * j;
    store(slice, to);
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
  // Of slices that take turns, the threads meet between the last reading of a place and the next writing of it anyway.
  bool turns = staging.slices > 1 && static_shape(*op.operands[0].buffer)[1] / staging.chunk % staging.slices == 0;
  auto before = [&] {
    if (!turns) meet_replica();
  };
  in_slices(stmt, before, [&](const Values& slice, const Values& origin) {
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
  in_slices(stmt, before, [&](const Values& slice, const Values& to) {
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
