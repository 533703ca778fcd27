#pragma once

#include "machine/places.h"
#include "plan/schedule.h"
#include "support/json.h"

namespace plait::plan {

/// The text that is read.
struct JsonSource {
  const machine::JsonPlaces& places;
  Diagnostics& diags;
  std::string schedule;  ///< path of the schedule in the text
};

/// One value of the text with the path that leads to it. What is wrong is reported at its place, by that path; readers
/// give defaults then.
class JsonValue {
 public:
  JsonValue(const Json* json, std::string path, const JsonSource& source)
      : json_(json), path_(std::move(path)), source_(&source) {}

  At at() const;
  bool has(std::string_view key) const { return json_ != nullptr && json_->find(key) != nullptr; }
  JsonValue operator[](std::string_view key) const;
  /// An object with no keys but these.
  void only(std::initializer_list<std::string_view> keys) const;

  std::string text() const;
  /// Text that the text form can hold too.
  std::string word() const;
  /// The name of a machine model.
  std::string device() const;
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  int count() const;    ///< from 1
  int any_int() const;  ///< of either sign
  bool boolean() const;
  machine::UnitKind unit() const;
  /// kind@line or kind@line#2
  StmtName statement() const;

  template <typename E>
  E one_of(std::initializer_list<E> all) const {
    std::vector<std::string_view> names;
    for (E value : all) names.push_back(name_of(value));
    return all.begin()[one_of_names(names)];
  }

  /// What `read` makes of each element of a list.
  template <typename F>
  auto each(const F& read) const {
    std::vector<decltype(read(*this))> out;
    std::size_t size = elements();
    for (std::size_t i = 0; i < size && goes_on(); ++i) out.push_back(read(element(i)));
    return out;
  }

 private:
  std::size_t one_of_names(const std::vector<std::string_view>& names) const;
  std::size_t elements() const;
  JsonValue element(std::size_t index) const;
  bool goes_on() const;  ///< not too many errors yet
  bool is_text() const { return json_ != nullptr && json_->text() != nullptr; }
  std::string below(std::string_view key) const;
  std::string in_text(const std::string& path) const;
  void error(const std::string& what, const std::string& message, std::string fix = {}) const;
  std::string shown() const;

  const Json* json_;  ///< null: missing, and reported
  std::string path_;
  const JsonSource* source_;
};

}  // namespace plait::plan
