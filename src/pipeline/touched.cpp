#include "pipeline/touched.h"

#include <algorithm>

#include "ir/visit.h"
#include "support/result.h"

namespace plait::pipeline {

using namespace ir;

namespace {

/// Whether what the operation writes starts anew.
bool clears(const TileOp& op) {
  if (const auto* product = std::get_if<GemmAttrs>(&op.attrs)) return product->clear_accum;
  const auto* reduction = std::get_if<ReduceAttrs>(&op.attrs);
  return reduction != nullptr && reduction->clear;
}

void touch_ops(const Stmt& stmt, Touched& out) {
  std::visit(Overload{[&](const TileOp& op) {
                        const std::vector<Effect>& effects = op_info(op.kind).effects;
                        for (std::size_t i = 0; i < op.operands.size(); ++i) {
                          bool kept = effects[i] == Effect::read || !clears(op);
                          if (effects[i] != Effect::write && kept) out.reads.insert(op.operands[i].buffer);
                          if (effects[i] != Effect::read) out.writes.insert(op.operands[i].buffer);
                        }
                        const auto* copy = std::get_if<CopyAttrs>(&op.attrs);
                        if (copy != nullptr && copy->rows) out.reads.insert(copy->rows->buffer);
                      },
                      [&](const Store& store) { out.writes.insert(store.buffer); },
                      [&](const AtomicElement& atomic) {
                        out.reads.insert(atomic.buffer);
                        out.writes.insert(atomic.buffer);
                      },
                      [](const auto&) {}},
             stmt.node);
  for_each_expr(stmt, [&](const ExprRef& root) {
    walk(root, [&](const Expr& e) {
      if (const auto* load = std::get_if<Load>(&e.node)) out.reads.insert(load->buffer);
    });
  });
}

const Body* body_of(const Stmt& stmt) {
  if (const auto* loop = std::get_if<For>(&stmt.node)) return &loop->body;
  if (const auto* loop = std::get_if<While>(&stmt.node)) return &loop->body;
  if (const auto* task = std::get_if<Task>(&stmt.node)) return &task->body;
  return nullptr;
}

}  // namespace

void for_each_body_of(const Stmt& stmt, const std::function<void(const Body&)>& fn) {
  if (const Body* body = body_of(stmt)) return fn(*body);
  if (const auto* node = std::get_if<If>(&stmt.node)) {
    fn(node->then_body);
    fn(node->else_body);
  }
}

Touched touched_alone(const Stmt& stmt) {
  Touched out;
  touch_ops(stmt, out);
  return out;
}

Touched touched(const Stmt& stmt) {
  Touched out;
  touch_ops(stmt, out);
  for_each_body_of(stmt, [&](const Body& body) { walk(body, [&](const Stmt& inner) { touch_ops(inner, out); }); });
  return out;
}

bool in_conflict(const Touched& first, const Touched& then) {
  auto meet = [](const std::set<Buffer>& a, const std::set<Buffer>& b) {
    return std::any_of(a.begin(), a.end(), [&](const Buffer& buffer) { return b.contains(buffer); });
  };
  return meet(first.writes, then.reads) || meet(first.writes, then.writes) || meet(first.reads, then.writes);
}

}  // namespace plait::pipeline
