#include "run_quiet.h"

#include "ir/build.h"
#include "ir/visit.h"

namespace plait::cli {
namespace {

ir::Body without_prints(const ir::Body& body);

ir::StmtRef without_prints(const ir::StmtRef& stmt) {
  auto inside = [&](auto node) {
    node.body = without_prints(node.body);
    return ir::make_stmt(std::move(node), stmt->loc);
  };
  return std::visit(
      Overload{[&](const ir::For& node) { return inside(node); }, [&](const ir::While& node) { return inside(node); },
               [&](const ir::Task& node) { return inside(node); },
               [&](ir::If node) {
                 node.then_body = without_prints(node.then_body);
                 node.else_body = without_prints(node.else_body);
                 return ir::make_stmt(std::move(node), stmt->loc);
               },
               [&](const auto&) { return stmt; }},
      stmt->node);
}

ir::Body without_prints(const ir::Body& body) {
  ir::Body kept;
  for (const ir::StmtRef& stmt : body) {
    if (!std::holds_alternative<ir::Print>(stmt->node)) kept.push_back(without_prints(stmt));
  }
  return kept;
}

}  // namespace

bool has_prints(const ir::Kernel& kernel) {
  bool found = false;
  ir::walk(kernel.body, [&](const ir::Stmt& stmt) { found = found || std::holds_alternative<ir::Print>(stmt.node); });
  return found;
}

ir::Kernel without_prints(const ir::Kernel& kernel) {
  ir::Kernel quiet = kernel;
  quiet.body = without_prints(kernel.body);
  return quiet;
}

}  // namespace plait::cli
