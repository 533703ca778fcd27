#include "command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "analysis/affine.h"

namespace plait::cli {

namespace {

constexpr const char* kExitCodes =
    "Exit status: 0 success, 1 the input is wrong, 2 the command line is wrong, 3 a fault of plait.";

Options with_json(const Options& options, Command& command) {
  options.flag("--json", command.json, "print one JSON object on standard output");
  return options;
}

}  // namespace

Options add_command(CommandLine& line, Command& command, const std::string& name, const std::string& summary) {
  return with_json(line.command(name, summary, kExitCodes), command);
}

Options add_command(const CommandGroup& group, Command& command, const std::string& name, const std::string& summary) {
  return with_json(group.command(name, summary, kExitCodes), command);
}

Option add_assignments(const Options& options, const std::string& flag, std::vector<std::string>& into,
                       const std::string& help) {
  return options.add(flag, into, help).type_name("NAME=VALUE").repeated();
}

TextCheck integer_check(std::uint64_t least, std::uint64_t most) {
  return [=](const std::string& text) {
    std::uint64_t value = 0;
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool good = error == std::errc() && stop == text.data() + text.size() && value >= least && value <= most;
    return good ? std::string() : fmt::format("'{}' is no integer from {} to {}", text, least, most);
  };
}

TextCheck word_check(const std::string& what, const std::vector<std::string>& words) {
  return [=](const std::string& text) {
    bool known = std::find(words.begin(), words.end(), text) != words.end();
    return known ? std::string()
                 : fmt::format("there is no {} '{}'; the {}s are {}", what, text, what, fmt::join(words, ", "));
  };
}

Option add_seconds(const Options& options, const std::string& flag, double& into, const std::string& help) {
  static constexpr double kMost = 1e9;
  TextCheck check = [](const std::string& text) {
    char* end = nullptr;
    double seconds = std::strtod(text.c_str(), &end);
    bool good = !text.empty() && *end == '\0' && seconds >= 0 && seconds <= kMost;
    return good ? std::string() : fmt::format("'{}' is no number of seconds from 0 to {:.0f}", text, kMost);
  };
  return options.add(flag, into, help).type_name("SECONDS").check(check);
}

std::map<std::string, std::string> parse_assignments(const std::vector<std::string>& texts, const std::string& flag) {
  std::map<std::string, std::string> values;
  for (const std::string& text : texts) {
    std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw UsageError{fmt::format("{}: '{}' has not the form NAME=VALUE", flag, text)};
    if (!values.emplace(text.substr(0, equals), text.substr(equals + 1)).second) {
      throw UsageError{fmt::format("{}: {} is given twice", flag, text.substr(0, equals))};
    }
  }
  return values;
}

Outcome failed(Diagnostics diagnostics) {
  Outcome outcome;
  outcome.ok = false;
  outcome.diagnostics = std::move(diagnostics);
  return outcome;
}

std::map<std::string, std::int64_t> dims_of(const std::vector<std::string>& texts, const std::string& flag) {
  std::map<std::string, std::int64_t> dims;
  for (const auto& [name, text] : parse_assignments(texts, flag)) {
    const char* end = text.data() + text.size();
    std::int64_t& value = dims[name];
    auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || value < 0 || value > analysis::max_dim)
      throw UsageError{fmt::format("{} {}: '{}' is no integer from 0 to {}", flag, name, text, analysis::max_dim)};
  }
  return dims;
}

}  // namespace plait::cli
