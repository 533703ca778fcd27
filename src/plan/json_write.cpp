#include "plan/schedule.h"
#include "support/json.h"

namespace plait::plan {
namespace {

std::string name_text(const StmtName& name) { return graph::text_of(name); }

Json to_json(const Work& work) {
  Json j;
  j["kind"] = name_of(work.kind);
  j["order"] = name_of(work.order);
  if (work.order == TileOrder::grouped) j["group"] = work.group;
  j["cluster"] = Json::List{work.cluster_x, work.cluster_y};
  j["heads"] = work.heads;
  j["split_k"] = work.split_k;
  j["occupancy"] = work.occupancy;
  return j;
}

Json to_json(const Role& role) {
  Json j;
  j["name"] = role.name;
  j["warps"] = role.warps;
  j["replicas"] = role.replicas;
  j["over"] = name_of(role.over);
  if (role.regs) j["regs"] = *role.regs;
  return j;
}

Json to_json(const Atom& atom) {
  Json j;
  j["stmt"] = name_text(atom.stmt);
  j["instruction"] = name_of(atom.instruction);
  if (!has_shape(atom.instruction)) return j;
  j["m"] = atom.m;
  j["n"] = atom.n;
  j["k"] = atom.k;
  j["a"] = name_of(atom.a);
  j["b"] = name_of(atom.b);
  j["swapped"] = atom.swapped;
  return j;
}

Json to_json(const Staging& staging) {
  Json j;
  j["buffer"] = staging.buffer;
  j["via"] = name_of(staging.via);
  if (staging.via != StoreVia::direct) j["bytes"] = staging.bytes;
  return j;
}

Json to_json(const Slot& slot) {
  Json j;
  j["stmt"] = name_text(slot.stmt);
  if (!slot.role.empty()) j["role"] = slot.role;
  j["unit"] = machine::name_of(slot.unit);
  j["stage"] = slot.stage;
  j["order"] = slot.order;
  j["in_flight"] = slot.in_flight;
  return j;
}

Json to_json(const Ring& ring) {
  Json j;
  j["buffers"] = ring.buffers;
  j["depth"] = ring.depth;
  return j;
}

Json to_json(const Versions& v) {
  Json j;
  j["buffer"] = v.buffer;
  j["count"] = v.count;
  return j;
}

Json to_json(const Token& t) {
  Json j;
  j["from"] = name_text(t.from);
  j["to"] = name_text(t.to);
  return j;
}

Json to_json(const LoopPlan& plan);
Json to_json(const RegionPlan::Entry& entry);
Json to_json(const RegionPlan& plan);

template <typename T>
Json list_of(const std::vector<T>& values) {
  Json::List list;
  for (const T& value : values) list.push_back(to_json(value));
  return list;
}

Json to_json(const LoopPlan& plan) {
  Json j;
  j["loop"] = name_text(plan.loop);
  j["planner"] = plan.planner;
  if (plan.ii) j["ii"] = *plan.ii;
  j["slots"] = list_of(plan.slots);
  j["rings"] = list_of(plan.rings);
  j["versions"] = list_of(plan.versions);
  j["tokens"] = list_of(plan.tokens);
  return j;
}

Json to_json(const RegionPlan::Entry& entry) { return name_text(entry.stmt); }

Json to_json(const RegionPlan& plan) {
  Json j;
  j["region"] = name_text(plan.region);
  j["planner"] = plan.planner;
  if (plan.makespan) j["makespan"] = *plan.makespan;
  j["order"] = list_of(plan.order);
  return j;
}

}  // namespace

std::string to_json(const Schedule& schedule) {
  Json j, place;
  j["kernel"] = schedule.kernel;
  j["device"] = schedule.device;
  place["work"] = to_json(schedule.place.work);
  place["roles"] = list_of(schedule.place.roles);
  place["atoms"] = list_of(schedule.place.atoms);
  place["stagings"] = list_of(schedule.place.stagings);
  j["place"] = std::move(place);
  j["loops"] = list_of(schedule.loops);
  if (!schedule.regions.empty()) j["regions"] = list_of(schedule.regions);
  return j.dump(2) + "\n";
}

}  // namespace plait::plan
