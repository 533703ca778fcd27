#include "explain_timeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <limits>

namespace plait::cli {
namespace {

constexpr int kColumns = 110;  ///< of a timeline in the terminal

std::map<explain::Origin, std::string> names_of(const DeviceProgram& program) {
  std::map<explain::Origin, std::string> names;
  if (!program.tile) return names;
  for (const auto& [stmt, name] : graph::name_statements(*program.tile)) {
    // Of several at one place the same one whatever the order.
    auto [known, added] = names.try_emplace(explain::origin_of(stmt->loc), graph::text_of(name));
    if (!added) known->second = std::min(known->second, graph::text_of(name));
  }
  return names;
}

}  // namespace

Result<explain::Timeline> record(const TimedCall& call, const std::vector<explain::Loop>& loops, std::int64_t cycles) {
  explain::Recorder recorder(call.program.program, names_of(call.program), cycles);
  auto run = time_call(call, std::numeric_limits<std::int64_t>::max(),
                       [&](const sim::TraceEvent& event) { return recorder(event); });
  if (!run) return run.diagnostics();
  if (run->diagnostics.has_errors()) return run->diagnostics;
  explain::Timeline timeline = recorder.take(loops);
  timeline.kernel = call.program.kernel_name;
  timeline.device = call.device.name;
  timeline.clock_mhz = call.device.clock.value;
  std::vector<std::string> dims;
  for (const auto& [name, value] : call.dims) dims.push_back(fmt::format("{}={}", name, value));
  timeline.dims = fmt::format("{}", fmt::join(dims, " "));
  return timeline;
}

void check_timeline_name(const std::string& path) {
  std::string form = std::filesystem::path(path).extension();
  if (path != "-" && form != ".svg" && form != ".html" && form != ".json")
    throw UsageError{
        fmt::format("--timeline {}: name a file that ends in .svg, .html or .json, or - for the terminal", path)};
}

std::string render(const explain::Timeline& timeline, const std::string& path) {
  std::string form = std::filesystem::path(path).extension();
  if (form == ".svg") return explain::svg(timeline);
  if (form == ".html") return explain::html(timeline);
  if (form == ".json") return explain::trace_json(timeline);
  return explain::terminal(timeline, kColumns);
}

}  // namespace plait::cli
