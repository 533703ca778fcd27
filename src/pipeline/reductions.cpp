#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/lowering.h"

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
    if (int lanes = lanes_of(*src); lanes > 1) b_.add(roles::LaneReduce{kind, into, lanes});
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
      Fragment sum = fragment(*it);
      b_.add(roles::LaneReduce{roles::ReduceOp::sum, sum, lanes_of(*sum->of)});
    }
    it = needed ? partial_.erase(it) : std::next(it);
  }
}

}  // namespace plait::pipeline
