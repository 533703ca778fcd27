#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/lowering.h"
#include "roles/arena.h"

// Reductions of fragments to their rows.
namespace plait::pipeline {

using namespace ir;

using roles::FragmentKind;

namespace {

/// Lanes among which a row of a fragment is shared out.
int lanes_of(const roles::FragmentDecl& fragment) { return fragment.kind == FragmentKind::vector ? fragment.lanes : 4; }

/// What changes no value under the reduction.
Value neutral(OpKind kind, DType type) {
  if (kind == OpKind::reduce_sum) return zero_of(type);
  bool lowest = kind == OpKind::reduce_max;
  if (ir::is_float(type)) return typed_literal(type, lowest ? -INFINITY : INFINITY);
  std::int64_t bits = dtype_bits(type);
  std::uint64_t all = ~std::uint64_t{0}, top = std::uint64_t{1} << (bits - 1);
  bool has_sign = ir::is_signed_integer(type);
  auto least = static_cast<std::int64_t>(has_sign ? all << (bits - 1) : 0);
  auto most = static_cast<std::int64_t>(has_sign ? top - 1 : all >> (64 - bits));
  return typed_int(type, lowest ? least : most);
}

}  // namespace

/// The lanes of a row combine what they have: within a warp by shuffles; where a row spans warps each leaves its part
/// in memory, and all take the parts in the same order. `of`: the buffer whose part in memory that is.
void Lowering::over_lanes(roles::ReduceOp kind, const Fragment& rows, const Buffer& of) {
  constexpr int kWarp = 32;
  const int lanes = lanes_of(*rows->of);
  if (lanes == 1) return;
  b_.add(roles::LaneReduce{kind, rows, std::min(lanes, kWarp)});
  if (lanes <= kWarp) return;
  const roles::Smem& parts = meetings_.at(of.get());
  Value replica = placed_.replicas == 1 ? Value(0) : Value(b_.builtins().replica);
  Fragment spread = b_.fragment(fresh(of->name + "_part"), of->type, {static_shape(*rows->buffer)[0], lanes},
                                FragmentKind::vector, {1, lanes, nullptr});
  each(spread, [&](const Values& own) { return roles::build::element(rows, {own[0]}); });
  b_.add(roles::StoreShared{roles::build::at(parts, {replica, 0, 0}), spread});
  each(rows, [&](const Values& own) {
    Value all = roles::build::element(parts, {replica, own[0], 0});
    for (int lane = kWarp; lane < lanes; lane += kWarp) {
      Value other = roles::build::element(parts, {replica, own[0], lane});
      all = kind == roles::ReduceOp::sum   ? all + other
            : kind == roles::ReduceOp::max ? max(all, other)
                                           : min(all, other);
    }
    return all;
  });
}

/// Room for rows that span warps.
void Lowering::declare_meetings() {
  walk(kernel_.body, [&](const Stmt& stmt) {
    auto atom = placed_.atoms.find(&stmt);
    if (atom == placed_.atoms.end() || !std::holds_alternative<place::ReduceAtom>(atom->second)) return;
    const TileOp& op = std::get<TileOp>(stmt.node);
    const place::FragmentHome& home = placed_.fragments.at(op.operands[0].buffer.get());
    const Buffer& dst = op.operands[1].buffer;
    if (home.kind != FragmentKind::vector || home.lanes <= 32 || meetings_.contains(dst.get())) return;
    meetings_[dst.get()] = b_.smem(fresh_in_head(dst->name + "_parts"), dst->type,
                                   {placed_.replicas, own_rows(dst), std::int64_t{home.lanes}}, {});
    staged_bytes_ += roles::smem_bytes(*meetings_[dst.get()]);
  });
}

/// Each thread reduces what it has of a row, then the lanes of the row exchange. A sum that adds to what is there does
/// so at the end, so that every lane adds it once.
void Lowering::reduce(const Stmt& stmt) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  Fragment src = fragment(op.operands[0].buffer), dst = fragment(op.operands[1].buffer);
  bool clear = std::get<ReduceAttrs>(op.attrs).clear;
  roles::ReduceOp kind = op.kind == OpKind::reduce_sum   ? roles::ReduceOp::sum
                         : op.kind == OpKind::reduce_max ? roles::ReduceOp::max
                                                         : roles::ReduceOp::min;
  DType type = dst->buffer->type;
  auto run = [&](const Fragment& into) {
    b_.add(roles::RowReduce{kind, into, src});
    over_lanes(kind, into, op.operands[1].buffer);
  };
  if (sums_.has(op.operands[1].buffer)) {
    b_.add(roles::RowReduce{kind, dst, src});
    if (lanes_of(*src) > 1) partial_.insert(op.operands[1].buffer);
    return;
  }
  if (clear || kind != roles::ReduceOp::sum) {
    if (clear) each(dst, [&](const Values&) { return neutral(op.kind, type); });
    return run(dst);
  }
  Fragment own = like(dst, dst->buffer->name + "_part", type);
  each(own, [&](const Values&) { return zero_of(type); });
  run(own);
  each(dst, [&](const Values& at) { return roles::build::element(dst, at) + roles::build::element(own, at); });
}

/// Before a statement that needs a sum whole, the lanes exchange their parts.
void Lowering::complete_sums(const Stmt& stmt) {
  std::set<const Stmt*> inside = {&stmt};
  if (const auto* loop = std::get_if<For>(&stmt.node)) walk(loop->body, [&](const Stmt& s) { inside.insert(&s); });
  for (auto it = partial_.begin(); it != partial_.end();) {
    const std::set<const Stmt*>& readers = sums_.readers.at(*it);
    bool needed = std::any_of(readers.begin(), readers.end(), [&](const Stmt* s) { return inside.contains(s); });
    if (needed) {
      over_lanes(roles::ReduceOp::sum, fragment(*it), *it);
    }
    it = needed ? partial_.erase(it) : std::next(it);
  }
}

}  // namespace plait::pipeline
