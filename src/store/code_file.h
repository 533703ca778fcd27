#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/json.h"
#include "support/result.h"

namespace plait::store {

/// What a file of compiled code is called: by all that its code depends on, and by what a machine that only runs it
/// need not have (compiler, measurements). Hexadecimal digits.
struct CodeName {
  static constexpr std::size_t kKeyDigits = 32, kVariantDigits = 16;
  std::string key, variant;

  std::string file() const { return key + "-" + variant + ".code"; }
  bool operator==(const CodeName&) const = default;
};
/// Nothing for any other name.
std::optional<CodeName> code_name(std::string_view file);

/// A file of compiled code: a line of magic, a line with the digest of the rest, a line of JSON, named parts.
struct CodeFile {
  CodeName name;
  std::string build;   ///< of plait, see store::build()
  std::string kernel;  ///< for people
  Json summary;        ///< what else is said of it
  std::vector<std::pair<std::string, std::string>> parts;

  /// Null where there is none.
  const std::string* part(std::string_view which) const;
};
std::string pack(const CodeFile& file);

/// What is wrong with a text that is none, in words that follow the name of a file; any bytes are safe to give.
struct Damage {
  std::string what;
};
std::variant<CodeFile, Damage> unpack(std::string_view bytes);
/// The same without the parts and the digest, of the beginning of a file. An unfinished line of JSON is no damage:
/// nothing, and more is to be read.
std::variant<std::monostate, CodeFile, Damage> unpack_summary(std::string_view begin);

}  // namespace plait::store
