#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/threads.h"

namespace plait::pipeline {

using namespace ir;
using roles::build::at;

bool may_jump(const Stmt& stmt) {
  return std::visit(Overload{[](const Break&) { return true; }, [](const Continue&) { return true; },
                             [](const If& node) { return may_jump(node.then_body) || may_jump(node.else_body); },
                             [](const Task& node) { return may_jump(node.body); }, [](const auto&) { return false; }},
                    stmt.node);
}

bool may_jump(const Body& body) {
  return std::any_of(body.begin(), body.end(), [](const StmtRef& stmt) { return may_jump(*stmt); });
}

namespace {

/// Iterations of a nest whose loads may be under way at one time: of nests of plain stores.
int iterations_ahead(const For& loop) {
  constexpr int kNestAhead = 4;
  bool plain = std::all_of(loop.body.begin(), loop.body.end(), [](const StmtRef& stmt) {
    return std::holds_alternative<Let>(stmt->node) || std::holds_alternative<Store>(stmt->node);
  });
  return plain ? kNestAhead : 1;
}

}  // namespace

void Threads::nest(const Stmt&, const For& loop) {
  Values extents;
  for (const LoopAxis& axis : loop.axes) {
    Value begin = scalars_.index(axis.begin), end = scalars_.index(axis.end), step = scalars_.index(axis.step);
    bool plain = as_int(axis.begin) == 0 && as_int(axis.step) == 1;
    Value extent = plain ? end : max(ceildiv(end - begin, step), 0);
    bool literal = as_int(axis.end) && as_int(axis.begin) && as_int(axis.step);
    if (!literal && !plain) extent = b_.let(l_.fresh(axis.var->name + "_extent"), extent);
    if (literal && !plain) {
      std::int64_t first = *as_int(axis.begin), last = *as_int(axis.end), by = *as_int(axis.step);
      extent = std::max<std::int64_t>((last - first + by - 1) / by, 0);
    }
    extents.push_back(extent);
  }
  auto point = [&](const Values& index) {
    scalars_.add_loop(loop);
    for (std::size_t d = 0; d < index.size(); ++d) {
      const LoopAxis& axis = loop.axes[d];
      bool plain = as_int(axis.begin) == 0 && as_int(axis.step) == 1;
      Value at = index[d];
      if (!plain) at = b_.let(l_.fresh(axis.var->name), scalars_.index(axis.begin) + at * scalars_.index(axis.step));
      scalars_.bind(axis.var, at);
    }
    body(loop.body);
  };
  this->loop(extents, point, iterations_ahead(loop));
}

/// Behind a statement that may jump, the rest runs only if it did not.
void Threads::body(const Body& body) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    statement(*body[i]);
    if (!may_jump(*body[i]) || i + 1 == body.size()) continue;
    Body rest(body.begin() + static_cast<std::ptrdiff_t>(i) + 1, body.end());
    b_.if_(!Value(l_.jumps_.back().skip), [&] {
      Lowering::BodyScope scope(l_);
      this->body(rest);
    });
    return;
  }
}

void Threads::branch(const If& node) {
  l_.branch(node, value(node.cond), [&](const Body& inner) { body(inner); });
}

void Threads::atomic(const AtomicElement& node) {
  Values index;
  for (const ExprRef& e : node.index) index.push_back(value(e));
  if (node.buffer->scope == Scope::global) {
    b_.atomic(node.op, l_.fresh("old"), at(node.buffer, index), value(node.value));
    return;
  }
  b_.atomic(node.op, l_.fresh("old"), l_.place_of(node.buffer, index), value(node.value));
}

void Threads::statement(const Stmt& stmt) {
  std::visit(Overload{[&](const Let& node) { l_.let(node); },
                      [&](const Store& node) {
                        Values index;
                        for (const ExprRef& e : node.index) index.push_back(value(e));
                        put(node.buffer, index, value(node.value));
                      },
                      [&](const AtomicElement& node) { atomic(node); }, [&](const If& node) { branch(node); },
                      [&](const For& loop) { l_.serial_loop(loop, [&] { body(loop.body); }); },
                      [&](const While& loop) { l_.while_loop(loop, [&] { body(loop.body); }); },
                      [&](const Task& task) { body(task.body); }, [](const Alloc&) {},
                      [&](const Break&) { l_.jump(true); }, [&](const Continue&) { l_.jump(false); },
                      [&](const auto&) {
                        l_.diags_.error(Rule::place_operation, stmt.loc,
                                        "this statement has no placement inside `parallel` yet");
                      }},
             stmt.node);
}

}  // namespace plait::pipeline
