#include "pipeline/measured.h"

#include "ir/rebuild.h"

namespace plait::pipeline {

using namespace ir;

namespace {

bool is_nest(const Stmt& stmt) {
  const auto* loop = std::get_if<For>(&stmt.node);
  return loop != nullptr && loop->kind == LoopKind::parallel;
}

bool is_operation(const Stmt& stmt) { return std::holds_alternative<TileOp>(stmt.node) || is_nest(stmt); }

Body without_costs(const Body& body) {
  Body made;
  for (const StmtRef& stmt : body) {
    const auto* task = std::get_if<Task>(&stmt->node);
    if (task != nullptr && task->body.size() == 1 && is_operation(*task->body.front())) {
      made.push_back(task->body.front());
    } else {
      made.push_back(is_nest(*stmt) ? stmt : with_bodies(stmt, [](const Body& of) { return without_costs(of); }));
    }
  }
  return made;
}

}  // namespace

Kernel without_costs(const Kernel& kernel) {
  Kernel made = kernel;
  made.body = without_costs(kernel.body);
  return made;
}

}  // namespace plait::pipeline
