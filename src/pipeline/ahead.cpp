#include <fmt/format.h>

#include "graph/row_gather.h"
#include "ir/visit.h"
#include "pipeline/pipeline.h"
#include "pipeline/rings.h"
#include "pipeline/threads.h"

namespace plait::pipeline {

using namespace ir;

namespace {

/// All that a gather of rows evaluates.
std::vector<ExprRef> expressions_of(const graph::TensorRows& gather) {
  std::vector<ExprRef> list = gather.index;
  list.push_back(gather.begin);
  if (gather.inside != nullptr) list.push_back(gather.inside);
  return list;
}

/// Finds loads that cannot be done ahead: by another role, since where or whether they happen is known only when what
/// stands before has been computed; by the threads that compute only where the rest of an iteration may not come.
class Ahead {
 public:
  Ahead(const place::Placed& placed, const Pieces* pieces) : placed_(placed), pieces_(pieces) {
    for (const Param& param : placed.kernel.params) {
      if (param.kind == ParamKind::in) constant_.insert(param.buffer.get());
    }
  }

  std::map<const Stmt*, std::string> run() {
    for (const StmtRef& stmt : placed_.kernel.body) {
      bool once = pieces_ != nullptr && !pieces_->is(*stmt);
      statement(*stmt, {once ? "it is done by one of a tile's blocks, which are known last" : "", ""});
    }
    return std::move(found_);
  }

 private:
  struct Why {
    std::string nobody;   ///< why nobody loads ahead here; empty where somebody may
    std::string another;  ///< why no other role does
  };
  /// What makes the value one that is computed by the kernel; empty where it is not.
  std::string computed(const ExprRef& expr) const {
    std::string why;
    walk(expr, [&](const Expr& e) {
      if (const auto* load = std::get_if<Load>(&e.node); load != nullptr && !constant_.contains(load->buffer.get()))
        why = fmt::format("it depends on `{}`, which the kernel writes", load->buffer->name);
      if (const auto* ref = std::get_if<VarRef>(&e.node); ref != nullptr && tainted_.contains(ref->var.get()))
        why = fmt::format("it depends on `{}`, which the kernel computes", ref->var->name);
    });
    return why;
  }
  void load(const Stmt& stmt, Why why);
  void statement(const Stmt& stmt, Why why);
  void body(const Body& body, const Why& why) {
    for (const StmtRef& stmt : body) statement(*stmt, why);
  }
  static std::string either(const std::string& a, const std::string& b) { return a.empty() ? b : a; }
  static void early_end(const Body& body, Why& why) {
    if (may_jump(body)) why.nobody = either(why.nobody, "the loop around it may end early");
  }

  const place::Placed& placed_;
  const Pieces* pieces_;
  std::set<const BufferDecl*> constant_;  ///< tensors that nobody writes
  std::set<const VarDecl*> tainted_;
  std::map<const Stmt*, std::string> found_;
};

void Ahead::load(const Stmt& stmt, Why why) {
  const Buffer tensor = graph::loaded_tensor(stmt);
  if (!constant_.contains(tensor.get()))
    why.nobody = either(why.nobody, fmt::format("the kernel may write `{}`", tensor->name));
  if (const auto* op = std::get_if<TileOp>(&stmt.node)) {
    for (const Region& region : op->operands) {
      for (const Range& range : region.ranges) why.another = either(why.another, computed(range.begin));
    }
  } else {
    for (const ExprRef& expr : expressions_of(*graph::row_gather(stmt)))
      why.another = either(why.another, computed(expr));
  }
  const bool another = is_tma_load(stmt, placed_) || is_gather(stmt, placed_);
  const std::string found = another ? either(why.nobody, why.another) : why.nobody;
  if (!found.empty()) found_[&stmt] = found;
}

void Ahead::statement(const Stmt& stmt, Why why) {
  std::visit(Overload{[&](const Let& let) {
                        if (!computed(let.value).empty()) tainted_.insert(let.var.get());
                      },
                      [&](const TileOp&) {
                        if (is_load(stmt, placed_)) load(stmt, why);
                      },
                      [&](const For& loop) {
                        if (is_load(stmt, placed_)) load(stmt, why);
                        if (loop.kind == LoopKind::parallel) return;
                        for (const LoopAxis& axis : loop.axes) {
                          for (const ExprRef& bound : {axis.begin, axis.end, axis.step})
                            why.another = either(why.another, computed(bound));
                        }
                        if (loop.kind == LoopKind::persistent)
                          why.another = either(why.another, "it stands in a `persistent` loop");
                        early_end(loop.body, why);
                        body(loop.body, why);
                      },
                      [&](const While& loop) {
                        early_end(loop.body, why);
                        why.another = either(why.another, "it stands in a `while`");
                        body(loop.body, why);
                      },
                      [&](const If& node) {
                        why.another = either(why.another, computed(node.cond));
                        body(node.then_body, why);
                        body(node.else_body, why);
                      },
                      [&](const Task& task) { body(task.body, why); }, [](const auto&) {}},
             stmt.node);
}

/// Copies that cannot be loaded ahead as the placement has it, and why.
std::map<const Stmt*, std::string> loads_in_order(const place::Placed& placed, const plan::Schedule& schedule,
                                                  const Pieces* pieces) {
  std::map<const Stmt*, std::string> found = Ahead(placed, pieces).run();
  if (schedule.place.work.kind == plan::WorkKind::dynamic) {
    for (const auto& [stmt, atom] : placed.atoms) {
      if (is_gather(*stmt, placed)) found.try_emplace(stmt, "one thread of the role that loads hands out the tiles");
    }
  }
  // Each round leaves fewer loads ahead; others may stand in the way of what is left.
  if (found.empty()) found = Rings::obstacles(placed, schedule);
  return found;
}

}  // namespace

Result<place::Placed> place_in_order(const Kernel& kernel, const machine::Device& device,
                                     const place::Assumptions& assumptions, place::Wishes wishes,
                                     const plan::Schedule& schedule, const Pieces* pieces) {
  auto placed = place::place(kernel, device, assumptions, wishes);
  while (placed) {
    auto in_order = loads_in_order(*placed, schedule, pieces);
    if (in_order.empty()) break;
    wishes.in_order.merge(in_order);
    placed = place::place(kernel, device, assumptions, wishes);
  }
  return placed;
}

}  // namespace plait::pipeline
