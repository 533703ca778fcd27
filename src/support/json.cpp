#include "support/json.h"

#include <nlohmann/json.hpp>

#include "support/result.h"

namespace plait {

using Library = nlohmann::ordered_json;

Json::Json() = default;
Json::Json(bool value) : value_(value) {}
Json::Json(int value) : value_(std::int64_t{value}) {}
Json::Json(std::int64_t value) : value_(value) {}
Json::Json(double value) : value_(value) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(Object object) : value_(std::move(object)) {}
Json::Json(List list) : value_(std::move(list)) {}
Json::Json(std::vector<std::string> list) : value_(List(list.begin(), list.end())) {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json& Json::operator[](std::string_view key) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = Object();
  Object& fields = std::get<Object>(value_);
  for (Field& field : fields) {
    if (field.key == key) return field.value;
  }
  return fields.emplace_back(Field{std::string(key), {}}).value;
}

const Json* Json::find(std::string_view key) const {
  const auto* fields = std::get_if<Object>(&value_);
  if (fields == nullptr) return nullptr;
  for (const Field& field : *fields) {
    if (field.key == key) return &field.value;
  }
  return nullptr;
}

const Json::Object* Json::object() const { return std::get_if<Object>(&value_); }
const Json::List* Json::list() const { return std::get_if<List>(&value_); }
const std::string* Json::text() const { return std::get_if<std::string>(&value_); }

std::optional<bool> Json::boolean() const {
  if (const auto* value = std::get_if<bool>(&value_)) return *value;
  return {};
}

std::optional<std::int64_t> Json::integer() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  return {};
}

/// Builds a value of what the library's parser finds.
class JsonReader : public nlohmann::json_sax<Library> {
 public:
  bool null() override { return add({}); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= INT64_MAX) return add(static_cast<std::int64_t>(value));
    Json large;
    large.value_ = value;
    return add(std::move(large));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*count*/) override { return open(Json(Json::Object())); }
  bool start_array(std::size_t /*count*/) override { return open(Json(Json::List())); }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/, const Library::exception& why) override {
    constexpr int kOutOfRange = 406;
    fault = {position > 0 ? position - 1 : 0, why.id == kOutOfRange};
    return false;
  }

  Json root;
  std::optional<Json::Fault> fault;

 private:
  static constexpr std::size_t kDeepest = 64;

  /// Where the next value goes.
  Json& next() {
    if (open_.empty()) return root;
    auto& parent = open_.back()->value_;
    if (auto* list = std::get_if<Json::List>(&parent)) return list->emplace_back();
    return std::get<Json::Object>(parent).emplace_back(Json::Field{std::move(key_), {}}).value;
  }
  bool add(Json value) {
    if (too_deep_ == 0) next() = std::move(value);
    return true;
  }
  bool open(Json value) {
    if (too_deep_ > 0 || open_.size() == kDeepest) {
      ++too_deep_;
      return true;
    }
    Json& at = next();
    at = std::move(value);
    open_.push_back(&at);
    return true;
  }
  bool close() {
    if (too_deep_ > 0) {
      --too_deep_;
    } else {
      open_.pop_back();
    }
    return true;
  }

  std::vector<Json*> open_;  ///< of each only the last element grows, so that it stays where it is
  std::size_t too_deep_ = 0;
  std::string key_;
};

std::variant<Json, Json::Fault> Json::parse(std::string_view text) {
  JsonReader reader;
  Library::sax_parse(text, &reader);
  if (reader.fault) return *reader.fault;
  return std::move(reader.root);
}

/// The same value as the library has it.
struct JsonWriter {
  static Library of(const Json& value) {
    return std::visit(Overload{[](std::monostate) { return Library(); },
                               [](const Json::List& list) {
                                 Library out = Library::array();
                                 for (const Json& element : list) out.push_back(of(element));
                                 return out;
                               },
                               [](const Json::Object& fields) {
                                 Library out = Library::object();
                                 for (const Json::Field& field : fields) out[field.key] = of(field.value);
                                 return out;
                               },
                               [](const auto& scalar) { return Library(scalar); }},
                      value.value_);
  }
};

std::string Json::dump(int indent) const {
  return JsonWriter::of(*this).dump(indent, ' ', false, Library::error_handler_t::replace);
}

}  // namespace plait
