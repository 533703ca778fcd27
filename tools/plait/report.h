#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"

namespace plait::cli {

/// One JSON object with its keys in the order in which they were set.
class Report {
 public:
  Report();
  Report(const Report& other);
  Report(Report&& other) noexcept;
  Report& operator=(Report other) noexcept;
  ~Report();

  void set(std::string_view key, const std::string& value);
  void set(std::string_view key, const char* value) { set(key, std::string(value)); }
  void set(std::string_view key, bool value);
  void set(std::string_view key, std::int64_t value);
  /// A number that JSON cannot hold (NaN, infinity) becomes a string.
  void set(std::string_view key, double value);
  void set(std::string_view key, std::optional<double> value);  ///< null where there is none
  void set(std::string_view key, const Report& value);
  void set(std::string_view key, const std::vector<Report>& values);
  void set(std::string_view key, const std::vector<std::string>& values);
  void set(std::string_view key, const std::vector<std::int64_t>& values);
  void set(std::string_view key, const Diagnostics& diagnostics);
  void set(std::string_view key, const std::vector<Note>& notes);
  /// A value that is JSON already.
  void set_json(std::string_view key, const std::string& json);

  /// Takes over all keys of another object, behind those already set.
  void merge(const Report& other);

  std::string text() const;

 private:
  struct Object;
  std::unique_ptr<Object> object_;
};

}  // namespace plait::cli
