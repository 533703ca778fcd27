#include "pipeline/derive.h"

#include <algorithm>

#include "analysis/expr_util.h"
#include "ir/visit.h"
#include "pipeline/clusters.h"
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

}  // namespace

Result<Derived> derive(const Kernel& written, const machine::Device& device, const DeriveOptions& options) {
  // What no other schedule helps with comes first.
  if (Diagnostics missing = place::missing_features(written, device); missing.has_errors()) return missing;
  Derived derived;
  Kernel kernel = place::swap_products(written, derived.remarks);
  if (options.schedule) {
    derived.schedule = *options.schedule;
    auto check = [&](const auto& graphs) { return plan::check(derived.schedule, kernel, graphs, device); };
    Diagnostics found = options.graphs != nullptr ? check(*options.graphs) : check(graph::build(kernel));
    if (found.has_errors()) return found;
  } else {
    auto plan = plan::plan_by_rules(kernel, device);
    if (!plan) return plan.diagnostics();
    derived.schedule = std::move(plan->schedule);
    derived.schedule.place.work = default_work(kernel);
    for (const Note& note : plan->reasons) derived.remarks.push_back({note.loc, note.message});
  }
  // Behind the schedule, which may name them.
  kernel = without_unread_loads(kernel, derived.remarks);
  place::Wishes wishes = wishes_of(derived.schedule);
  auto placed = place::place(kernel, device, options.assumptions, wishes);
  while (placed) {
    auto in_order = loads_in_order(*placed, derived.schedule);
    if (in_order.empty()) break;
    wishes.in_order.merge(in_order);
    placed = place::place(kernel, device, options.assumptions, wishes);
  }
  if (!placed) return placed.diagnostics();
  plan::Work& work = derived.schedule.place.work;
  if (!options.schedule) {
    Cluster cluster = worthwhile_cluster(*placed, work);
    (cluster.axis == 0 ? work.cluster_x : work.cluster_y) = cluster.blocks;
  }
  derived.remarks.insert(derived.remarks.end(), placed->remarks.begin(), placed->remarks.end());
  auto program = lower(*placed, derived.schedule, &derived.remarks);
  if (!program) return program.diagnostics();
  derived.program = std::move(*program);
  return derived;
}

}  // namespace plait::pipeline
