#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// A text that locations point into: a file read from disk, a string given to the API, or (for programs built in C++)
/// the name of the C++ file, whose text is not kept.
class SourceFile {
 public:
  SourceFile(std::string name, std::string text);

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  /// Line `line` (counted from 1) without its end-of-line; empty when there is no such line.
  std::string_view line(int line) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<std::size_t> line_starts_;
};

using SourceRef = std::shared_ptr<const SourceFile>;

struct CallSite;

/// A place in a source: lines and columns count from 1, columns in bytes; line 0 means "no place known".
struct Loc {
  SourceRef source;
  int line = 0;
  int column = 0;
  /// Bytes to underline from `column` on; at least 1.
  int length = 1;
  /// The call through which a place inside a function came into a kernel; null outside of functions.
  std::shared_ptr<const CallSite> call = nullptr;

  bool known() const { return source != nullptr && line > 0; }
  /// `file:line:column`, `file` alone where the line is unknown, or `<unknown>`.
  std::string str() const;
};

/// A call of a function whose body was put in its place; `loc.call` is the next one out.
struct CallSite {
  std::string function;
  Loc loc;
};

}  // namespace plait
