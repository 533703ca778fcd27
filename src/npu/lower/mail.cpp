#include "npu/lower/mail.h"

#include "ir/visit.h"

namespace plait::npu {

using namespace ir;
using machine::MemoryKind;

namespace {

/// Whether the statement is one that a core runs as a task: no statements of its own but those of a nest.
bool is_leaf(const Stmt& stmt) {
  const auto* loop = std::get_if<For>(&stmt.node);
  return std::holds_alternative<TileOp>(stmt.node) || std::holds_alternative<Store>(stmt.node) ||
         std::holds_alternative<AtomicElement>(stmt.node) || (loop != nullptr && loop->kind == LoopKind::parallel);
}

bool hands_on(const Stmt& stmt, const Homes& homes) {
  const auto* op = std::get_if<TileOp>(&stmt.node);
  if (op == nullptr || op->kind != OpKind::copy) return false;
  MemoryKind from = homes.of(op->operands[0].buffer), to = homes.of(op->operands[1].buffer);
  return (from == MemoryKind::l0c && to == MemoryKind::ub) || (from == MemoryKind::ub && to == MemoryKind::l1);
}

}  // namespace

std::vector<Mail> mail_of(const Body& body, const Homes& homes) {
  std::vector<Mail> all;
  walk(body, [&](const Stmt& stmt) {
    if (!hands_on(stmt, homes)) return;
    Core from = core_of(stmt, homes);
    all.push_back(
        {std::get<TileOp>(stmt.node).operands[1].buffer, &stmt, from, from == Core::cube ? Core::vector : Core::cube});
  });
  return all;
}

bool has_part(const Stmt& stmt, Core core, const Homes& homes) {
  if (is_leaf(stmt)) return core_of(stmt, homes) == core || hands_on(stmt, homes);
  bool found = false;
  auto look = [&](const Body& body) {
    for (const StmtRef& inner : body) found = found || has_part(*inner, core, homes);
  };
  std::visit(Overload{[&](const For& node) { look(node.body); }, [&](const While& node) { look(node.body); },
                      [&](const If& node) {
                        look(node.then_body);
                        look(node.else_body);
                      },
                      [&](const Task& node) { look(node.body); }, [](const auto&) {}},
             stmt.node);
  return found;
}

}  // namespace plait::npu
