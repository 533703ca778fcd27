#include "pipeline/derive.h"

#include <algorithm>

#include "analysis/expr_util.h"
#include "ir/visit.h"
#include "pipeline/clusters.h"
#include "pipeline/rings.h"
#include "pipeline/unread.h"
#include "place/swap.h"
#include "plan/check.h"
#include "plan/rules.h"

namespace plait::pipeline {

using namespace ir;

namespace {

/// Rows of tiles that are walked together, so that their operands stay in L2.
constexpr int kGroup = 8;

/// Whether a block's coordinates, or a let that may come from them, are part of the expression.
bool uses(const ExprRef& expr) {
  return analysis::any_of_tree(expr, [](const Expr& e) {
    const auto* ref = std::get_if<VarRef>(&e.node);
    return ref != nullptr && (ref->var->kind == VarKind::grid || ref->var->kind == VarKind::let);
  });
}

/// Blocks that stay and take tile after tile pay where loading ahead goes on over the end of a tile, and where all
/// tiles cost the same.
plan::Work default_work(const Kernel& kernel) {
  plan::Work work;
  bool loads_ahead = false, even = true;
  walk(kernel.body, [&](const Stmt& stmt) {
    const auto* loop = std::get_if<For>(&stmt.node);
    if (loop == nullptr || loop->kind != LoopKind::pipelined) return;
    loads_ahead = true;
    even = even && !uses(loop->axes.front().begin) && !uses(loop->axes.front().end);
  });
  if (!loads_ahead || !even) return work;
  work.kind = plan::WorkKind::persistent;
  if (kernel.grid.size() > 1) {
    work.order = plan::TileOrder::grouped;
    work.group = kGroup;
  }
  return work;
}

/// What a schedule says of the partition is placement's input.
place::Wishes wishes_of(const plan::Schedule& schedule) {
  place::Wishes wishes;
  for (const plan::Role& role : schedule.place.roles) {
    if (role.name == "math") wishes.replicas = role.replicas;
  }
  return wishes;
}

using Renamed = std::map<std::string, graph::StmtName>;

/// Pairs the statements of two bodies, of which one was made of the other statement by statement.
void for_each_pair(const Body& written, const Body& made, const std::function<void(const Stmt&, const Stmt&)>& fn) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    const Stmt &a = *written[i], &b = *made[i];
    fn(a, b);
    std::vector<const Body*> inner, other;
    for_each_body_of(a, [&](const Body& body) { inner.push_back(&body); });
    for_each_body_of(b, [&](const Body& body) { other.push_back(&body); });
    if (inner.size() != other.size()) continue;  // a copy became a nest
    for (std::size_t n = 0; n < inner.size(); ++n) for_each_pair(*inner[n], *other[n], fn);
  }
}

/// The schedule of the kernel as it was written, with the names that its statements have where products are swapped.
plan::Schedule renamed(plan::Schedule schedule, const Kernel& written, const Kernel& made) {
  if (made.body == written.body) return schedule;
  graph::Names before = graph::name_statements(written), after = graph::name_statements(made);
  Renamed names;
  for_each_pair(written.body, made.body,
                [&](const Stmt& a, const Stmt& b) { names[graph::text_of(before.at(&a))] = after.at(&b); });
  auto rename = [&](graph::StmtName& name) {
    auto found = names.find(graph::text_of(name));
    if (found != names.end()) name = found->second;
  };
  for (plan::Atom& atom : schedule.place.atoms) rename(atom.stmt);
  for (plan::LoopPlan& loop : schedule.loops) {
    rename(loop.loop);
    for (plan::Slot& slot : loop.slots) rename(slot.stmt);
    for (plan::Token& token : loop.tokens) {
      rename(token.from);
      rename(token.to);
    }
  }
  return schedule;
}

}  // namespace

Result<Derived> derive(const Kernel& written, const machine::Device& device, const DeriveOptions& options) {
  // What no other schedule helps with comes first.
  if (Diagnostics missing = place::missing_features(written, device); missing.has_errors()) return missing;
  Derived derived;
  Kernel kernel = place::swap_products(written, derived.remarks);
  if (options.schedule) {
    derived.schedule = *options.schedule;
    auto check = [&](const auto& graphs) { return plan::check(derived.schedule, written, graphs, device); };
    Diagnostics found = options.graphs != nullptr ? check(*options.graphs) : check(graph::build(written));
    if (found.has_errors()) return found;
  } else {
    auto plan = plan::plan_by_rules(written, device);
    if (!plan) return plan.diagnostics();
    derived.schedule = std::move(plan->schedule);
    derived.schedule.place.work = default_work(written);
    for (const Note& note : plan->reasons) derived.remarks.push_back({note.loc, note.message});
  }
  plan::Schedule schedule = renamed(derived.schedule, written, kernel);
  // Behind the schedule, which may name them.
  kernel = without_unread_loads(kernel, derived.remarks);
  place::Wishes wishes = wishes_of(schedule);
  auto placed = place::place(kernel, device, options.assumptions, wishes);
  while (placed) {
    auto in_order = loads_in_order(*placed, schedule);
    if (in_order.empty()) break;
    wishes.in_order.merge(in_order);
    placed = place::place(kernel, device, options.assumptions, wishes);
  }
  if (!placed) return placed.diagnostics();
  if (!options.schedule) {
    plan::Work& work = derived.schedule.place.work;
    Cluster cluster = worthwhile_cluster(*placed, work);
    (cluster.axis == 0 ? work.cluster_x : work.cluster_y) = cluster.blocks;
    schedule.place.work = work;
  }
  derived.remarks.insert(derived.remarks.end(), placed->remarks.begin(), placed->remarks.end());
  auto program = lower(*placed, schedule, &derived.remarks);
  if (!program) return program.diagnostics();
  derived.program = std::move(*program);
  return derived;
}

}  // namespace plait::pipeline
