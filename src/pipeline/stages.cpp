#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/lowering.h"

// Which statement of a pipelined loop runs in which stage, and what that asks of rings and lets.
namespace plait::pipeline {

using namespace ir;

bool counts_iterations(const For& loop) {
  const LoopAxis& axis = loop.axes.front();
  return as_int(axis.begin) == 0 && as_int(axis.step) == 1;
}

/// The places that the schedule gives a statement of the role that computes: its own, or those of what stands under its
/// condition, but for loads.
std::vector<const plan::Slot*> Lowering::places_of(const Stmt& stmt, const plan::LoopPlan& plan) const {
  std::vector<const plan::Slot*> found;
  auto note = [&](const Stmt& s) {
    bool loaded = &s == &stmt ? rings_.filled_by_loader(s).has_value() : rings_.filled_by(s).has_value();
    const plan::Slot* slot = loaded ? nullptr : plan.find(names_.at(&s));
    if (slot != nullptr) found.push_back(slot);
  };
  note(stmt);
  for_each_body_of(stmt, [&](const Body& body) { walk(body, note); });
  auto earlier = [](const plan::Slot* a, const plan::Slot* b) { return a->order < b->order; };
  std::sort(found.begin(), found.end(), earlier);
  return found;
}

/// The statements of the loop in the order of the schedule; stages count from the first one that computes. Lets that
/// the schedule does not name stand before all, or behind the lets that they need, and are evaluated for each stage
/// that uses them.
std::vector<Lowering::Step> Lowering::steps_of(const For& loop, const plan::LoopPlan& plan) {
  struct Placed {
    Step step;
    int order;
  };
  std::vector<Placed> list;
  std::unordered_map<const VarDecl*, int> lets;  // the orders of those that the schedule names
  int least = INT_MAX;
  for (const StmtRef& stmt : loop.body) {
    std::vector<const plan::Slot*> places = places_of(*stmt, plan);
    int stage = places.empty() ? 0 : places.front()->stage, order = places.empty() ? -1 : places.front()->order;
    if (!places.empty()) least = std::min(least, stage);
    if (const auto* let = std::get_if<Let>(&stmt->node)) {
      walk(let->value, [&](const Expr& e) {
        const auto* ref = std::get_if<VarRef>(&e.node);
        auto needed = ref == nullptr || !places.empty() ? lets.end() : lets.find(ref->var.get());
        if (needed != lets.end()) order = std::max(order, needed->second);
      });
      if (order >= 0) lets[let->var.get()] = order;
    }
    list.push_back({{stmt, stage}, order});
  }
  std::stable_sort(list.begin(), list.end(), [](const Placed& a, const Placed& b) { return a.order < b.order; });
  std::vector<Step> steps;
  for (Placed& placed : list) {
    if (least != INT_MAX) placed.step.stage = std::max(placed.step.stage - least, 0);
    steps.push_back(placed.step);
  }
  load_where_read(steps);
  fetch_behind_products(steps);
  return steps;
}

/// Slots that rings need where stages lie apart. Tiles are loaded in the order of the program, so that with an item of
/// one ring all items before it have a slot; the reader wants it in its first stage, and has by then given back what an
/// iteration has read whose last stage lies before.
void Lowering::deepen_rings() {
  struct Use {
    std::size_t begin = 0, end = 0;  ///< the first and the last of its loads in the body
    int first = INT_MAX, last = 0;   ///< stages that read it
  };
  walk(kernel_.body, [&](const Stmt& stmt) {
    const auto* loop = std::get_if<For>(&stmt.node);
    const plan::LoopPlan* plan = loop == nullptr ? nullptr : schedule_.find(names_.at(&stmt));
    if (plan == nullptr || !overlaps(loop->body)) return;
    std::map<std::size_t, Use> uses;
    for (std::size_t i = 0; i < loop->body.size(); ++i) {
      auto ring = rings_.filled_by_loader(*loop->body[i]);
      if (ring) uses.emplace(*ring, Use{i, i}).first->second.end = i;
    }
    for (const Step& step : steps_of(*loop, *plan)) {
      for (std::size_t ring : rings_.read_by(*step.stmt)) {
        auto use = uses.find(ring);
        if (use == uses.end()) continue;
        use->second.first = std::min(use->second.first, step.stage);
        use->second.last = std::max(use->second.last, step.stage);
      }
    }
    for (const auto& [ring, use] : uses) {
      for (const auto& [other, wanted] : uses) {
        if (wanted.first == INT_MAX) continue;
        rings_.need(ring, use.last - wanted.first + (use.begin <= wanted.end ? 1 : 0));
      }
    }
  });
  for (std::size_t r = 0; r < rings_.all().size(); ++r) {
    const Ring& ring = rings_.all()[r];
    if (ring.depth >= ring.least) continue;
    remarks_.push_back(
        {kernel_.loc, fmt::format("`{}` has {} slots: its tiles are loaded in the order of the program, and "
                                  "read stages behind others",
                                  ring.name, ring.least)});
    rings_.deepen(r, ring.least);
  }
}

/// A let that has a place in the schedule is computed there, once an iteration, and kept for those that use it.
bool Lowering::keep_let(const Stmt& stmt, const plan::LoopPlan& plan) {
  const auto* let = std::get_if<Let>(&stmt.node);
  if (let == nullptr || plan.find(names_.at(&stmt)) == nullptr) return false;
  Var kept = b_.var(fresh(let->var->name), let->var->type, zero_of(let->var->type));
  registers_.insert_or_assign(let->var.get(), kept);
  scalars_.bind(let->var, kept);
  return true;
}

/// The lets of the loop that a step uses, evaluated for the iteration that it belongs to.
void Lowering::lets_for(const Step& step, const std::vector<Step>& list) {
  std::set<const VarDecl*> used;
  auto note = [&](const ExprRef& root) {
    walk(root, [&](const Expr& e) {
      if (const auto* ref = std::get_if<VarRef>(&e.node)) used.insert(ref->var.get());
    });
  };
  for_each_expr(*step.stmt, note);
  for_each_body_of(*step.stmt,
                   [&](const Body& body) { walk(body, [&](const Stmt& inner) { for_each_expr(inner, note); }); });
  std::vector<const Let*> needed;
  for (auto it = list.rbegin(); it != list.rend(); ++it) {
    const auto* node = std::get_if<Let>(&it->stmt->node);
    if (node == nullptr || !used.contains(node->var.get()) || registers_.contains(node->var.get())) continue;
    note(node->value);
    needed.push_back(node);
  }
  for (auto it = needed.rbegin(); it != needed.rend(); ++it) let(**it);
}

}  // namespace plait::pipeline
