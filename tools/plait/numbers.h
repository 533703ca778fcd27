#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/model.h"

namespace plait::cli {

/// What an integer of the command line must lie between.
struct Bounds {
  std::int64_t least = 0, most = 0;
};

// Values of the command line; a text that is none throws UsageError with the option's name.

std::int64_t integer(const std::string& flag, const std::string& text, Bounds bounds);
/// `1..8`, `64,128,256`, `1..4,8`: each number once.
std::vector<std::int64_t> integers(const std::string& flag, const std::string& text, Bounds bounds);
/// `256x64`
plan::Extents extents(const std::string& flag, const std::string& text, Bounds bounds);
/// `228KiB`, `1 MiB`, `232448`: bytes.
std::int64_t byte_size(const std::string& flag, const std::string& text);
/// `228 KiB` where it is a whole number of them, else `1000 B`.
std::string size_text(std::int64_t bytes);

}  // namespace plait::cli
