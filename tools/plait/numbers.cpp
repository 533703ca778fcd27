#include "numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "command.h"

namespace plait::cli {
namespace {

constexpr std::int64_t kMostNumbers = 4096;
constexpr std::int64_t kKibi = 1024;

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::int64_t bounded(const std::string& flag, std::string_view text, Bounds bounds) {
  auto value = number(text);
  if (!value || *value < bounds.least || *value > bounds.most)
    throw UsageError{fmt::format("{}: '{}' is no integer from {} to {}", flag, text, bounds.least, bounds.most)};
  return *value;
}

void add_part(const std::string& flag, std::string_view part, Bounds bounds, std::vector<std::int64_t>& into) {
  std::size_t dots = part.find("..");
  std::int64_t first = bounded(flag, part.substr(0, dots), bounds);
  std::int64_t last = dots == std::string_view::npos ? first : bounded(flag, part.substr(dots + 2), bounds);
  if (last < first) throw UsageError{fmt::format("{}: '{}' runs downwards; write {}..{}", flag, part, last, first)};
  if (last - first >= kMostNumbers - static_cast<std::int64_t>(into.size()))
    throw UsageError{fmt::format("{}: more than {} numbers", flag, kMostNumbers)};
  for (std::int64_t value = first; value <= last; ++value) {
    if (std::find(into.begin(), into.end(), value) != into.end())
      throw UsageError{fmt::format("{}: {} is given twice", flag, value)};
    into.push_back(value);
  }
}

}  // namespace

std::int64_t integer(const std::string& flag, const std::string& text, Bounds bounds) {
  return bounded(flag, text, bounds);
}

std::vector<std::int64_t> integers(const std::string& flag, const std::string& text, Bounds bounds) {
  std::vector<std::int64_t> values;
  std::string_view rest = text;
  while (true) {
    std::size_t comma = rest.find(',');
    add_part(flag, rest.substr(0, comma), bounds, values);
    if (comma == std::string_view::npos) return values;
    rest.remove_prefix(comma + 1);
  }
}

plan::Extents extents(const std::string& flag, const std::string& text, Bounds bounds) {
  std::size_t cross = text.find('x');
  if (cross == std::string::npos)
    throw UsageError{fmt::format("{}: '{}' has not the form ROWSxCOLUMNS, e.g. 256x64", flag, text)};
  return {bounded(flag, std::string_view(text).substr(0, cross), bounds),
          bounded(flag, std::string_view(text).substr(cross + 1), bounds)};
}

std::int64_t byte_size(const std::string& flag, const std::string& text) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string_view unit = std::string_view(text).substr(digits);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  std::int64_t scale = 0;
  if (unit.empty() || unit == "B") scale = 1;
  if (unit == "KiB") scale = kKibi;
  if (unit == "MiB") scale = kKibi * kKibi;
  auto value = number(std::string_view(text).substr(0, digits));
  if (!value || scale == 0 || *value < 1 || *value > kMost / scale)
    throw UsageError{fmt::format("{}: '{}' is no size from 1 B to 1 TiB; write e.g. 228KiB", flag, text)};
  return *value * scale;
}

std::string size_text(std::int64_t bytes) {
  return bytes % kKibi == 0 ? fmt::format("{} KiB", bytes / kKibi) : fmt::format("{} B", bytes);
}

}  // namespace plait::cli
