#include "plan/json_value.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/limits.h"
#include "plan/line.h"

namespace plait::plan {

At JsonValue::at() const { return {source_->places.find(in_text(path_))}; }

JsonValue JsonValue::operator[](std::string_view key) const {
  const Json* found = json_ == nullptr ? nullptr : json_->find(key);
  if (json_ != nullptr && found == nullptr) error(below(key), "is missing");
  return {found, below(key), *source_};
}

void JsonValue::only(std::initializer_list<std::string_view> keys) const {
  if (json_ == nullptr) return;
  const Json::Object* fields = json_->object();
  if (fields == nullptr) return error(path_.empty() ? "the text" : path_, "is no object");
  for (const Json::Field& field : *fields) {
    if (std::find(keys.begin(), keys.end(), field.key) != keys.end()) continue;
    std::string path = below(field.key);
    source_->diags.error(Rule::schedule_json, source_->places.find_key(in_text(path)),
                         path + " is no field of a schedule");
  }
}

std::string JsonValue::text() const {
  if (json_ == nullptr) return {};
  if (is_text()) return *json_->text();
  error(path_, "is no string");
  return {};
}

std::string JsonValue::word() const {
  std::string found = text();
  if (is_text() && !is_name(found)) error(path_, fmt::format("'{}' is no name", found));
  return found;
}

std::string JsonValue::device() const {
  std::string found = text();
  if (is_text() && !is_device_name(found)) error(path_, fmt::format("'{}' is no device", found));
  return found;
}

std::int64_t JsonValue::integer(std::int64_t least, std::int64_t most) const {
  if (json_ == nullptr) return least;
  std::optional<std::int64_t> value = json_->integer();
  if (value && *value >= least && *value <= most) return *value;
  error(path_, fmt::format("is {}, no integer from {} to {}", shown(), least, most));
  return least;
}

int JsonValue::count() const { return static_cast<int>(integer(1, kMostCount)); }
int JsonValue::any_int() const { return static_cast<int>(integer(-kMostCount, kMostCount)); }

bool JsonValue::boolean() const {
  if (json_ == nullptr) return false;
  if (std::optional<bool> value = json_->boolean()) return *value;
  error(path_, "is neither true nor false");
  return false;
}

machine::UnitKind JsonValue::unit() const {
  std::string found = text();
#define PLAIT_UNIT(id, unit, what) \
  if (found == machine::name_of(machine::UnitKind::id)) return machine::UnitKind::id;
#include "machine/kinds.def"
#undef PLAIT_UNIT
  if (is_text()) error(path_, fmt::format("'{}' is no unit of a machine", found));
  return machine::UnitKind::cuda;
}

StmtName JsonValue::statement() const {
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
  if (is_text() && !good) error(path_, fmt::format("'{}' names no statement", found), "write kind@line, e.g. copy@12");
  return name;
}

/// The first of them where the text is none.
std::size_t JsonValue::one_of_names(const std::vector<std::string_view>& names) const {
  std::string found = text();
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == found) return i;
    list += fmt::format("{}{}", i == 0 ? "" : ", ", names[i]);
  }
  if (is_text()) error(path_, fmt::format("is '{}', not one of {}", found, list));
  return 0;
}

std::size_t JsonValue::elements() const {
  if (json_ == nullptr) return 0;
  if (json_->list() != nullptr) return json_->list()->size();
  error(path_, "is no list");
  return 0;
}

JsonValue JsonValue::element(std::size_t index) const {
  return {&(*json_->list())[index], fmt::format("{}[{}]", path_, index), *source_};
}

bool JsonValue::goes_on() const { return source_->diags.list().size() < kMostErrors; }

std::string JsonValue::below(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

std::string JsonValue::in_text(const std::string& path) const {
  return source_->schedule + (source_->schedule.empty() || path.empty() ? "" : ".") + path;
}

void JsonValue::error(const std::string& what, const std::string& message, std::string fix) const {
  source_->diags.error(Rule::schedule_json, source_->places.find(in_text(what)), fmt::format("{} {}", what, message),
                       std::move(fix));
}

std::string JsonValue::shown() const {
  std::string text = json_->dump();
  constexpr std::size_t kLongest = 40;
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "…";
}

}  // namespace plait::plan
