#include "graph/flatten.h"

#include <algorithm>

#include "analysis/expr_util.h"
#include "ir/visit.h"
#include "support/result.h"

namespace plait::graph {

using namespace ir;

namespace {

/// The first break or continue that belongs to the loop around `body`.
StmtRef find_jump(const Body& body) {
  for (const StmtRef& stmt : body) {
    StmtRef found = std::visit(Overload{
                                   [&](const Break&) { return stmt; },
                                   [&](const Continue&) { return stmt; },
                                   [](const If& n) {
                                     StmtRef in_then = find_jump(n.then_body);
                                     return in_then != nullptr ? in_then : find_jump(n.else_body);
                                   },
                                   [](const Task& n) { return find_jump(n.body); },
                                   [](const auto&) { return StmtRef(); },
                               },
                               stmt->node);
    if (found != nullptr) return found;
  }
  return nullptr;
}

template <typename F>
void for_each_write(const Stmt& stmt, const F& fn) {
  if (const auto* store = std::get_if<Store>(&stmt.node)) fn(store->buffer);
  if (const auto* atomic = std::get_if<AtomicElement>(&stmt.node)) fn(atomic->buffer);
  if (const auto* op = std::get_if<TileOp>(&stmt.node)) {
    const auto& effects = op_info(op->kind).effects;
    for (std::size_t i = 0; i < op->operands.size(); ++i) {
      if (effects[i] != Effect::read) fn(op->operands[i].buffer);
    }
  }
}

class Flattener {
 public:
  Flat run(const For& loop) {
    walk(loop.body, [&](const Stmt& stmt) {
      for_each_write(stmt, [&](const Buffer& buffer) {
        bool first = flat_.written.insert(buffer.get()).second;
        if (first && buffer->scope != Scope::global) flat_.written_on_chip.push_back(buffer);
      });
    });
    flat_.jump = find_jump(loop.body);
    body(loop.body);
    return std::move(flat_);
  }

 private:
  bool reads_written(const ExprRef& expr) const {
    return analysis::any_of_tree(expr, [&](const Expr& e) {
      const auto* load = std::get_if<Load>(&e.node);
      return load != nullptr && flat_.written.contains(load->buffer.get());
    });
  }

  /// Whether each statement of a branch can stand alone under the condition.
  bool only_guards(const Body& branch) const {
    return find_jump(branch) == nullptr && std::all_of(branch.begin(), branch.end(), [&](const StmtRef& stmt) {
             const auto* let = std::get_if<Let>(&stmt->node);
             if (let != nullptr) return !reads_written(let->value);
             const auto* inner = std::get_if<If>(&stmt->node);
             if (inner != nullptr) return takes_apart(*inner);
             const auto* task = std::get_if<Task>(&stmt->node);
             return task == nullptr || only_guards(task->body);
           });
  }
  bool takes_apart(const If& branch) const {
    return !reads_written(branch.cond) && only_guards(branch.then_body) && only_guards(branch.else_body);
  }
  /// A measured cost is that of the whole region.
  bool takes_apart(const Task& task) const {
    if (!only_guards(task.body)) return false;
    auto counts = std::count_if(task.body.begin(), task.body.end(), [](const StmtRef& stmt) {
      return !std::holds_alternative<Let>(stmt->node) && !std::holds_alternative<Alloc>(stmt->node);
    });
    return (!task.latency && !task.ii) || counts <= 1;
  }

  void body(const Body& statements) {
    for (const StmtRef& stmt : statements) statement(stmt);
  }

  void statement(const StmtRef& stmt) {
    if (const auto* branch = std::get_if<If>(&stmt->node); branch != nullptr && takes_apart(*branch)) {
      guarded(branch->cond, true, branch->then_body);
      return guarded(branch->cond, false, branch->else_body);
    }
    if (const auto* task = std::get_if<Task>(&stmt->node); task != nullptr && takes_apart(*task)) {
      auto latency = std::exchange(latency_, task->latency), ii = std::exchange(ii_, task->ii);
      body(task->body);
      latency_ = latency;
      ii_ = ii;
      return;
    }
    add(stmt);
  }

  void guarded(const ExprRef& cond, bool holds, const Body& branch) {
    std::size_t depth = around_.size();
    around_.push_back({nullptr, cond, holds});
    body(branch);
    around_.resize(depth);
  }

  void add(const StmtRef& stmt) {
    Item item{stmt, around_, latency_, ii_, false};
    if (const auto* alloc = std::get_if<Alloc>(&stmt->node)) {
      item.replayed = true;
      flat_.own.insert(alloc->buffer.get());
    }
    const auto* let = std::get_if<Let>(&stmt->node);
    item.replayed = item.replayed || (let != nullptr && !reads_written(let->value));
    bool inside = !around_.empty();
    if (let != nullptr && inside) around_.push_back({stmt, nullptr, true});
    flat_.items.push_back(std::move(item));
  }

  Flat flat_;
  std::vector<Around> around_;
  std::optional<std::int64_t> latency_, ii_;
};

}  // namespace

Flat flatten(const For& loop) { return Flattener().run(loop); }

std::unordered_set<const VarDecl*> variables_of(const StmtRef& stmt) {
  std::unordered_set<const VarDecl*> found;
  walk({stmt}, [&](const Stmt& inner) {
    for_each_expr(inner, [&](const ExprRef& root) {
      walk(root, [&](const Expr& e) {
        if (const auto* ref = std::get_if<VarRef>(&e.node)) found.insert(ref->var.get());
      });
    });
  });
  return found;
}

StmtRef wrap(const StmtRef& stmt, const std::vector<Around>& around) {
  Body body = {stmt};
  for (auto it = around.rbegin(); it != around.rend(); ++it) {
    if (it->let != nullptr) {
      body.insert(body.begin(), it->let);
    } else {
      If guard{it->cond, {}, {}};
      (it->holds ? guard.then_body : guard.else_body) = std::move(body);
      body = {std::make_shared<const Stmt>(Stmt{stmt->loc, std::move(guard)})};
    }
  }
  if (body.size() == 1) return body.front();
  return std::make_shared<const Stmt>(Stmt{stmt->loc, Task{{}, {}, std::move(body)}});
}

}  // namespace plait::graph
