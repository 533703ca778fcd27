#include "report.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace plait::cli {

using Json = nlohmann::ordered_json;

struct Report::Object {
  Json json = Json::object();
};

Report::Report() : object_(std::make_unique<Object>()) {}
Report::Report(const Report& other) : object_(std::make_unique<Object>(*other.object_)) {}
Report::Report(Report&& other) noexcept = default;
Report& Report::operator=(Report other) noexcept {
  object_ = std::move(other.object_);
  return *this;
}
Report::~Report() = default;

namespace {

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

}  // namespace

void Report::set(std::string_view key, const std::string& value) { object_->json[std::string(key)] = value; }
void Report::set(std::string_view key, bool value) { object_->json[std::string(key)] = value; }
void Report::set(std::string_view key, std::int64_t value) { object_->json[std::string(key)] = value; }
void Report::set(std::string_view key, double value) { object_->json[std::string(key)] = number(value); }
void Report::set(std::string_view key, std::optional<double> value) {
  object_->json[std::string(key)] = value ? number(*value) : Json(nullptr);
}
void Report::set(std::string_view key, const Report& value) { object_->json[std::string(key)] = value.object_->json; }
void Report::set(std::string_view key, const std::vector<Report>& values) {
  Json list = Json::array();
  for (const Report& value : values) list.push_back(value.object_->json);
  object_->json[std::string(key)] = std::move(list);
}
void Report::set(std::string_view key, const std::vector<std::string>& values) {
  object_->json[std::string(key)] = values;
}
void Report::set(std::string_view key, const std::vector<std::int64_t>& values) {
  object_->json[std::string(key)] = values;
}
void Report::set(std::string_view key, const Diagnostics& diagnostics) {
  object_->json[std::string(key)] = Json::parse(diagnostics.to_json());
}

void Report::set(std::string_view key, const std::vector<Note>& notes) {
  std::vector<Report> list;
  for (const Note& note : notes) {
    Report& entry = list.emplace_back();
    entry.set("line", static_cast<std::int64_t>(note.loc.line));
    entry.set("message", note.message);
  }
  set(key, list);
}

void Report::set_json(std::string_view key, const std::string& json) {
  object_->json[std::string(key)] = Json::parse(json);
}

void Report::merge(const Report& other) {
  for (const auto& [key, value] : other.object_->json.items()) object_->json[key] = value;
}

// Texts may quote bytes that are not UTF-8.
std::string Report::text() const { return object_->json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace plait::cli
