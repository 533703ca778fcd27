#include "planner/reopen.h"

#include "ir/build.h"
#include "support/result.h"

namespace plait::planner {

using namespace ir;

namespace {

StmtRef reopened(const StmtRef& stmt);

Body reopened(const Body& body) {
  Body made;
  for (const StmtRef& stmt : body) made.push_back(reopened(stmt));
  return made;
}

StmtRef reopened(const StmtRef& stmt) {
  auto with_body = [&](auto node) {
    node.body = reopened(node.body);
    return make_stmt(std::move(node), stmt->loc);
  };
  return std::visit(
      Overload{[&](For node) {
                 node.pipeline = {};
                 return with_body(std::move(node));
               },
               [&](const While& node) { return with_body(node); }, [&](const Task& node) { return with_body(node); },
               [&](If node) {
                 node.then_body = reopened(node.then_body);
                 node.else_body = reopened(node.else_body);
                 return make_stmt(std::move(node), stmt->loc);
               },
               [&](const auto&) { return stmt; }},
      stmt->node);
}

}  // namespace

Kernel reopened(const Kernel& kernel) {
  Kernel made = kernel;
  made.body = reopened(kernel.body);
  return made;
}

}  // namespace plait::planner
