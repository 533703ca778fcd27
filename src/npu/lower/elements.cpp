#include "npu/lower/elements.h"

#include <fmt/format.h>

#include "ir/build.h"
#include "ir/visit.h"

namespace plait::npu {

using namespace ir;
using roles::build::at;

Value as_type(DType type, const Value& value) {
  return value.expr()->type == type ? value : roles::build::cast(type, value);
}

Value nothing_of(DType type) { return ir::is_float(type) ? Value(typed_literal(type, 0)) : Value(typed_int(type, 0)); }

/// Elements narrower than a byte take one each.
DType Elements::stored_as(DType type) {
  if (dtype_bits(type) >= 8) return type;
  return ir::is_signed_integer(type) ? DType::i8 : ir::is_float(type) ? DType::f16 : DType::u8;
}

void Elements::refuse(const Stmt& stmt, const std::string& what) {
  diags_.error(Rule::place_operation, stmt.loc, what);
}

// ---- Loops of lanes ------------------------------------------------------------------------------------------------

/// Calls `point` for every point of a space, or of this replica's part of its first dimension.
void Elements::loop(const Values& extents, const Point& point) {
  pipeline::OpenBody scope(scalars_, names_);
  Values own = extents;
  Value first = 0;
  if (cores_ > 1) {
    std::int64_t rows = *as_int(extents.front().expr()) / cores_;
    own.front() = rows;
    first = Value(b_.builtins().replica) * rows;
  }
  Value total = own.front();
  for (std::size_t d = 1; d < own.size(); ++d) total = total * own[d];
  b_.loop(fresh("e"), {b_.builtins().lane, total, roles::kWarp}, [&](const Value& e) {
    pipeline::OpenBody inner(scalars_, names_);
    Values index(own.size(), Value(0));
    Value rest = e;
    for (std::size_t d = own.size(); d-- > 1;) {
      index[d] = b_.let(fresh("i"), rest % own[d]);
      rest = rest / own[d];
    }
    index[0] = cores_ > 1 ? b_.let(fresh("i"), first + rest) : own.size() > 1 ? b_.let(fresh("i"), rest) : rest;
    point(index);
  });
}

Value Elements::read(const Buffer& buffer, const Values& index) const {
  if (buffer->scope == Scope::global) return roles::build::element(buffer, index);
  roles::SmemRef ref = place_(buffer, index);
  Value value = roles::build::element(ref.smem, Values(ref.index.begin(), ref.index.end()));
  return as_type(buffer->type, value);
}

void Elements::write(const Buffer& buffer, const Values& index, const Value& value) {
  if (buffer->scope == Scope::global) return b_.put(at(buffer, index), value);
  b_.put(place_(buffer, index), as_type(stored_as(buffer->type), value));
}

Elements::Side Elements::side(const Region& region) {
  Side made{&region, {}, {}, {}};
  for (std::size_t d = 0; d < region.ranges.size(); ++d) {
    made.begin.push_back(scalars_.index(region.ranges[d].begin));
    made.extents.push_back(scalars_.index(region.ranges[d].extent));
    if (as_int(region.ranges[d].extent) != 1) made.dims.push_back(d);
  }
  return made;
}

Values Elements::extents_of(const Side& side) {
  Values extents;
  for (std::size_t d : side.dims) extents.push_back(side.extents[d]);
  return extents.empty() ? Values{Value(1)} : extents;
}

Values Elements::index_at(const Side& side, const Values& at) {
  Values index = side.begin;
  for (std::size_t k = 0; k < side.dims.size(); ++k) {
    Value& own = index[side.dims[k]];
    own = as_int(own.expr()) == 0 ? at[k] : own + at[k];
  }
  return index;
}

bool Elements::pairs(const Stmt& stmt, const Side& a, const Side& b) {
  if (a.dims.size() == b.dims.size()) return true;
  refuse(stmt, fmt::format("the extents of `{}` and `{}` do not go with each other one by one", a.region->buffer->name,
                           b.region->buffer->name));
  return false;
}

// ---- Nests ---------------------------------------------------------------------------------------------------------

void Elements::nest(const Stmt& stmt, const For& loop) {
  bool meets = false;
  walk(loop.body, [&](const Stmt& inner) {
    const auto* atomic = std::get_if<AtomicElement>(&inner.node);
    meets = meets || (atomic != nullptr && atomic->buffer->scope != Scope::global);
  });
  Values extents;
  for (const LoopAxis& axis : loop.axes) {
    Value begin = scalars_.index(axis.begin), end = scalars_.index(axis.end), step = scalars_.index(axis.step);
    bool plain = as_int(axis.begin) == 0 && as_int(axis.step) == 1;
    extents.push_back(plain ? end : b_.let(fresh(axis.var->name + "_extent"), max(ceildiv(end - begin, step), 0)));
  }
  auto point = [&](const Values& index) {
    scalars_.add_loop(loop);
    for (std::size_t d = 0; d < index.size(); ++d) {
      const LoopAxis& axis = loop.axes[d];
      bool plain = as_int(axis.begin) == 0 && as_int(axis.step) == 1;
      Value own = index[d];
      if (!plain) own = b_.let(fresh(axis.var->name), scalars_.index(axis.begin) + own * scalars_.index(axis.step));
      scalars_.bind(axis.var, own);
    }
    body(loop.body);
  };
  if (!meets) return this->loop(extents, point);
  // Elements that several iterations add to: one lane after the other would do, one lane does.
  if (extents.size() != 1) return refuse(stmt, "atomics on a tile in more than one loop have no placement yet");
  b_.if_(Value(b_.builtins().lane) == 0, [&] {
    pipeline::OpenBody scope(scalars_, names_);
    b_.loop(fresh("e"), {0, extents[0]}, [&](const Value& e) {
      pipeline::OpenBody inner(scalars_, names_);
      point({e});
    });
  });
}

void Elements::body(const Body& body) {
  for (const StmtRef& stmt : body) statement(*stmt);
}

void Elements::branch(const If& node) {
  Value cond = value(node.cond);
  auto inner = [&](const Body& of, bool holds) {
    pipeline::OpenBody scope(scalars_, names_);
    scalars_.assume(node.cond, holds);
    body(of);
  };
  if (auto known = as_int(cond.expr())) return body(*known != 0 ? node.then_body : node.else_body);
  roles::build::Builder::Then otherwise;
  if (!node.else_body.empty()) otherwise = [&] { inner(node.else_body, false); };
  b_.if_(cond, [&] { inner(node.then_body, true); }, otherwise);
}

void Elements::atomic(const AtomicElement& node) {
  Values index;
  for (const ExprRef& e : node.index) index.push_back(value(e));
  Value other = value(node.value);
  if (node.buffer->scope == Scope::global) {
    b_.atomic_add(fresh("old"), at(node.buffer, index), other);
    return;
  }
  Value old = read(node.buffer, index);
  write(node.buffer, index,
        node.op == AtomicOp::add   ? old + other
        : node.op == AtomicOp::max ? max(old, other)
                                   : min(old, other));
}

void Elements::statement(const Stmt& stmt) {
  std::visit(
      Overload{[&](const Let& node) {
                 scalars_.bind(node.var, b_.let(fresh(node.var->name), value(node.value)));
                 scalars_.add_let(node);
               },
               [&](const Store& node) {
                 Values index;
                 for (const ExprRef& e : node.index) index.push_back(value(e));
                 write(node.buffer, index, value(node.value));
               },
               [&](const AtomicElement& node) {
                 if (node.op != AtomicOp::add && node.buffer->scope == Scope::global)
                   return refuse(stmt, "atomic_max and atomic_min on tensors have no placement");
                 atomic(node);
               },
               [&](const If& node) { branch(node); },
               [&](const For& loop) {
                 const LoopAxis& axis = loop.axes.front();
                 roles::build::Builder::Bounds bounds{scalars_.index(axis.begin), scalars_.index(axis.end),
                                                      scalars_.index(axis.step)};
                 b_.loop(fresh(axis.var->name), bounds, [&](const Value& own) {
                   pipeline::OpenBody scope(scalars_, names_);
                   scalars_.bind(axis.var, own);
                   scalars_.add_loop(loop);
                   body(loop.body);
                 });
               },
               [](const Alloc&) {},
               [&](const auto&) { refuse(stmt, "this statement has no placement inside `parallel` on an NPU yet"); }},
      stmt.node);
}

// ---- All of them ---------------------------------------------------------------------------------------------------

void Elements::run(const Stmt& stmt, int cores) {
  cores_ = cores;
  pipeline::OpenBody scope(scalars_, names_);
  if (const auto* loop = std::get_if<For>(&stmt.node)) {
    nest(stmt, *loop);
  } else if (const auto* op = std::get_if<TileOp>(&stmt.node)) {
    switch (op->kind) {
      case OpKind::copy:
        copy(stmt, *op);
        break;
      case OpKind::fill:
        fill(*op);
        break;
      case OpKind::gemm:
        product(*op);
        break;
      case OpKind::reduce_argmax:
      case OpKind::reduce_argmin:
        arg_reduce(*op);
        break;
      case OpKind::reduce_sum:
      case OpKind::reduce_max:
      case OpKind::reduce_min:
      case OpKind::reduce_abssum:
      case OpKind::reduce_absmax:
      case OpKind::reduce_bitand:
      case OpKind::reduce_bitor:
      case OpKind::reduce_bitxor:
        reduce(*op);
        break;
      case OpKind::cumsum:
        cumsum(stmt, *op);
        break;
      case OpKind::transpose:
        transpose(stmt, *op);
        break;
      case OpKind::atomic_add:
      case OpKind::atomic_max:
      case OpKind::atomic_min:
        atomic_tile(stmt, *op);
        break;
    }
  } else {
    b_.if_(Value(b_.builtins().lane) == 0, [&] {
      pipeline::OpenBody inner(scalars_, names_);
      statement(stmt);
    });
  }
}

}  // namespace plait::npu
