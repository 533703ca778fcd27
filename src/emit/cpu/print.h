#pragma once

#include <cstdint>

namespace plait::cpu {

/// An argument of `print` as compiled code passes it.
struct PrintArg {
  enum Kind : std::int64_t { signed_integer, unsigned_integer, boolean, f32, f64 };
  std::int64_t kind;
  union {
    std::int64_t integer;
    double floating;
  };
};

/// Writes a line to standard output, `{}` in the format standing for the next argument. Called by compiled code.
void print_line(const char* format, const PrintArg* args, std::int64_t count);

}  // namespace plait::cpu
