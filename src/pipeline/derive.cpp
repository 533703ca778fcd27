#include "pipeline/derive.h"

#include <fmt/format.h>

#include "pipeline/clusters.h"
#include "pipeline/default_work.h"
#include "pipeline/instructions.h"
#include "pipeline/measured.h"
#include "pipeline/renamed.h"
#include "pipeline/unread.h"
#include "place/swap.h"
#include "plan/check.h"
#include "plan/ordered.h"
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

bool lacks_memory(const Diagnostics& found) {
  return std::any_of(found.list().begin(), found.list().end(),
                     [](const Diagnostic& d) { return d.rule == Rule::pipeline_capacity; });
}

/// Copies that the threads that compute make ahead where another role makes those of aligned tensors. They need every
/// slot that the schedule gives them, where that role does with fewer.
std::map<const Stmt*, std::string> fetches(const place::Placed& placed) {
  std::map<const Stmt*, std::string> found;
  if (!place::is_hopper(placed.device)) return found;
  for (const auto& [stmt, atom] : placed.atoms) {
    const auto* copy = std::get_if<place::CopyAtom>(&atom);
    if (copy != nullptr && copy->way == place::CopyWay::cp_async_load)
      found[stmt] = "a block has no memory for the slots that its stages take";
  }
  return found;
}

/// `most`: stages, where no schedule is given.
Result<Derived> derive_once(const Kernel& authored, const machine::Device& device, const DeriveOptions& options,
                            std::optional<int> most) {
  // What no other schedule helps with comes first.
  if (Diagnostics missing = place::missing_features(authored, device); missing.has_errors()) return missing;
  Derived derived;
  if (options.schedule) {
    derived.schedule = *options.schedule;
    auto check = [&](const auto& graphs) { return plan::check(derived.schedule, authored, graphs, device); };
    Diagnostics found = options.graphs != nullptr ? check(*options.graphs) : check(graph::build(authored));
    if (found.has_errors()) return found;
  }
  const Kernel written = plan::ordered(authored, derived.schedule);
  Kernel kernel = place::swap_products(written, derived.remarks);
  if (!options.schedule) {
    auto plan = most ? plan::plan_with_at_most(written, device, *most) : plan::plan_by_rules(written, device);
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
  kernel = without_costs(kernel);
  // Behind the schedule, which may name them.
  kernel = without_unread_loads(kernel, derived.remarks);
  const Pieces* parts = pieces ? &*pieces : nullptr;
  place::Wishes wishes = wishes_of(schedule);
  auto placed = place_in_order(kernel, device, options.assumptions, wishes, schedule, parts);
  if (!placed) return placed.diagnostics();
  if (!options.schedule) {
    plan::Work& work = derived.schedule.place.work;
    Cluster cluster = worthwhile_cluster(*placed, work);
    (cluster.axis == 0 ? work.cluster_x : work.cluster_y) = cluster.blocks;
    schedule.place.work = work;
    if (!place::is_hopper(device)) name_instructions(derived.schedule, written, *placed);
  }
  std::vector<place::Remark> lowering;
  auto program = lower(*placed, schedule, &lowering, parts);
  if (!program && lacks_memory(program.diagnostics())) wishes.in_order = fetches(*placed);
  if (!program && !wishes.in_order.empty()) {
    placed = place_in_order(kernel, device, options.assumptions, wishes, schedule, parts);
    if (!placed) return placed.diagnostics();
    lowering.clear();
    program = lower(*placed, schedule, &lowering, parts);
  }
  if (!program) return program.diagnostics();
  for (const auto* remarks : {&placed->remarks, &lowering})
    derived.remarks.insert(derived.remarks.end(), remarks->begin(), remarks->end());
  derived.program = std::move(*program);
  return derived;
}

/// Says how many stages do fit, where there are too many: only who has derived it knows.
Diagnostics with_stages_that_fit(const Diagnostics& found, const Kernel& written, const machine::Device& device,
                                 const DeriveOptions& options) {
  Diagnostics told;
  std::optional<int> fits;
  for (int stages = plan::most_stages(written) - 1; stages >= 0 && !fits; --stages) {
    if (derive_once(written, device, options, stages)) fits = stages;
  }
  for (Diagnostic d : found.list()) {
    bool memory = d.rule == Rule::schedule_memory || d.rule == Rule::pipeline_capacity;
    if (memory && fits) d.fix = fmt::format("use stages={}, the largest that fits; or smaller tiles", *fits);
    told.add(std::move(d));
  }
  return told;
}

}  // namespace

Result<Derived> derive(const Kernel& kernel, const machine::Device& device, const DeriveOptions& options) {
  auto made = derive_once(kernel, device, options, {});
  if (made || options.schedule) return made;
  Rule rule = made.diagnostics().list().front().rule;
  if (rule != Rule::schedule_memory && rule != Rule::pipeline_capacity) return made;
  return with_stages_that_fit(made.diagnostics(), kernel, device, options);
}

}  // namespace plait::pipeline
