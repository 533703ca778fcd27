#include "machine/load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "machine/check.h"
#include "machine/places.h"

namespace plait::machine {
namespace {

using Json = nlohmann::json;

/// What a figure of a field may be.
struct Domain {
  std::string unit;
  double least = 0, most = 1e9;
  bool whole = false;
  bool above_least = false;  ///< least itself is refused
};
Domain latency() { return {"cycles", 1}; }
Domain interval() { return {"cycles", 0, 1e9, false, true}; }
Domain rate(std::string_view unit) { return {std::string(unit), 0, 1e9, false, true}; }
Domain cycles() { return {"cycles", 0}; }
Domain bytes() { return {"bytes", 1, 1125899906842624.0, true}; }

/// Reads a JSON value field by field; what is wrong is reported at its place and read as if it were right.
class Reader {
 public:
  Reader(const JsonPlaces& places, Diagnostics& diagnostics) : places_(places), diagnostics_(diagnostics) {}

  Device device(const Json& json);

 private:
  void wrong(Rule rule, const std::string& path, const std::string& message, const std::string& fix = {}) {
    diagnostics_.error(rule, places_.find(path), message, fix);
  }
  /// An object with these fields and no others; null and a report where it is none.
  const Json* object(const Json& json, const std::string& path, const std::vector<std::string>& fields);
  /// The member of an object; null and a report where it is missing.
  const Json* member(const Json& json, const std::string& path, const std::string& field);
  std::string text(const Json& parent, const std::string& path, const std::string& field);
  Figure figure(const Json& parent, const std::string& path, const std::string& field, const Domain& domain);
  double number(const Json& json, const std::string& path, const Domain& domain);
  void check_number(double value, const std::string& path, const Domain& domain);
  std::string source(const Json& json, const std::string& path);

  Target target(const Json& json);
  std::vector<Feature> features(const Json& json);
  Limits limits(const Json& json);
  std::vector<Memory> memories(const Json& json);
  std::vector<Unit> units(const Json& json);
  std::vector<Unit::Rate> rates(const Json& json, const std::string& path, std::string_view unit);
  std::vector<Cost> costs(const Json& json);
  Cost cost(const Json& json, const std::string& path);
  template <typename Kind>
  Kind kind(const Json& parent, const std::string& path, const std::string& field, int count, std::string_view what);
  std::vector<Transfer> transfers(const Json& json);
  Transfer transfer(const Json& json, const std::string& path);
  CubeCost cube_cost(const Json& json);
  VectorCost vector_cost(const Json& json);

  const JsonPlaces& places_;
  Diagnostics& diagnostics_;
};

std::string join(const std::string& path, const std::string& field) {
  return path.empty() ? field : path + "." + field;
}

std::string quoted(const std::string& path) { return path.empty() ? "the model" : path; }

/// Text of a value in a message, cut where it is long.
std::string shown(const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= 40 ? text : text.substr(0, 37) + "...";
}

const Json* Reader::object(const Json& json, const std::string& path, const std::vector<std::string>& fields) {
  if (!json.is_object()) {
    wrong(Rule::model_field, path,
          fmt::format("{} is an object with {}, not {}", quoted(path), fmt::join(fields, ", "), shown(json)));
    return nullptr;
  }
  for (const auto& [key, value] : json.items()) {
    if (std::find(fields.begin(), fields.end(), key) != fields.end()) continue;
    diagnostics_.error(Rule::model_field, places_.find_key(join(path, key)),
                       fmt::format("{} has no field '{}'", quoted(path), key),
                       fmt::format("its fields are {}", fmt::join(fields, ", ")));
  }
  return &json;
}

const Json* Reader::member(const Json& json, const std::string& path, const std::string& field) {
  auto found = json.find(field);
  if (found != json.end()) return &*found;
  wrong(Rule::model_field, path, fmt::format("{} lacks the field '{}'", quoted(path), field));
  return nullptr;
}

std::string Reader::text(const Json& parent, const std::string& path, const std::string& field) {
  const Json* json = member(parent, path, field);
  if (json == nullptr) return {};
  std::string at = join(path, field);
  if (!json->is_string()) {
    wrong(Rule::model_field, at, fmt::format("{} is a text, not {}", at, shown(*json)));
    return {};
  }
  std::string value = json->get<std::string>();
  bool control = std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < 32 || c == 127; });
  if (value.find_first_not_of(' ') == std::string::npos || value.size() > 500 || control) {
    wrong(field == "source" ? Rule::model_source : Rule::model_field, at,
          fmt::format("{} is one line of 1 to 500 bytes", at));
  }
  return value;
}

std::string Reader::source(const Json& json, const std::string& path) {
  if (json.contains("source")) return text(json, path, "source");
  wrong(Rule::model_source, path, fmt::format("{} has no source", path));
  return {};
}

void Reader::check_number(double value, const std::string& path, const Domain& domain) {
  bool low = domain.above_least ? value <= domain.least : value < domain.least;
  if (!std::isfinite(value) || low || value > domain.most) {
    wrong(Rule::model_value, path,
          fmt::format("{} is {}; it is {} {} and at most {}", path, value, domain.above_least ? "above" : "at least",
                      domain.least, domain.most));
  } else if (domain.whole && value != std::floor(value)) {
    wrong(Rule::model_value, path, fmt::format("{} is {}; it is a whole number", path, value));
  }
}

double Reader::number(const Json& json, const std::string& path, const Domain& domain) {
  if (!json.is_number()) {
    wrong(Rule::model_field, path, fmt::format("{} is a number, not {}", path, shown(json)));
    return 0;
  }
  check_number(json.get<double>(), path, domain);
  return json.get<double>();
}

Figure Reader::figure(const Json& parent, const std::string& path, const std::string& field, const Domain& domain) {
  const Json* json = member(parent, path, field);
  if (json == nullptr) return {};
  std::string at = join(path, field);
  if (object(*json, at, {"value", "unit", "source"}) == nullptr) return {};
  Figure result;
  if (const Json* value = member(*json, at, "value")) result.value = number(*value, at + ".value", domain);
  result.unit = text(*json, at, "unit");
  if (!result.unit.empty() && result.unit != domain.unit) {
    wrong(Rule::model_unit, at + ".unit", fmt::format("{} is in '{}', not in '{}'", at, domain.unit, result.unit));
  }
  result.source = source(*json, at);
  return result;
}

Target Reader::target(const Json& json) {
  std::string name = text(json, "", "target");
  for (Target target : {Target::cuda, Target::cpu, Target::npu}) {
    if (name == name_of(target)) return target;
  }
  if (!name.empty())
    wrong(Rule::model_field, "target", fmt::format("there is no target '{}'", name), "the targets are cuda, cpu, npu");
  return Target::cuda;
}

/// The kind with this JSON name, one of the first `count` of its enumeration.
template <typename Kind>
std::optional<Kind> kind_of(std::string_view name, int count) {
  for (int i = 0; i < count; ++i) {
    if (name_of(static_cast<Kind>(i)) == name) return static_cast<Kind>(i);
  }
  return {};
}

#define PLAIT_COUNT(...) +1
constexpr int kFeatureCount = 0
#define PLAIT_FEATURE PLAIT_COUNT
#include "machine/kinds.def"
#undef PLAIT_FEATURE
    ;
constexpr int kCostCount = 0
#define PLAIT_COST PLAIT_COUNT
#include "machine/kinds.def"
#undef PLAIT_COST
    ;
constexpr int kMemoryCount = 0
#define PLAIT_MEMORY PLAIT_COUNT
#include "machine/kinds.def"
#undef PLAIT_MEMORY
    ;
constexpr int kUnitCount = 0
#define PLAIT_UNIT PLAIT_COUNT
#include "machine/kinds.def"
#undef PLAIT_UNIT
    ;
#undef PLAIT_COUNT

std::vector<Feature> Reader::features(const Json& json) {
  const Json* list = member(json, "", "features");
  std::vector<Feature> result;
  if (list == nullptr) return result;
  if (!list->is_array()) {
    wrong(Rule::model_field, "features", fmt::format("features is a list of names, not {}", shown(*list)));
    return result;
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Json& name = (*list)[i];
    std::string path = fmt::format("features[{}]", i);
    auto feature = name.is_string() ? kind_of<Feature>(name.get<std::string>(), kFeatureCount) : std::nullopt;
    if (!feature) {
      wrong(Rule::model_field, path, fmt::format("there is no feature {}", shown(name)));
    } else if (std::find(result.begin(), result.end(), *feature) != result.end()) {
      wrong(Rule::model_field, path, fmt::format("the feature {} is named twice", shown(name)));
    } else {
      result.push_back(*feature);
    }
  }
  return result;
}

Limits Reader::limits(const Json& json) {
  Limits result;
  std::vector<std::string> fields = {
#define PLAIT_LIMIT(id, unit, most, what) #id,
#include "machine/kinds.def"
#undef PLAIT_LIMIT
  };
  if (object(json, "limits", fields) == nullptr) return result;
#define PLAIT_LIMIT(id, unit, most, what) result.id = figure(json, "limits", #id, Domain{unit, 0, most, true, false});
#include "machine/kinds.def"
#undef PLAIT_LIMIT
  return result;
}

std::vector<Memory> Reader::memories(const Json& json) {
  std::vector<Memory> result;
  std::vector<std::string> fields = {
#define PLAIT_MEMORY(id, unit, own, what) #id,
#include "machine/kinds.def"
#undef PLAIT_MEMORY
  };
  if (object(json, "memories", fields) == nullptr) return result;
  auto add = [&](MemoryKind kind, std::string_view unit) {
    std::string name(name_of(kind)), path = "memories." + name;
    auto found = json.find(name);
    if (found == json.end() || object(*found, path, {"capacity", "bandwidth", "latency"}) == nullptr) return;
    result.push_back({kind, figure(*found, path, "capacity", bytes()), figure(*found, path, "bandwidth", rate(unit)),
                      figure(*found, path, "latency", latency())});
  };
#define PLAIT_MEMORY(id, unit, own, what) add(MemoryKind::id, unit);
#include "machine/kinds.def"
#undef PLAIT_MEMORY
  return result;
}

std::vector<Unit::Rate> Reader::rates(const Json& json, const std::string& path, std::string_view unit) {
  std::vector<Unit::Rate> result;
  std::vector<std::string> fields = {"all"};
  for (ir::DType type : ir::all_dtypes()) fields.emplace_back(ir::dtype_name(type));
  if (object(json, path, fields) == nullptr) return result;
  if (json.contains("all")) result.push_back({{}, figure(json, path, "all", rate(unit))});
  for (ir::DType type : ir::all_dtypes()) {
    std::string name(ir::dtype_name(type));
    if (json.contains(name)) result.push_back({type, figure(json, path, name, rate(unit))});
  }
  if (result.empty()) wrong(Rule::model_field, path, fmt::format("{} has no rate: 'all', or a type's name", path));
  return result;
}

std::vector<Unit> Reader::units(const Json& json) {
  std::vector<Unit> result;
  std::vector<std::string> fields = {
#define PLAIT_UNIT(id, unit, what) #id,
#include "machine/kinds.def"
#undef PLAIT_UNIT
  };
  if (object(json, "units", fields) == nullptr) return result;
  auto add = [&](UnitKind kind, std::string_view unit) {
    std::string name(name_of(kind));
    auto found = json.find(name);
    if (found != json.end()) result.push_back({kind, rates(*found, "units." + name, unit)});
  };
#define PLAIT_UNIT(id, unit, what) add(UnitKind::id, unit);
#include "machine/kinds.def"
#undef PLAIT_UNIT
  return result;
}

Cost Reader::cost(const Json& json, const std::string& path) {
  Cost result;
  if (object(json, path, {"op", "variant", "latency", "interval"}) == nullptr) return result;
  std::string op = text(json, path, "op");
  auto kind = kind_of<CostKind>(op, kCostCount);
  if (kind) {
    result.kind = *kind;
  } else if (!op.empty()) {
    wrong(Rule::model_field, path + ".op", fmt::format("there is no operation '{}'", op));
  }
  if (json.contains("variant")) result.variant = text(json, path, "variant");
  result.latency = figure(json, path, "latency", latency());
  result.interval = figure(json, path, "interval", interval());
  return result;
}

std::vector<Cost> Reader::costs(const Json& json) {
  std::vector<Cost> result;
  if (!json.is_array()) {
    wrong(Rule::model_field, "costs", fmt::format("costs is a list, not {}", shown(json)));
    return result;
  }
  std::set<std::pair<CostKind, std::string>> seen;
  for (std::size_t i = 0; i < json.size(); ++i) {
    std::string path = fmt::format("costs[{}]", i);
    result.push_back(cost(json[i], path));
    const Cost& last = result.back();
    if (!diagnostics_.has_errors() && !seen.insert({last.kind, last.variant}).second) {
      wrong(Rule::model_field, path,
            fmt::format("the cost of {}{}{} is given twice", name_of(last.kind), last.variant.empty() ? "" : " ",
                        last.variant));
    }
  }
  return result;
}

/// The kind that a field names.
template <typename Kind>
Kind Reader::kind(const Json& parent, const std::string& path, const std::string& field, int count,
                  std::string_view what) {
  std::string name = text(parent, path, field);
  auto found = kind_of<Kind>(name, count);
  if (!found && !name.empty())
    wrong(Rule::model_field, join(path, field), fmt::format("there is no {} '{}'", what, name));
  return found.value_or(Kind{});
}

Transfer Reader::transfer(const Json& json, const std::string& path) {
  Transfer result;
  if (object(json, path, {"from", "to", "unit", "latency", "bandwidth", "interval"}) == nullptr) return result;
  result.from = kind<MemoryKind>(json, path, "from", kMemoryCount, "memory");
  result.to = kind<MemoryKind>(json, path, "to", kMemoryCount, "memory");
  result.unit = kind<UnitKind>(json, path, "unit", kUnitCount, "unit");
  result.latency = figure(json, path, "latency", cycles());
  result.bandwidth = figure(json, path, "bandwidth", rate("B/cycle"));
  result.interval = figure(json, path, "interval", cycles());
  return result;
}

std::vector<Transfer> Reader::transfers(const Json& json) {
  std::vector<Transfer> result;
  if (!json.is_array()) {
    wrong(Rule::model_field, "transfers", fmt::format("transfers is a list, not {}", shown(json)));
    return result;
  }
  for (std::size_t i = 0; i < json.size(); ++i) {
    std::string path = fmt::format("transfers[{}]", i);
    Transfer next = transfer(json[i], path);
    auto same = [&](const Transfer& t) { return t.from == next.from && t.to == next.to; };
    if (!diagnostics_.has_errors() && std::any_of(result.begin(), result.end(), same))
      wrong(Rule::model_field, path,
            fmt::format("the transfer from {} to {} is given twice", name_of(next.from), name_of(next.to)));
    result.push_back(std::move(next));
  }
  return result;
}

CubeCost Reader::cube_cost(const Json& json) {
  if (object(json, "cube_cost", {"latency", "slice"}) == nullptr) return {};
  return {figure(json, "cube_cost", "latency", cycles()),
          figure(json, "cube_cost", "slice", {"elements", 1, 65536, true})};
}

VectorCost Reader::vector_cost(const Json& json) {
  if (object(json, "vector_cost", {"width", "bandwidth", "overlap"}) == nullptr) return {};
  return {figure(json, "vector_cost", "width", {"bytes", 1, 65536, true}),
          figure(json, "vector_cost", "bandwidth", rate("B/cycle")),
          figure(json, "vector_cost", "overlap", {"tasks", 1, 1024, true})};
}

Device Reader::device(const Json& json) {
  Device result;
  std::vector<std::string> fields = {"name",  "description", "target",   "arch",  "features", "compute_units",
                                     "clock", "limits",      "memories", "units", "costs"};
  if (json.is_object() && json.value("target", Json()) == "npu")
    fields.insert(fields.end(), {"vector_cores", "transfers", "cube_cost", "vector_cost"});
  if (object(json, "", fields) == nullptr) return result;
  result.name = text(json, "", "name");
  result.description = text(json, "", "description");
  result.target = target(json);
  result.arch = text(json, "", "arch");
  result.features = features(json);
  result.compute_units = figure(json, "", "compute_units", {"units", 1, 65536, true});
  result.clock = figure(json, "", "clock", {"MHz", 1, 100000});
  if (json.contains("limits")) result.limits = limits(json["limits"]);
  if (const Json* list = member(json, "", "memories")) result.memories = memories(*list);
  if (const Json* list = member(json, "", "units")) result.units = units(*list);
  if (const Json* list = member(json, "", "costs")) result.costs = costs(*list);
  if (result.target != Target::npu) return result;
  result.vector_cores = figure(json, "", "vector_cores", {"units", 1, 4, true});
  if (const Json* list = member(json, "", "transfers")) result.transfers = transfers(*list);
  if (const Json* cost = member(json, "", "cube_cost")) result.cube_cost = cube_cost(*cost);
  if (const Json* cost = member(json, "", "vector_cost")) result.vector_cost = vector_cost(*cost);
  return result;
}

/// A number that no f64 holds, which the parser quotes last in its complaint.
void number_too_large(const SourceRef& source, const std::string& complaint, Diagnostics& diagnostics) {
  std::size_t end = complaint.rfind('\''), begin = end == std::string::npos ? end : complaint.rfind('\'', end - 1);
  std::string number = begin == std::string::npos ? "" : complaint.substr(begin + 1, end - begin - 1);
  std::size_t at = number.empty() ? 0 : source->text().find(number);
  diagnostics.error(Rule::model_value, JsonPlaces::at(source, at, number.size()),
                    fmt::format("the number {} is too large", number));
}

std::optional<Json> parse_json(const SourceRef& source, Diagnostics& diagnostics) {
  try {
    return Json::parse(source->text());
  } catch (const Json::parse_error& e) {
    std::size_t at = e.byte > 0 ? e.byte - 1 : 0;
    diagnostics.error(Rule::model_json, JsonPlaces::at(source, at), JsonPlaces::fault(source->text(), at, "model"));
  } catch (const Json::exception& e) {
    number_too_large(source, e.what(), diagnostics);
  }
  return {};
}

}  // namespace

Result<Device> parse_device(const SourceRef& source) {
  Diagnostics diagnostics;
  std::optional<Json> json = parse_json(source, diagnostics);
  if (!json) return diagnostics;
  JsonPlaces places(source, diagnostics, {Rule::model_json, Rule::model_field});
  if (diagnostics.has_errors()) return diagnostics;
  Device device = Reader(places, diagnostics).device(*json);
  if (!diagnostics.has_errors()) check_device(device, places, diagnostics);
  if (diagnostics.has_errors()) return diagnostics;
  device.text = source->text();
  return device;
}

}  // namespace plait::machine
