#pragma once

#include <map>

#include "support/result.h"

namespace plait::machine {

/// Where the values of a JSON text stand, by path: "clock.value", "costs[3].op", "" for the whole.
class JsonPlaces {
 public:
  /// The rules that a text breaks as a whole and in a field.
  struct Rules {
    Rule text, field;
  };
  /// Scans a text that a JSON parser has accepted. Reports keys given twice or written with escapes, and nesting
  /// beyond 32.
  JsonPlaces(SourceRef source, Diagnostics& diagnostics, Rules rules);

  /// The value at the path; where there is none, the object that it would be in.
  Loc find(std::string path) const;
  /// The key of the value at the path.
  Loc find_key(const std::string& path) const;
  /// The place of a byte.
  static Loc at(const SourceRef& source, std::size_t offset, std::size_t length = 1);
  /// What a parser that stopped at the byte at `offset` found there; `kind` of text, e.g. "model".
  static std::string fault(const std::string& text, std::size_t offset, std::string_view kind);

 private:
  struct Scan;
  struct Span {
    std::size_t offset = 0, length = 1;
  };
  SourceRef source_;
  std::map<std::string, Span> values_, keys_;
};

}  // namespace plait::machine
