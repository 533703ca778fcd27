#include "pipeline/derive.h"

#include "pipeline/clusters.h"
#include "pipeline/default_work.h"
#include "pipeline/instructions.h"
#include "pipeline/renamed.h"
#include "pipeline/unread.h"
#include "place/swap.h"
#include "plan/check.h"
#include "plan/rules.h"

namespace plait::pipeline {

using namespace ir;

namespace {

/// What a schedule says of the partition is placement's input.
place::Wishes wishes_of(const plan::Schedule& schedule) {
  place::Wishes wishes;
  for (const plan::Role& role : schedule.place.roles) {
    if (role.name == "math") wishes.replicas = role.replicas;
  }
  return wishes;
}

/// Says in the schedule which instruction each product and each copy of the kernel becomes.
void name_instructions(plan::Schedule& schedule, const Kernel& written, const place::Placed& placed) {
  std::set<std::string> known;
  for (const auto& [stmt, name] : graph::name_statements(written)) {
    if (std::holds_alternative<TileOp>(stmt->node)) known.insert(graph::text_of(name));
  }
  for (plan::Atom& atom : instructions_of(placed)) {
    if (known.contains(graph::text_of(atom.stmt))) schedule.place.atoms.push_back(std::move(atom));
  }
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
    derived.schedule.place.work = default_work(written, device);
    for (const Note& note : plan->reasons) derived.remarks.push_back({note.loc, note.message});
  }
  plan::Schedule schedule = renamed(derived.schedule, written, kernel);
  std::optional<Pieces> pieces;
  if (const plan::Work& work = derived.schedule.place.work; asks_for_pieces(work)) {
    auto split = split_in_pieces(kernel, work);
    if (!split) return split.diagnostics();
    pieces = std::move(*split);
  }
  // Behind the schedule, which may name them.
  kernel = without_unread_loads(kernel, derived.remarks);
  auto placed =
      place_in_order(kernel, device, options.assumptions, wishes_of(schedule), schedule, pieces ? &*pieces : nullptr);
  if (!placed) return placed.diagnostics();
  if (!options.schedule) {
    plan::Work& work = derived.schedule.place.work;
    Cluster cluster = worthwhile_cluster(*placed, work);
    (cluster.axis == 0 ? work.cluster_x : work.cluster_y) = cluster.blocks;
    schedule.place.work = work;
    if (!place::is_hopper(device)) name_instructions(derived.schedule, written, *placed);
  }
  derived.remarks.insert(derived.remarks.end(), placed->remarks.begin(), placed->remarks.end());
  auto program = lower(*placed, schedule, &derived.remarks, pieces ? &*pieces : nullptr);
  if (!program) return program.diagnostics();
  derived.program = std::move(*program);
  return derived;
}

}  // namespace plait::pipeline
