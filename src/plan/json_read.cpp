#include "plan/json_value.h"
#include "plan/limits.h"

namespace plait::plan {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;

Work read_work(const JsonValue& j) {
  using enum WorkKind;
  using enum TileOrder;
  j.only({"kind", "order", "group", "cluster", "heads", "split_k", "occupancy"});
  Work work;
  work.at = j.at();
  work.kind = j["kind"].one_of({plain, persistent, dynamic, stream_k});
  work.order = j["order"].one_of({rows, grouped, hilbert, longest_first, paired});
  if (work.order == grouped) work.group = j["group"].count();
  std::vector<int> cluster = j["cluster"].each([](const JsonValue& v) { return v.count(); });
  if (cluster.size() == 2) {
    work.cluster_x = cluster[0];
    work.cluster_y = cluster[1];
  }
  work.heads = j["heads"].count();
  work.split_k = j["split_k"].count();
  if (j.has("occupancy")) work.occupancy = j["occupancy"].count();
  return work;
}

Role read_role(const JsonValue& j) {
  j.only({"name", "warps", "replicas", "over", "regs"});
  Role role;
  role.at = j.at();
  role.name = j["name"].word();
  role.warps = j["warps"].count();
  role.replicas = j["replicas"].count();
  Axis over = j["over"].one_of({Axis::rows, Axis::columns});
  if (role.replicas > 1) role.over = over;
  if (j.has("regs")) role.regs = j["regs"].count();
  return role;
}

Atom read_atom(const JsonValue& j) {
  using enum Instruction;
  j.only({"stmt", "instruction", "m", "n", "k", "a", "b", "swapped"});
  Atom atom;
  atom.at = j.at();
  atom.stmt = j["stmt"].statement();
  atom.instruction = j["instruction"].one_of({wgmma, mma, fma, tma, cp_async, vector, scalar});
  if (!has_shape(atom.instruction)) return atom;
  atom.m = j["m"].count();
  atom.n = j["n"].count();
  atom.k = j["k"].count();
  atom.a = j["a"].one_of({Operand::shared, Operand::registers});
  atom.b = j["b"].one_of({Operand::shared, Operand::registers});
  atom.swapped = j["swapped"].boolean();
  return atom;
}

Staging read_staging(const JsonValue& j) {
  j.only({"buffer", "via", "bytes"});
  Staging staging;
  staging.at = j.at();
  staging.buffer = j["buffer"].word();
  staging.via = j["via"].one_of({StoreVia::tma, StoreVia::vector, StoreVia::direct});
  if (staging.via != StoreVia::direct) staging.bytes = j["bytes"].integer(1, kMost);
  return staging;
}

Slot read_slot(const JsonValue& j) {
  j.only({"stmt", "role", "unit", "stage", "order", "in_flight"});
  Slot slot;
  slot.at = j.at();
  slot.stmt = j["stmt"].statement();
  if (j.has("role")) slot.role = j["role"].word();
  slot.unit = j["unit"].unit();
  slot.stage = j["stage"].any_int();
  slot.order = j["order"].any_int();
  slot.in_flight = static_cast<int>(j["in_flight"].integer(0, kMostCount));
  return slot;
}

Ring read_ring(const JsonValue& j) {
  j.only({"buffers", "depth"});
  return {j["buffers"].each([](const JsonValue& v) { return v.word(); }), j["depth"].any_int(), j.at()};
}

Versions read_versions(const JsonValue& j) {
  j.only({"buffer", "count"});
  return {j["buffer"].word(), j["count"].any_int(), j.at()};
}

Token read_token(const JsonValue& j) {
  j.only({"from", "to"});
  return {j["from"].statement(), j["to"].statement(), j.at()};
}

LoopPlan read_loop(const JsonValue& j) {
  j.only({"loop", "planner", "ii", "slots", "rings", "versions", "tokens"});
  LoopPlan plan;
  plan.at = j.at();
  plan.loop = j["loop"].statement();
  plan.planner = j["planner"].word();
  if (j.has("ii")) plan.ii = j["ii"].integer(0, kMost);
  plan.slots = j["slots"].each(read_slot);
  plan.rings = j["rings"].each(read_ring);
  plan.versions = j["versions"].each(read_versions);
  plan.tokens = j["tokens"].each(read_token);
  return plan;
}

RegionPlan read_region(const JsonValue& j) {
  j.only({"region", "planner", "makespan", "order"});
  RegionPlan plan;
  plan.at = j.at();
  plan.region = j["region"].statement();
  plan.planner = j["planner"].word();
  if (j.has("makespan")) plan.makespan = j["makespan"].integer(0, kMost);
  plan.order = j["order"].each([](const JsonValue& v) { return RegionPlan::Entry{v.statement(), v.at()}; });
  return plan;
}

Place read_place(const JsonValue& j) {
  j.only({"work", "roles", "atoms", "stagings"});
  return {read_work(j["work"]), j["roles"].each(read_role), j["atoms"].each(read_atom),
          j["stagings"].each(read_staging)};
}

}  // namespace

Result<Schedule> parse_json(const SourceRef& json) {
  PLAIT_ASSERT(json != nullptr, "parse_json() without a source");
  Diagnostics diags;
  Loc file;
  file.source = json;
  if (json->text().size() > kMostText) {
    diags.error(Rule::schedule_json, file, "the text is longer than 4 MiB, as no schedule is");
    return diags;
  }
  auto parsed = Json::parse(json->text());
  if (const auto* fault = std::get_if<Json::Fault>(&parsed)) {
    if (fault->large_number) {
      diags.error(Rule::schedule_json, file, "the text holds a number that is too large");
    } else {
      diags.error(Rule::schedule_json, machine::JsonPlaces::at(json, fault->at),
                  machine::JsonPlaces::fault(json->text(), fault->at, "schedule"));
    }
    return diags;
  }
  machine::JsonPlaces places(json, diags, {Rule::schedule_json, Rule::schedule_json});
  if (diags.has_errors()) return diags;
  // What `plait schedule --json` prints has the schedule among other things.
  const Json& whole = std::get<Json>(parsed);
  const Json* schedule_part = whole.find("schedule");
  bool inside = schedule_part != nullptr && schedule_part->object() != nullptr;
  JsonSource source{places, diags, inside ? "schedule" : ""};
  JsonValue root(inside ? schedule_part : &whole, "", source);
  root.only({"kernel", "device", "place", "loops", "regions"});
  Schedule schedule;
  schedule.at = root.at();
  schedule.kernel = root["kernel"].word();
  schedule.device = root["device"].device();
  schedule.place = read_place(root["place"]);
  schedule.loops = root["loops"].each(read_loop);
  if (root.has("regions")) schedule.regions = root["regions"].each(read_region);
  if (diags.has_errors()) return diags;
  return schedule;
}

}  // namespace plait::plan
