#include "analysis/lives.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "support/result.h"

namespace plait::analysis {

using namespace ir;

namespace {

/// What a tile operation writes without having read it.
const Region* overwritten(const TileOp& op) {
  if (op.kind == OpKind::fill) return &op.operands[0];
  return op.kind == OpKind::copy ? &op.operands[1] : nullptr;
}

}  // namespace

Lives::Lives(const Kernel& kernel) { body(kernel.body, true); }

void Lives::body(const Body& body, bool certain) {
  for (const StmtRef& stmt : body) statement(stmt, certain);
}

void Lives::statement(const StmtRef& stmt, bool certain) {
  ++now_;
  statements_[stmt.get()] = {now_, now_};
  uses(*stmt, certain);
  std::visit(Overload{[&](const For& node) {
                        bool nest = node.kind != LoopKind::serial && node.kind != LoopKind::persistent &&
                                    node.kind != LoopKind::pipelined;
                        if (!nest) return loop(*stmt, node.body, node.kind == LoopKind::pipelined);
                        walk(node.body, [&](const Stmt& inner) {
                          statements_[&inner] = {now_, now_};
                          uses(inner, false);
                        });
                      },
                      [&](const While& node) { loop(*stmt, node.body, false); },
                      [&](const If& node) {
                        body(node.then_body, false);
                        body(node.else_body, false);
                      },
                      [&](const Task& node) { body(node.body, certain); }, [](const auto&) {}},
             stmt->node);
}

void Lives::loop(const Stmt& stmt, const Body& inner, bool pipelined) {
  std::size_t number = loops_.size();
  loops_.push_back({{now_, now_}, pipelined});
  open_.push_back(number);
  body(inner, true);
  open_.pop_back();
  // What the loop's condition reads, it reads behind each iteration.
  ++now_;
  uses(stmt, false);
  loops_[number].range.last = now_;
}

void Lives::use(const BufferDecl* buffer, bool overwrites) { uses_[buffer].push_back({now_, open_, overwrites}); }

void Lives::uses(const Stmt& stmt, bool certain) {
  for_each_expr(stmt, [&](const ExprRef& root) {
    walk(root, [&](const Expr& e) {
      if (const auto* load = std::get_if<Load>(&e.node)) use(load->buffer.get(), false);
    });
  });
  if (const auto* op = std::get_if<TileOp>(&stmt.node)) {
    const Region* target = overwritten(*op);
    for (const Region& region : op->operands)
      use(region.buffer.get(), certain && &region == target && is_whole(region));
    const auto* copy = std::get_if<CopyAttrs>(&op->attrs);
    if (copy != nullptr && copy->rows) use(copy->rows->buffer.get(), false);
  }
  if (const auto* store = std::get_if<Store>(&stmt.node)) use(store->buffer.get(), false);
  if (const auto* atomic = std::get_if<AtomicElement>(&stmt.node)) use(atomic->buffer.get(), false);
}

/// Whether each iteration of the loop begins by overwriting the buffer, which nothing outside uses.
bool Lives::begins_anew(const std::vector<Use>& uses, std::size_t loop) const {
  auto inside = [&](const Use& use) { return std::find(use.loops.begin(), use.loops.end(), loop) != use.loops.end(); };
  return !loops_[loop].pipelined && std::all_of(uses.begin(), uses.end(), inside) && uses.front().overwrites &&
         uses.front().loops.back() == loop;
}

std::optional<Life> Lives::of(const BufferDecl& buffer) const {
  auto found = uses_.find(&buffer);
  if (found == uses_.end()) return {};
  const std::vector<Use>& uses = found->second;
  Life life = {uses.front().at, uses.back().at};
  for (const Use& use : uses) {
    for (std::size_t loop : use.loops) {
      if (begins_anew(uses, loop)) continue;
      life.first = std::min(life.first, loops_[loop].range.first);
      life.last = std::max(life.last, loops_[loop].range.last);
    }
  }
  return life;
}

Life Lives::of(const Stmt& stmt) const {
  Life life = statements_.at(&stmt);
  for (const Loop& loop : loops_) {
    if (loop.pipelined && loop.range.overlaps(life)) life = loop.range;
  }
  return life;
}

}  // namespace plait::analysis
