#include "pipeline/unread.h"

#include <fmt/format.h>

#include <set>

#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/rings.h"

namespace plait::pipeline {

using namespace ir;

namespace {

/// The tile that a statement loads; null for every other statement.
Buffer loaded(const Stmt& stmt) {
  const auto* op = std::get_if<TileOp>(&stmt.node);
  bool load = op != nullptr && op->kind == OpKind::copy && op->operands[0].buffer->scope == Scope::global &&
              op->operands[1].buffer->scope == Scope::shared;
  return load ? op->operands[1].buffer : nullptr;
}

class Dropper {
 public:
  explicit Dropper(std::set<Buffer> unread) : unread_(std::move(unread)) {}

  Body body(const Body& body) {
    Body kept;
    for (const StmtRef& stmt : body) {
      if (StmtRef made = statement(stmt)) kept.push_back(std::move(made));
    }
    return kept;
  }

 private:
  /// Null: nothing is left.
  StmtRef statement(const StmtRef& stmt) {
    return std::visit(Overload{[&](const For& node) { return with_body(stmt, node, true); },
                               [&](const While& node) { return with_body(stmt, node, false); },
                               [&](const Task& node) { return with_body(stmt, node, true); },
                               [&](If node) -> StmtRef {
                                 Body then_body = body(node.then_body), else_body = body(node.else_body);
                                 if (then_body == node.then_body && else_body == node.else_body) return stmt;
                                 if (then_body.empty() && else_body.empty()) return nullptr;
                                 node.then_body = std::move(then_body);
                                 node.else_body = std::move(else_body);
                                 return make_stmt(std::move(node), stmt->loc);
                               },
                               [&](const Alloc& node) { return unread_.contains(node.buffer) ? nullptr : stmt; },
                               [&](const auto&) { return unread_.contains(loaded(*stmt)) ? nullptr : stmt; }},
                      stmt->node);
  }

  template <typename Node>
  StmtRef with_body(const StmtRef& stmt, Node node, bool may_go) {
    Body kept = body(node.body);
    if (kept == node.body) return stmt;
    if (kept.empty() && may_go) return nullptr;
    node.body = std::move(kept);
    return make_stmt(std::move(node), stmt->loc);
  }

  std::set<Buffer> unread_;
};

}  // namespace

Kernel without_unread_loads(const Kernel& kernel, std::vector<place::Remark>& remarks) {
  std::set<Buffer> unread, used;
  walk(kernel.body, [&](const Stmt& stmt) {
    Touched use = touched_alone(stmt);
    used.insert(use.reads.begin(), use.reads.end());
    Buffer buffer = loaded(stmt);
    if (buffer != nullptr) unread.insert(buffer);
    if (buffer == nullptr) used.insert(use.writes.begin(), use.writes.end());
  });
  for (const Buffer& buffer : used) unread.erase(buffer);
  if (unread.empty()) return kernel;
  walk(kernel.body, [&](const Stmt& stmt) {
    if (Buffer buffer = loaded(stmt); unread.contains(buffer))
      remarks.push_back({stmt.loc, fmt::format("nothing reads `{}`, so that it is not loaded", buffer->name)});
  });
  Kernel made = kernel;
  made.body = Dropper(std::move(unread)).body(kernel.body);
  return made;
}

}  // namespace plait::pipeline
