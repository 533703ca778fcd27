#include "pipeline/threads.h"

#include "ir/build.h"
#include "ir/expr_util.h"
#include "ir/visit.h"

namespace plait::pipeline {

using namespace ir;
using roles::build::at;

// ---- Loops of threads ----------------------------------------------------------------------------------------------

/// Number of the thread in the role.
Value Threads::thread() const {
  const roles::Builtins& own = b_.builtins();
  if (l_.placed_.replicas == 1) return own.thread;
  return Value(own.replica) * (l_.placed_.warps * 32) + Value(own.thread);
}

std::int64_t Threads::count() const { return std::int64_t{l_.placed_.replicas} * l_.placed_.warps * 32; }

/// Calls `point` for every point of a space, neighbours of the last dimension by neighbouring threads.
void Threads::loop(const Value& first, std::int64_t threads, const Values& extents, const Point& point, int unroll) {
  std::size_t outermost = 0, walked = extents.size();
  while (outermost + 1 < extents.size() && as_int(extents[outermost].expr()) == 1) ++outermost;
  Values index(extents.size(), Value(0));
  Value begin = first;
  // Where threads fill whole rows each keeps its column, which the loop need not find again.
  auto row = as_int(extents.back().expr());
  if (outermost + 1 < extents.size() && row && *row > 1 && threads > 1 && threads % *row == 0) {
    index.back() = b_.let(l_.fresh("i"), first % *row);
    begin = first / *row;
    threads /= *row;
    --walked;
  }
  Lowering::BodyScope scope(l_);
  Value total = 1;
  for (std::size_t d = 0; d < walked; ++d) total = as_int(total.expr()) == 1 ? extents[d] : total * extents[d];
  b_.loop(l_.fresh("e"), {begin, total, threads, unroll}, [&](const Value& e) {
    Lowering::BodyScope inner(l_);
    Value rest = e;
    for (std::size_t d = walked; d-- > outermost;) {
      if (d == outermost) {
        index[d] = rest;
      } else if (as_int(extents[d].expr()) != 1) {
        index[d] = b_.let(l_.fresh("i"), rest % extents[d]);
        rest = rest / extents[d];
      }
    }
    if (extents.size() > 1) index[outermost] = b_.let(l_.fresh("i"), index[outermost]);
    point(index);
  });
}

void Threads::loop(const Values& extents, const Point& point, int unroll) {
  loop(thread(), count(), extents, point, unroll);
}

void Threads::by_one(const std::function<void()>& body) {
  b_.if_(thread() == 0, [&] {
    Lowering::BodyScope scope(l_);
    body();
  });
}

// ---- Elements ------------------------------------------------------------------------------------------------------

Value Threads::get(const Buffer& buffer, const Values& index) { return l_.read(buffer, index); }

void Threads::put(const Buffer& buffer, const Values& index, const Value& value) {
  if (buffer->scope == Scope::global) return b_.put(at(buffer, index), value);
  roles::SmemRef ref = l_.place_of(buffer, index);
  b_.put(ref, value);
}

Value Threads::value(const ExprRef& expr) { return scalars_.convert(expr); }

// ---- What lies in registers ----------------------------------------------------------------------------------------

namespace {

/// Whether the statement, which does not read the buffer, leaves nothing of what it held.
bool overwrites(const Stmt& stmt, const Buffer& buffer) {
  const auto* op = std::get_if<TileOp>(&stmt.node);
  if (op == nullptr) return false;
  const std::vector<Effect>& effects = op_info(op->kind).effects;
  for (std::size_t i = 0; i < op->operands.size(); ++i) {
    if (op->operands[i].buffer == buffer && effects[i] != Effect::read) return is_whole(op->operands[i]);
  }
  return false;
}

}  // namespace

/// A fragment of few columns, each of which holds the rows: every thread then has elements of its own to store.
Lowering::Fragment Threads::spread(const Lowering::Fragment& rows) {
  bool vector = rows->of->kind == roles::FragmentKind::vector;
  std::int64_t columns = Lowering::spread_columns(*rows->of);
  roles::FragmentKind kind = vector ? roles::FragmentKind::vector : roles::FragmentKind::wgmma_acc;
  Lowering::Fragment made = b_.fragment(l_.fresh(rows->buffer->name + "_wide"), rows->buffer->type,
                                        {static_shape(*rows->buffer)[0], columns}, kind, {1, rows->of->lanes, nullptr});
  l_.each(made, [&](const Values& at) { return roles::build::element(rows, {at[0]}); });
  return made;
}

/// Around `body`, fragments that the statement uses stand in memory.
void Threads::spill(const Stmt& stmt, const std::function<void()>& body) {
  Touched use = touched(stmt);
  std::set<Buffer> all = use.reads;
  all.insert(use.writes.begin(), use.writes.end());
  auto first = [&](const Buffer& buffer) {
    return l_.placed_.replicas == 1 ? Value(0) : Value(b_.builtins().replica) * l_.own_rows(buffer);
  };
  auto place = [&](const Buffer& buffer) { return at(l_.scratch_.at(buffer.get()), {first(buffer), 0}); };
  for (const Buffer& buffer : all) {
    if (!l_.placed_.in_registers(buffer)) continue;
    if (!use.reads.contains(buffer) && overwrites(stmt, buffer)) continue;
    Lowering::Fragment own = l_.fragment(buffer);
    if (own->kind == roles::FragmentKind::rows) own = spread(own);
    b_.add(roles::StoreShared{place(buffer), own});
  }
  body();
  for (const Buffer& buffer : use.writes) {
    if (!l_.placed_.in_registers(buffer)) continue;
    Lowering::Fragment own = l_.fragment(buffer);
    if (own->kind != roles::FragmentKind::rows) {
      b_.add(roles::LoadShared{own, place(buffer)});
      continue;
    }
    Value begin = first(buffer);
    l_.each(own, [&](const Values& row) {
      Value at = as_int(begin.expr()) == 0 ? row[0] : begin + row[0];
      return roles::build::element(l_.scratch_.at(buffer.get()), {at, 0});
    });
  }
}

// ---- All of them ---------------------------------------------------------------------------------------------------

void Threads::run(const Stmt& stmt) {
  if (const auto* loop = std::get_if<For>(&stmt.node)) return spill(stmt, [&] { nest(stmt, *loop); });
  const TileOp& op = std::get<TileOp>(stmt.node);
  spill(stmt, [&] {
    switch (op.kind) {
      case OpKind::copy:
        return copy(stmt, op);
      case OpKind::fill:
        return fill(op);
      case OpKind::gemm:
        return product(op);
      case OpKind::reduce_argmax:
      case OpKind::reduce_argmin:
        return arg_reduce(op);
      case OpKind::reduce_sum:
      case OpKind::reduce_max:
      case OpKind::reduce_min:
      case OpKind::reduce_abssum:
      case OpKind::reduce_absmax:
      case OpKind::reduce_bitand:
      case OpKind::reduce_bitor:
      case OpKind::reduce_bitxor:
        return reduce(op);
      case OpKind::cumsum:
        return cumsum(stmt, op);
      case OpKind::transpose:
        return transpose(stmt, op);
      case OpKind::atomic_add:
      case OpKind::atomic_max:
      case OpKind::atomic_min:
        return atomic_tile(stmt, op);
    }
  });
}

void Threads::single(const Stmt& stmt) {
  by_one([&] { statement(stmt); });
}

Value zero_of(DType type) { return ir::is_float(type) ? Value(typed_literal(type, 0)) : Value(typed_int(type, 0)); }

Value converted(DType type, const Value& value) {
  return value.expr()->type == type ? value : roles::build::cast(type, value);
}

}  // namespace plait::pipeline
