#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "machine/places.h"
#include "plan/limits.h"
#include "plan/line.h"
#include "plan/schedule.h"

namespace plait::plan {
namespace {

using Json = nlohmann::ordered_json;

// ---- Writing -------------------------------------------------------------------------------------------------------

std::string name_text(const StmtName& name) { return graph::text_of(name); }

Json to_json(const Work& work) {
  Json j;
  j["kind"] = name_of(work.kind);
  j["order"] = name_of(work.order);
  if (work.order == TileOrder::grouped) j["group"] = work.group;
  j["cluster"] = {work.cluster_x, work.cluster_y};
  j["heads"] = work.heads;
  j["split_k"] = work.split_k;
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

Json to_json(const Ring& ring) { return {{"buffers", ring.buffers}, {"depth", ring.depth}}; }
Json to_json(const Versions& v) { return {{"buffer", v.buffer}, {"count", v.count}}; }
Json to_json(const Token& t) { return {{"from", name_text(t.from)}, {"to", name_text(t.to)}}; }

Json to_json(const LoopPlan& plan);

template <typename T>
Json list_of(const std::vector<T>& values) {
  Json list = Json::array();
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

// ---- Reading -------------------------------------------------------------------------------------------------------

constexpr std::int64_t kMost = std::int64_t{1} << 40;

/// The text that is read.
struct Text {
  const machine::JsonPlaces& places;
  Diagnostics& diags;
  std::string schedule;  ///< path of the schedule in the text
};

/// One value of the text with the path that leads to it. What is wrong is reported at its place, by that path; readers
/// give defaults then.
class Value {
 public:
  Value(const Json* json, std::string path, const Text& text) : json_(json), path_(std::move(path)), text_(&text) {}

  At at() const { return {text_->places.find(in_text(path_))}; }

  bool has(const char* key) const { return json_ != nullptr && json_->is_object() && json_->contains(key); }

  Value operator[](const char* key) const {
    std::string path = path_.empty() ? key : path_ + "." + key;
    if (has(key)) return with(&(*json_)[key], std::move(path));
    if (json_ != nullptr) error(path, "is missing");
    return with(nullptr, std::move(path));
  }

  /// An object with no keys but these.
  void only(std::initializer_list<std::string_view> keys) const {
    if (json_ == nullptr) return;
    if (!json_->is_object()) return error(path_.empty() ? "the text" : path_, "is no object");
    for (const auto& [key, value] : json_->items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      std::string path = path_.empty() ? key : path_ + "." + key;
      text_->diags.error(Rule::schedule_json, text_->places.find_key(in_text(path)),
                         path + " is no field of a schedule");
    }
  }

  std::string text() const {
    if (json_ == nullptr) return {};
    if (json_->is_string()) return json_->get<std::string>();
    error(path_, "is no string");
    return {};
  }

  /// Text that the text form can hold too.
  std::string word() const {
    std::string found = text();
    if (json_ != nullptr && json_->is_string() && !is_name(found)) error(path_, fmt::format("'{}' is no name", found));
    return found;
  }

  /// The name of a machine model.
  std::string device() const {
    std::string found = text();
    if (json_ != nullptr && json_->is_string() && !is_device_name(found))
      error(path_, fmt::format("'{}' is no device", found));
    return found;
  }

  std::int64_t integer(std::int64_t least, std::int64_t most) const {
    if (json_ == nullptr) return least;
    bool good = json_->is_number_integer();
    if (good && json_->is_number_unsigned()) good = json_->get<std::uint64_t>() <= static_cast<std::uint64_t>(kMost);
    std::int64_t value = good ? json_->get<std::int64_t>() : least;
    if (good && value >= least && value <= most) return value;
    error(path_, fmt::format("is {}, no integer from {} to {}", shown(), least, most));
    return least;
  }
  int count() const { return static_cast<int>(integer(1, kMostCount)); }
  int any_int() const { return static_cast<int>(integer(-kMostCount, kMostCount)); }

  bool boolean() const {
    if (json_ == nullptr) return false;
    if (json_->is_boolean()) return json_->get<bool>();
    error(path_, "is neither true nor false");
    return false;
  }

  template <typename E>
  E one_of(std::initializer_list<E> all) const {
    std::string found = text();
    std::string names;
    for (E value : all) {
      if (name_of(value) == found) return value;
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(value));
    }
    if (json_ != nullptr && json_->is_string()) error(path_, fmt::format("is '{}', not one of {}", found, names));
    return *all.begin();
  }

  machine::UnitKind unit() const {
    std::string found = text();
#define PLAIT_UNIT(id, unit, what) \
  if (found == machine::name_of(machine::UnitKind::id)) return machine::UnitKind::id;
#include "machine/kinds.def"
#undef PLAIT_UNIT
    if (json_ != nullptr && json_->is_string()) error(path_, fmt::format("'{}' is no unit of a machine", found));
    return machine::UnitKind::cuda;
  }

  /// kind@line or kind@line#2
  StmtName statement() const {
    std::string found = text();
    std::size_t at = found.find('@'), hash = found.find('#');
    StmtName name;
    name.kind = found.substr(0, at);
    auto number = [](const std::string& digits) {
      bool good = !digits.empty() && digits.size() < 9 &&
                  std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
      return good ? std::stoi(digits) : 0;
    };
    if (at != std::string::npos)
      name.line = number(found.substr(at + 1, hash == std::string::npos ? hash : hash - at - 1));
    if (hash != std::string::npos) name.nth = number(found.substr(hash + 1));
    bool good = is_name(name.kind) && name.line > 0 && name.nth > 0 && graph::text_of(name) == found;
    if (json_ != nullptr && json_->is_string() && !good)
      error(path_, fmt::format("'{}' names no statement", found), "write kind@line, e.g. copy@12");
    return name;
  }

  template <typename F>
  auto each(const F& read) const {
    std::vector<decltype(read(*this))> out;
    if (json_ == nullptr) return out;
    if (!json_->is_array()) {
      error(path_, "is no list");
      return out;
    }
    for (std::size_t i = 0; i < json_->size() && text_->diags.list().size() < kMostErrors; ++i)
      out.push_back(read(with(&(*json_)[i], fmt::format("{}[{}]", path_, i))));
    return out;
  }

 private:
  Value with(const Json* json, std::string path) const { return {json, std::move(path), *text_}; }
  std::string in_text(const std::string& path) const {
    return text_->schedule + (text_->schedule.empty() || path.empty() ? "" : ".") + path;
  }
  void error(const std::string& what, const std::string& message, std::string fix = {}) const {
    text_->diags.error(Rule::schedule_json, text_->places.find(in_text(what)), fmt::format("{} {}", what, message),
                       std::move(fix));
  }
  std::string shown() const {
    std::string text = json_->dump(-1, ' ', false, Json::error_handler_t::replace);
    constexpr std::size_t kLongest = 40;
    return text.size() <= kLongest ? text : text.substr(0, kLongest) + "…";
  }

  const Json* json_;
  std::string path_;
  const Text* text_;
};

Work read_work(const Value& j) {
  using enum WorkKind;
  using enum TileOrder;
  j.only({"kind", "order", "group", "cluster", "heads", "split_k"});
  Work work;
  work.at = j.at();
  work.kind = j["kind"].one_of({plain, persistent, dynamic, stream_k});
  work.order = j["order"].one_of({rows, grouped, hilbert, longest_first, paired});
  if (work.order == grouped) work.group = j["group"].count();
  std::vector<int> cluster = j["cluster"].each([](const Value& v) { return v.count(); });
  if (cluster.size() == 2) {
    work.cluster_x = cluster[0];
    work.cluster_y = cluster[1];
  }
  work.heads = j["heads"].count();
  work.split_k = j["split_k"].count();
  return work;
}

Role read_role(const Value& j) {
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

Atom read_atom(const Value& j) {
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

Staging read_staging(const Value& j) {
  j.only({"buffer", "via", "bytes"});
  Staging staging;
  staging.at = j.at();
  staging.buffer = j["buffer"].word();
  staging.via = j["via"].one_of({StoreVia::tma, StoreVia::vector, StoreVia::direct});
  if (staging.via != StoreVia::direct) staging.bytes = j["bytes"].integer(1, kMost);
  return staging;
}

Slot read_slot(const Value& j) {
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

Ring read_ring(const Value& j) {
  j.only({"buffers", "depth"});
  return {j["buffers"].each([](const Value& v) { return v.word(); }), j["depth"].any_int(), j.at()};
}

Versions read_versions(const Value& j) {
  j.only({"buffer", "count"});
  return {j["buffer"].word(), j["count"].any_int(), j.at()};
}

Token read_token(const Value& j) {
  j.only({"from", "to"});
  return {j["from"].statement(), j["to"].statement(), j.at()};
}

LoopPlan read_loop(const Value& j) {
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

Place read_place(const Value& j) {
  j.only({"work", "roles", "atoms", "stagings"});
  return {read_work(j["work"]), j["roles"].each(read_role), j["atoms"].each(read_atom),
          j["stagings"].each(read_staging)};
}

}  // namespace

std::string to_json(const Schedule& schedule) {
  Json j;
  j["kernel"] = schedule.kernel;
  j["device"] = schedule.device;
  j["place"]["work"] = to_json(schedule.place.work);
  j["place"]["roles"] = list_of(schedule.place.roles);
  j["place"]["atoms"] = list_of(schedule.place.atoms);
  j["place"]["stagings"] = list_of(schedule.place.stagings);
  j["loops"] = list_of(schedule.loops);
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Schedule> parse_json(const SourceRef& json) {
  PLAIT_ASSERT(json != nullptr, "parse_json() without a source");
  Diagnostics diags;
  Loc file;
  file.source = json;
  if (json->text().size() > kMostText) {
    diags.error(Rule::schedule_json, file, "the text is longer than 4 MiB, as no schedule is");
    return diags;
  }
  Json parsed;
  try {
    parsed = Json::parse(json->text());
  } catch (const Json::parse_error& e) {
    std::size_t at = e.byte > 0 ? e.byte - 1 : 0;
    diags.error(Rule::schedule_json, machine::JsonPlaces::at(json, at),
                machine::JsonPlaces::fault(json->text(), at, "schedule"));
    return diags;
  } catch (const Json::exception&) {
    diags.error(Rule::schedule_json, file, "the text holds a number that is too large");
    return diags;
  }
  machine::JsonPlaces places(json, diags, {Rule::schedule_json, Rule::schedule_json});
  if (diags.has_errors()) return diags;
  // What `plait schedule --json` prints has the schedule among other things.
  bool inside = parsed.is_object() && parsed.contains("schedule") && parsed["schedule"].is_object();
  Text text{places, diags, inside ? "schedule" : ""};
  Value root(inside ? &parsed["schedule"] : &parsed, "", text);
  root.only({"kernel", "device", "place", "loops"});
  Schedule schedule;
  schedule.at = root.at();
  schedule.kernel = root["kernel"].word();
  schedule.device = root["device"].device();
  schedule.place = read_place(root["place"]);
  schedule.loops = root["loops"].each(read_loop);
  if (diags.has_errors()) return diags;
  return schedule;
}

}  // namespace plait::plan
