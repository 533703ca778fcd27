#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "npu/lower/lowering.h"
#include "npu/uses.h"

// Loops whose iterations overlap: in turn t the statements of stage s work on iteration t - s.
namespace plait::npu {

using namespace ir;

namespace {

std::vector<const plan::Slot*> slots_of(const Stmt& stmt, const plan::LoopPlan& plan, const graph::Names& names) {
  std::vector<const plan::Slot*> found;
  auto note = [&](const Stmt& s) {
    auto name = names.find(&s);
    const plan::Slot* slot = name == names.end() ? nullptr : plan.find(name->second);
    if (slot != nullptr) found.push_back(slot);
  };
  note(stmt);
  auto inside = [&](const Body& body) { walk(body, note); };
  std::visit(Overload{[&](const For& node) { inside(node.body); }, [&](const While& node) { inside(node.body); },
                      [&](const If& node) {
                        inside(node.then_body);
                        inside(node.else_body);
                      },
                      [&](const Task& node) { inside(node.body); }, [](const auto&) {}},
             stmt.node);
  return found;
}

}  // namespace

/// Whether anything runs other than in the order of the program, iteration by iteration, or in a copy of its own.
bool Lowering::overlaps(const For& loop, const plan::LoopPlan& plan) const {
  auto several = [&](const Buffer& buffer) { return plan.copies(buffer->name) > 1; };
  if (std::any_of(buffers_.begin(), buffers_.end(), several)) return true;
  int order = -1;
  for (const StmtRef& stmt : loop.body) {
    for (const plan::Slot* slot : slots_of(*stmt, plan, stmt_names_)) {
      if (slot->stage != 0 || slot->order < order) return true;
      order = slot->order;
    }
  }
  return false;
}

/// The statements of the body in the order of the schedule. Nothing after an error.
std::optional<std::vector<Lowering::Step>> Lowering::steps_of(const For& loop, const plan::LoopPlan& plan) {
  std::vector<Step> steps;
  for (const StmtRef& stmt : loop.body) {
    std::vector<const plan::Slot*> slots = slots_of(*stmt, plan, stmt_names_);
    if (slots.empty()) continue;
    if (std::holds_alternative<Let>(stmt->node)) {
      refuse(stmt->loc,
             "a let that reads what the loop writes, in a loop whose iterations overlap, has no placement yet",
             "read it where it is used");
      return {};
    }
    auto [least, most] = std::minmax_element(slots.begin(), slots.end(),
                                             [](const auto* a, const auto* b) { return a->order < b->order; });
    bool together = (*most)->order - (*least)->order + 1 == static_cast<int>(slots.size());
    for (const plan::Slot* slot : slots) together = together && slot->stage == slots.front()->stage;
    if (!together) {
      refuse(stmt->loc, "statements of one condition in several stages have no placement yet",
             "give them one stage, one behind the other");
      return {};
    }
    steps.push_back({stmt, slots.front()->stage, (*least)->order});
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.order < b.order; });
  return steps;
}

/// The lets of the loop that a statement uses, by way of others too.
void Lowering::lets_for(const Stmt& stmt, const Body& body) {
  std::set<const VarDecl*> used;
  auto note = [&](const ExprRef& root) {
    walk(root, [&](const Expr& e) {
      if (const auto* ref = std::get_if<VarRef>(&e.node)) used.insert(ref->var.get());
    });
  };
  walk(Body{std::make_shared<const Stmt>(stmt)}, [&](const Stmt& inner) { for_each_expr(inner, note); });
  std::vector<const Let*> needed;
  for (auto it = body.rbegin(); it != body.rend(); ++it) {
    const auto* node = std::get_if<Let>(&(*it)->node);
    if (node == nullptr || !used.contains(node->var.get())) continue;
    note(node->value);
    needed.push_back(node);
  }
  for (auto it = needed.rbegin(); it != needed.rend(); ++it) let(**it);
}

/// The steps that the core has a part in, in their order. Who takes and gives back is told by the order within an
/// iteration.
std::vector<Lowering::Group> Lowering::groups_of(const std::vector<Step>& steps) const {
  std::vector<Step> of_iteration = steps;
  std::stable_sort(of_iteration.begin(), of_iteration.end(), [](const Step& a, const Step& b) {
    return a.stage != b.stage ? a.stage < b.stage : a.order < b.order;
  });
  std::vector<StmtRef> list;
  for (const Step& step : of_iteration) list.push_back(step.stmt);
  std::vector<Ends> ends = ends_of(list);
  std::vector<Group> groups;
  for (const Step& step : steps) {
    const Ends& own = ends[static_cast<std::size_t>(std::find(list.begin(), list.end(), step.stmt) - list.begin())];
    bool idle = !has_part(*step.stmt, core_, homes_) && own.receive.empty() && own.release.empty();
    if (idle) continue;
    if (groups.empty() || groups.back().stage != step.stage) groups.push_back({step.stage, {}});
    groups.back().steps.emplace_back(step, own);
  }
  return groups;
}

/// The statements of a group, of one iteration.
void Lowering::turn(const For& loop, const plan::LoopPlan& plan, const Group& group, const Value& iteration) {
  Scalars::Scope scope(scalars_);  // names stay taken: no body is opened here
  const LoopAxis& axis = loop.axes.front();
  bool plain = as_int(axis.begin) == 0 && as_int(axis.step) == 1;
  Value number = b_.let(fresh("i"), iteration);
  Value own = plain ? number : scalars_.index(axis.begin) + number * scalars_.index(axis.step);
  scalars_.bind(axis.var, b_.let(fresh(axis.var->name), own));
  scalars_.add_loop(loop);
  auto ahead = ahead_;
  auto slots = slot_;
  for (std::size_t m = 0; m < mail_.size(); ++m) {
    auto is_writer = [&](const StmtRef& stmt) { return stmt.get() == mail_[m].writer; };
    if (std::any_of(loop.body.begin(), loop.body.end(), is_writer)) ahead_.insert_or_assign(m, number);
  }
  for (const Buffer& buffer : buffers_) {
    int copies = plan.copies(buffer->name);
    if (copies > 1 && tiles_.contains(buffer.get())) slot_.insert_or_assign(buffer.get(), number % copies);
  }
  for (const auto& [step, ends] : group.steps) {
    Scalars::Scope own_lets(scalars_);
    lets_for(*step.stmt, loop.body);
    receive(ends);
    statement(step.stmt);
    release(ends, false);
  }
  ahead_ = std::move(ahead);
  slot_ = std::move(slots);
}

void Lowering::pipelined_loop(const For& loop, const plan::LoopPlan& plan) {
  auto steps = steps_of(loop, plan);
  if (!steps) return;
  const LoopAxis& axis = loop.axes.front();
  Value begin = scalars_.index(axis.begin), end = scalars_.index(axis.end), by = scalars_.index(axis.step);
  bool plain = as_int(axis.begin) == 0 && as_int(axis.step) == 1;
  Value turns = plain ? end : ceildiv(end - begin, by);
  if (!plain || !scalars_.is_least(axis.end, 0)) turns = max(turns, 0);
  Value trips = b_.let(fresh(axis.var->name + "_trips"), turns);
  if (reads_memory(axis.begin) || reads_memory(axis.end) || reads_memory(axis.step)) b_.add(roles::SyncWarp{});
  std::vector<Group> groups = groups_of(*steps);
  int last = 0;
  for (const Step& step : *steps) last = std::max(last, step.stage);
  b_.loop(fresh("turn"), {0, last == 0 ? trips : trips + last}, [&](const Value& turn) {
    BodyScope scope(*this);
    for (const Group& group : groups) {
      const int stage = group.stage;
      auto emit = [&] { this->turn(loop, plan, group, stage == 0 ? turn : turn - stage); };
      if (last == 0) {
        emit();
        continue;
      }
      Value live = stage == last ? turn >= stage : stage == 0 ? turn < trips : turn < trips + stage;
      if (stage > 0 && stage < last) live = turn >= stage && live;
      b_.if_(live, [&] {
        BodyScope inner(*this);
        emit();
      });
    }
  });
  for (std::size_t m = 0; m < mail_.size(); ++m) {
    auto is_writer = [&](const StmtRef& stmt) { return stmt.get() == mail_[m].writer; };
    if (std::any_of(loop.body.begin(), loop.body.end(), is_writer)) count(m, roles::build::cast(DType::u32, trips));
  }
}

}  // namespace plait::npu
