#include "ir/rebuild.h"

#include "ir/build.h"
#include "support/result.h"

namespace plait::ir {

StmtRef with_bodies(const StmtRef& stmt, const std::function<Body(const Body&)>& change) {
  auto with_body = [&](auto node) {
    Body made = change(node.body);
    if (made == node.body) return stmt;
    node.body = std::move(made);
    return make_stmt(std::move(node), stmt->loc);
  };
  return std::visit(
      Overload{[&](const For& node) { return with_body(node); }, [&](const While& node) { return with_body(node); },
               [&](const Task& node) { return with_body(node); },
               [&](If node) {
                 Body then_body = change(node.then_body), else_body = change(node.else_body);
                 if (then_body == node.then_body && else_body == node.else_body) return stmt;
                 node.then_body = std::move(then_body);
                 node.else_body = std::move(else_body);
                 return make_stmt(std::move(node), stmt->loc);
               },
               [&](const auto&) { return stmt; }},
      stmt->node);
}

}  // namespace plait::ir
