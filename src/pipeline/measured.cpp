#include "pipeline/measured.h"

#include "ir/build.h"
#include "support/result.h"

namespace plait::pipeline {

using namespace ir;

namespace {

Body without_costs(const Body& body);

bool is_operation(const StmtRef& stmt) {
  const auto* loop = std::get_if<For>(&stmt->node);
  return std::holds_alternative<TileOp>(stmt->node) || (loop != nullptr && loop->kind == LoopKind::parallel);
}

StmtRef without_costs(const StmtRef& stmt) {
  auto with_body = [&](auto node) {
    Body made = without_costs(node.body);
    if (made == node.body) return stmt;
    node.body = std::move(made);
    return make_stmt(std::move(node), stmt->loc);
  };
  return std::visit(
      Overload{[&](const Task& node) {
                 return node.body.size() == 1 && is_operation(node.body.front()) ? node.body.front() : with_body(node);
               },
               [&](const For& node) { return node.kind == LoopKind::parallel ? stmt : with_body(node); },
               [&](const While& node) { return with_body(node); },
               [&](If node) {
                 Body then_body = without_costs(node.then_body), else_body = without_costs(node.else_body);
                 if (then_body == node.then_body && else_body == node.else_body) return stmt;
                 node.then_body = std::move(then_body);
                 node.else_body = std::move(else_body);
                 return make_stmt(std::move(node), stmt->loc);
               },
               [&](const auto&) { return stmt; }},
      stmt->node);
}

Body without_costs(const Body& body) {
  Body made;
  for (const StmtRef& stmt : body) made.push_back(without_costs(stmt));
  return made;
}

}  // namespace

Kernel without_costs(const Kernel& kernel) {
  Kernel made = kernel;
  made.body = without_costs(kernel.body);
  return made;
}

}  // namespace plait::pipeline
