#include "graph/work.h"

#include <algorithm>

#include "analysis/expr_util.h"
#include "graph/row_gather.h"
#include "ir/visit.h"
#include "support/result.h"

namespace plait::graph {

using namespace ir;

namespace {

using Count = std::optional<std::int64_t>;

Count add(Count a, Count b) {
  std::int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

Count times(Count a, Count b) {
  std::int64_t product = 0;
  if (a == 0 || b == 0) return 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) return std::nullopt;
  return product;
}

Work add(const Work& a, const Work& b) { return {add(a.bytes, b.bytes), add(a.flop, b.flop)}; }
Work times(const Work& a, Count n) { return {times(a.bytes, n), times(a.flop, n)}; }
Count larger(Count a, Count b) { return a && b ? Count(std::max(*a, *b)) : std::nullopt; }

Count elements(const Region& region) {
  Count count = 1;
  for (const Range& range : region.ranges) count = times(count, analysis::small_literal(range.extent));
  return count;
}

Count bytes(Count elements, DType type) {
  constexpr std::int64_t kByte = 8;
  Count bits = times(elements, dtype_bits(type));
  return bits ? Count((*bits + kByte - 1) / kByte) : std::nullopt;
}

bool is_global(const Region& region) { return region.buffer->scope == Scope::global; }

/// Arithmetic on floats, and elements of global memory.
Work of_expression(const ExprRef& root) {
  Work work;
  walk(root, [&](const Expr& e) {
    bool arithmetic = std::holds_alternative<Unary>(e.node) || std::holds_alternative<Binary>(e.node) ||
                      std::holds_alternative<Call>(e.node);
    if (arithmetic && is_float(e.type)) work.flop = add(work.flop, 1);
    const auto* load = std::get_if<Load>(&e.node);
    if (load != nullptr && load->buffer->scope == Scope::global)
      work.bytes = add(work.bytes, bytes(1, load->buffer->type));
  });
  return work;
}

Work of_operation(const TileOp& op) {
  Work work;
  for (const Region& operand : op.operands) {
    if (!is_global(operand)) continue;
    // The tile that is copied may be named in full on either side.
    Count count = elements(operand);
    for (const Region& other : op.operands) count = count ? count : elements(other);
    work.bytes = add(work.bytes, bytes(count, operand.buffer->type));
  }
  Count first = elements(op.operands.front());
  switch (op_info(op.kind).unit) {
    case Unit::matrix: {
      const auto& attrs = std::get<GemmAttrs>(op.attrs);
      const Region& a = op.operands[0];
      Count depth = analysis::small_literal(a.ranges[a.ranges.size() - (attrs.trans_a ? 2 : 1)].extent);
      work.flop = times(times(elements(op.operands[2]), depth), 2);
      break;
    }
    case Unit::vector:
      work.flop = op.kind == OpKind::fill ? Count(0) : first;
      break;
    case Unit::dma:
      break;
  }
  return work;
}

Work of_body(const Body& body) {
  Work work;
  for (const StmtRef& stmt : body) work = add(work, work_of(*stmt));
  return work;
}

Work of_loop(const For& loop) {
  Count trips = 1;
  for (const LoopAxis& axis : loop.axes) {
    auto begin = analysis::small_literal(axis.begin), end = analysis::small_literal(axis.end),
         step = analysis::small_literal(axis.step);
    bool known = begin && end && step && *step > 0;
    trips = times(trips, known ? Count(std::max<std::int64_t>(*end - *begin + *step - 1, 0) / *step) : std::nullopt);
  }
  return times(of_body(loop.body), trips);
}

Work of_store(const Buffer& buffer) { return {buffer->scope == Scope::global ? bytes(1, buffer->type) : Count(0), 0}; }

}  // namespace

Work work_of(const Stmt& stmt) {
  Work own;
  for_each_expr(stmt, [&](const ExprRef& e) { own = add(own, of_expression(e)); });
  Work rest = std::visit(Overload{
                             [](const For& n) { return of_loop(n); },
                             [](const While& n) { return times(of_body(n.body), std::nullopt); },
                             [](const If& n) {
                               Work a = of_body(n.then_body), b = of_body(n.else_body);
                               return Work{larger(a.bytes, b.bytes), larger(a.flop, b.flop)};
                             },
                             [](const Store& n) { return of_store(n.buffer); },
                             [](const AtomicElement& n) { return of_store(n.buffer); },
                             [](const TileOp& n) { return of_operation(n); },
                             [](const Task& n) { return of_body(n.body); },
                             [](const auto&) { return Work{}; },
                         },
                         stmt.node);
  return add(own, rest);
}

namespace {

/// A copy to or from global memory keeps the units that move data busy; among on-chip buffers threads do it.
Unit unit_of(const TileOp& op) {
  Unit unit = op_info(op.kind).unit;
  bool moves = std::any_of(op.operands.begin(), op.operands.end(), is_global);
  return unit == Unit::dma && !moves ? Unit::vector : unit;
}

}  // namespace

Unit unit_of(const Stmt& stmt) {
  bool matrix = false, vector = false, dma = false;
  walk({std::make_shared<const Stmt>(stmt)}, [&](const Stmt& inner) {
    if (const auto* op = std::get_if<TileOp>(&inner.node)) {
      Unit unit = unit_of(*op);
      matrix = matrix || unit == Unit::matrix;
      vector = vector || unit == Unit::vector;
      dma = dma || unit == Unit::dma;
    }
    vector = vector || std::holds_alternative<Store>(inner.node) || std::holds_alternative<AtomicElement>(inner.node);
  });
  if (matrix) return Unit::matrix;
  return dma && !vector ? Unit::dma : Unit::vector;
}

bool is_async(const Stmt& stmt) {
  const auto* op = std::get_if<TileOp>(&stmt.node);
  if (op == nullptr) return false;
  if (op->kind == OpKind::gemm) return true;
  auto in_shared = [](const Region& region) { return region.buffer->scope == Scope::shared; };
  return op->kind == OpKind::copy && std::any_of(op->operands.begin(), op->operands.end(), is_global) &&
         std::any_of(op->operands.begin(), op->operands.end(), in_shared);
}

bool is_load(const Stmt& stmt) {
  const auto* op = std::get_if<TileOp>(&stmt.node);
  if (op == nullptr) return row_gather(stmt).has_value();
  return op->kind == OpKind::copy && is_global(op->operands[0]) && op->operands[1].buffer->scope == Scope::shared;
}

}  // namespace plait::graph
