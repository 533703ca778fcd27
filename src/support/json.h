#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace plait {

/// A value of JSON; the fields of an object keep their order. The JSON library is in json.cpp alone, since it takes
/// longer to compile than most of the files that read or write a few values.
class Json {
 public:
  struct Field;
  using List = std::vector<Json>;
  using Object = std::vector<Field>;

  Json();                               ///< null
  Json(bool value);                     // NOLINT(google-explicit-constructor)
  Json(int value);                      // NOLINT(google-explicit-constructor)
  Json(std::int64_t value);             // NOLINT(google-explicit-constructor)
  Json(double value);                   // NOLINT(google-explicit-constructor)
  Json(const char* text);               // NOLINT(google-explicit-constructor)
  Json(std::string text);               // NOLINT(google-explicit-constructor)
  Json(std::string_view text);          // NOLINT(google-explicit-constructor)
  Json(Object object);                  // NOLINT(google-explicit-constructor)
  Json(List list);                      // NOLINT(google-explicit-constructor)
  Json(std::vector<std::string> list);  // NOLINT(google-explicit-constructor)
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  /// The field of an object, added behind the others where there is none. Null becomes an object.
  Json& operator[](std::string_view key);

  /// Null where there is no such field, or where this is no object.
  const Json* find(std::string_view key) const;
  // Null where this is something else.
  const Object* object() const;
  const List* list() const;
  const std::string* text() const;
  std::optional<bool> boolean() const;
  /// An integer that fits.
  std::optional<std::int64_t> integer() const;

  /// Without an indent on one line. Bytes that are no UTF-8 are replaced.
  std::string dump(int indent = -1) const;

  /// Why a text is none.
  struct Fault {
    std::size_t at = 0;         ///< the byte
    bool large_number = false;  ///< of a number beyond what a double holds, whose place is unknown
  };
  /// Of values that are nested beyond 64 only the outer ones are kept.
  static std::variant<Json, Fault> parse(std::string_view text);

 private:
  friend class JsonReader;
  friend struct JsonWriter;
  /// Integers beyond 2^63 are as they were read.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, List, Object> value_;
};

struct Json::Field {
  std::string key;
  Json value;
};

}  // namespace plait
