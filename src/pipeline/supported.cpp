#include <fmt/format.h>

#include <algorithm>

#include "graph/row_gather.h"
#include "ir/visit.h"
#include "pipeline/instructions.h"
#include "pipeline/lowering.h"

namespace plait::pipeline {

using namespace ir;

namespace {

std::string instruction_text(const plan::Atom& atom) {
  std::string text(plan::name_of(atom.instruction));
  return plan::has_shape(atom.instruction) ? text + " " + plan::shape_text(atom) : text;
}

}  // namespace

/// Whether all that a schedule asks for is done here; the rest is refused at its line.
bool Lowering::carries_out(const plan::Schedule& schedule) {
  check_work();
  for (const plan::Role& role : schedule.place.roles) {
    if (role.regs && !placed_.device.has(machine::Feature::setmaxnreg))
      refuse_schedule(role.at.loc,
                      fmt::format("registers of a role on {}, which has no setmaxnreg,", placed_.device.name));
    if (role.name == "load" && !place::is_hopper(placed_.device))
      refuse_schedule(role.at.loc,
                      fmt::format("role load ({} has no TMA, so that the role math loads)", placed_.device.name));
    if (role.name != "load" && role.name != "math")
      refuse_schedule(role.at.loc, fmt::format("role {} (the roles are load and math)", role.name));
    const bool as_derived = role.name == "load" && role.warps == load_warps();
    if (role.warps != 4 && !as_derived) refuse_schedule(role.at.loc, fmt::format("a role of {} warps", role.warps));
    if (role.name == "math" && role.replicas != placed_.replicas)
      refuse_schedule(role.at.loc, fmt::format("{} replicas of the role math (the rows of this kernel go to {})",
                                               role.replicas, placed_.replicas));
    if (role.over != plan::Axis::rows) refuse_schedule(role.at.loc, "replicas over columns");
    if (role.name == "load" && role.replicas != 1)
      refuse_schedule(role.at.loc, "several replicas of the role that loads");
  }
  for (const plan::Atom& atom : schedule.place.atoms) {
    std::string own = instruction_of(atom.stmt);
    if (atom.swapped || instruction_text(atom) != own)
      refuse_schedule(atom.at.loc, fmt::format("this instruction of {}{}", graph::text_of(atom.stmt),
                                               own.empty() ? "" : fmt::format(" (it becomes {})", own)));
  }
  for (const plan::Staging& staging : schedule.place.stagings) {
    if (staging.via != plan::StoreVia::tma || !place::is_hopper(placed_.device))
      refuse_schedule(staging.at.loc, "a store other than by TMA");
  }
  for (const plan::LoopPlan& loop : schedule.loops) {
    for (const plan::Slot& slot : loop.slots) check_slot(slot);
    for (const plan::Versions& versions : loop.versions) check_versions(versions);
  }
  walk(kernel_.body, [&](const Stmt& stmt) {
    const auto* loop = std::get_if<For>(&stmt.node);
    const plan::LoopPlan* plan = loop == nullptr ? nullptr : schedule.find(names_.at(&stmt));
    if (plan != nullptr && is_pipelined(*loop, *plan)) check_guards(*loop, *plan);
  });
  return !diags_.has_errors();
}

void Lowering::check_work() {
  const plan::Work& work = schedule_.place.work;
  auto refused = [&](const std::string& what) { refuse_schedule(work.at.loc, what); };
  bool cluster = work.cluster_x * work.cluster_y > 1;
  if (cluster) {
    if (std::string why = cluster_obstacle(placed_, work); !why.empty())
      diags_.error(Rule::place_operation, work.at.loc.known() ? work.at.loc : kernel_.loc,
                   fmt::format("no cluster ({}, {}): {}", work.cluster_x, work.cluster_y, why),
                   "leave the cluster out of the schedule");
  }
  if (work.heads > 1 && work_.axes() == 1) refused("heads over a grid of one axis");
  if (work.order == plan::TileOrder::hilbert && work_.axes() == 1) refused("order hilbert over a grid of one axis");
  if (work.kind == plan::WorkKind::dynamic) {
    if (cluster) refused("work dynamic with a cluster");
    if (rings_.all_own()) refused("work dynamic where no role loads ahead (that role hands out tiles)");
  }
  if (work_.pieces() != nullptr) check_pieces();
}

void Lowering::check_pieces() {
  const plan::Work& work = schedule_.place.work;
  auto refused = [&](const std::string& what) { refuse_schedule(work.at.loc, what); };
  std::string asked = work.split_k > 1 ? "split_k" : "work stream_k";
  if (work.cluster_x * work.cluster_y > 1) refused(asked + " with a cluster");
  if (work.order == plan::TileOrder::paired) refused(asked + " with order paired");
  for (const Buffer& sum : work_.pieces()->sums) {
    if (!placed_.in_registers(sum))
      refused(fmt::format("{} of `{}`, which does not lie in registers,", asked, sum->name));
  }
}

/// What stands under one condition is done together, in one stage, with nothing of the loop in between.
void Lowering::check_guards(const For& loop, const plan::LoopPlan& plan) {
  for (const StmtRef& stmt : loop.body) {
    std::vector<const plan::Slot*> places = places_of(*stmt, plan);
    if (places.size() < 2) continue;
    bool together = std::all_of(places.begin(), places.end(),
                                [&](const plan::Slot* slot) { return slot->stage == places.front()->stage; });
    for (const StmtRef& other : loop.body) {
      if (other == stmt) continue;
      for (const plan::Slot* slot : places_of(*other, plan))
        together = together && (slot->order < places.front()->order || slot->order > places.back()->order);
    }
    if (together) continue;
    const Loc& at = places.front()->at.loc;
    refuse_schedule(at.known() ? at : stmt->loc, "a condition whose statements have places apart");
  }
}

void Lowering::refuse_schedule(const Loc& loc, const std::string& what) {
  diags_.error(Rule::place_operation, loc.known() ? loc : kernel_.loc, what + " has no placement yet",
               "leave it out of the schedule, or write the roles by hand");
}

/// The instruction that a product or a copy becomes, as schedules write it; empty for other statements.
std::string Lowering::instruction_of(const graph::StmtName& name) const {
  for (const plan::Atom& atom : instructions_of(placed_)) {
    if (atom.stmt == name) return instruction_text(atom);
  }
  return {};
}

/// Whether TMA would make the copy if the tensor of the call were aligned: a schedule is for all calls, and remarks
/// tell who does it.
bool Lowering::is_load_by_alignment(const Stmt& stmt) const {
  const Buffer tensor = graph::loaded_tensor(stmt);
  if (!place::is_hopper(placed_.device) || tensor == nullptr) return false;
  const bool ragged = std::holds_alternative<For>(stmt.node) && placed_.assumptions.ragged.contains(tensor->name);
  return ragged || placed_.assumptions.unaligned.contains(tensor->name);
}

/// Copies into rings belong to `load`, everything else to `math`.
void Lowering::check_slot(const plan::Slot& slot) {
  if (slot.role.empty()) return;
  for (const auto& [stmt, name] : names_) {
    if (name != slot.stmt) continue;
    const char* own = rings_.filled_by_loader(*stmt) ? "load" : "math";
    if (slot.role == "load" && is_load_by_alignment(*stmt)) continue;
    if (slot.role != own)
      refuse_schedule(slot.at.loc,
                      fmt::format("{} in role {} (it is done by {})", graph::text_of(slot.stmt), slot.role, own));
  }
}

/// Versions are slots of rings; other buffers have one.
void Lowering::check_versions(const plan::Versions& versions) {
  if (versions.count == 1) return;
  for (const Ring& ring : rings_.all()) {
    auto named = [&](const Buffer& buffer) { return buffer->name == versions.buffer; };
    if (std::any_of(ring.buffers.begin(), ring.buffers.end(), named)) return;
  }
  // Where threads load a tile in program order, a remark tells that it has one version.
  for (const auto& [buffer, home] : placed_.shared) {
    if (buffer->name == versions.buffer) return;
  }
  refuse_schedule(versions.at.loc,
                  fmt::format("{} versions of `{}`, which no load fills,", versions.count, versions.buffer));
}

}  // namespace plait::pipeline
