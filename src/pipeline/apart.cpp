#include <algorithm>
#include <map>

#include "analysis/affine.h"
#include "ir/visit.h"
#include "pipeline/threads.h"

// What need not wait for each other.
namespace plait::pipeline {

using namespace ir;

/// Tensors that are written by one statement alone and never read, in other places each time: threads need not meet
/// over them.
std::set<const BufferDecl*> Lowering::tensors_apart() const {
  std::map<const BufferDecl*, std::vector<const Stmt*>> writers;
  std::set<const BufferDecl*> read, apart;
  std::function<void(const Body&, bool)> look = [&](const Body& body, bool in_while) {
    for (const StmtRef& stmt : body) {
      const auto* loop = std::get_if<For>(&stmt->node);
      if (loop != nullptr && loop->kind != LoopKind::parallel) {
        look(loop->body, in_while);
      } else if (const auto* node = std::get_if<If>(&stmt->node)) {
        look(node->then_body, in_while);
        look(node->else_body, in_while);
      } else if (const auto* task = std::get_if<Task>(&stmt->node)) {
        look(task->body, in_while);
      } else if (const auto* again = std::get_if<While>(&stmt->node)) {
        look(again->body, true);
      } else {
        Touched use = touched(*stmt);
        for (const Buffer& buffer : use.reads) read.insert(buffer.get());
        for (const Buffer& buffer : use.writes) {
          writers[buffer.get()].push_back(stmt.get());
          if (in_while) read.insert(buffer.get());
        }
      }
    }
  };
  look(kernel_.body, false);
  for (const auto& [buffer, list] : writers) {
    if (buffer->scope == Scope::global && list.size() == 1 && !read.contains(buffer)) apart.insert(buffer);
  }
  analysis::for_each_loop(kernel_, [&](const StmtRef&, const For& loop, const analysis::Domain& outer) {
    if (loop.kind == LoopKind::parallel) return;
    Touched use;
    walk(loop.body, [&](const Stmt& stmt) {
      Touched own = touched(stmt);
      use.writes.insert(own.writes.begin(), own.writes.end());
    });
    if (std::none_of(use.writes.begin(), use.writes.end(), [&](const Buffer& b) { return apart.contains(b.get()); }))
      return;
    for (const analysis::Dependence& edge : analysis::dependences(loop, outer)) {
      if (edge.kind == analysis::DependenceKind::output && edge.carried()) apart.erase(edge.buffer.get());
    }
  });
  return apart;
}

/// Whether the stages of a loop may run behind each other in the role that computes: not where its threads leave
/// something in memory, of which there is one version.
bool Lowering::overlaps(const Body& body) const {
  return std::none_of(body.begin(), body.end(), [&](const StmtRef& stmt) {
    auto atom = placed_.atoms.find(stmt.get());
    if (atom != placed_.atoms.end()) {
      if (std::holds_alternative<place::ThreadsAtom>(atom->second)) return true;
      const auto* copy = std::get_if<place::CopyAtom>(&atom->second);
      if (copy != nullptr && copy->way == place::CopyWay::tma_store) return true;
      return copy != nullptr && copy->way == place::CopyWay::store_fragment &&
             std::get<TileOp>(stmt->node).operands[1].buffer->scope != Scope::global;
    }
    if (const auto* loop = std::get_if<For>(&stmt->node)) return !overlaps(loop->body);
    if (const auto* task = std::get_if<Task>(&stmt->node)) return !overlaps(task->body);
    if (const auto* node = std::get_if<If>(&stmt->node))
      return may_jump(*stmt) || !overlaps(node->then_body) || !overlaps(node->else_body);
    return !std::holds_alternative<Let>(stmt->node) && !std::holds_alternative<Alloc>(stmt->node);
  });
}

}  // namespace plait::pipeline
