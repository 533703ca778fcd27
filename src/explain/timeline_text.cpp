#include <fmt/format.h>

#include <algorithm>

#include "explain/palette.h"

namespace plait::explain {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

char letter(const Span& span) {
  if (span.waiting) return '.';
  if (span.task < 0) return '-';
  return kLetters[static_cast<std::size_t>(span.task) % kLetters.size()];
}

/// What takes most of each column; a blank where nothing takes half of it.
std::string row(const Lane& lane, std::int64_t end, int width) {
  std::vector<std::map<char, double>> share(static_cast<std::size_t>(width));
  double column = static_cast<double>(std::max<std::int64_t>(end, 1)) / width;
  for (const Span& span : lane.spans) {
    auto first = static_cast<int>(static_cast<double>(span.begin) / column);
    auto last = std::min(static_cast<int>(static_cast<double>(span.end) / column), width - 1);
    for (int c = first; c <= last; ++c) {
      double from = std::max(static_cast<double>(span.begin), c * column);
      double to = std::min(static_cast<double>(span.end), (c + 1) * column);
      if (to > from) share[static_cast<std::size_t>(c)][letter(span)] += to - from;
    }
  }
  std::string out;
  for (const auto& letters : share) {
    double idle = column;
    char best = ' ';
    double most = 0;
    for (const auto& [c, part] : letters) {
      idle -= part;
      if (part > most) {
        most = part;
        best = c;
      }
    }
    out += most > idle ? best : ' ';
  }
  return out;
}

std::string phase_row(const Timeline& timeline, int width) {
  std::string out(static_cast<std::size_t>(width), ' ');
  double column = static_cast<double>(std::max<std::int64_t>(timeline.end, 1)) / width;
  for (const Phase& phase : timeline.phases) {
    auto first = static_cast<std::size_t>(static_cast<double>(phase.begin) / column);
    auto last = std::min(static_cast<std::size_t>(static_cast<double>(phase.end) / column), out.size());
    if (last <= first) continue;
    std::string text = phase.name.substr(0, last - first - 1);
    out.replace(first, last - first, "|" + text + std::string(last - first - 1 - text.size(), ' '));
  }
  return out;
}

}  // namespace

std::string terminal(const Timeline& timeline, int width) {
  std::size_t names = 6;
  for (const Lane& lane : timeline.lanes) names = std::max(names, lane.name.size());
  auto line = [&](std::string_view name, const std::string& cells) {
    std::string text = fmt::format("{:<{}} {}", name, names, cells);
    text.erase(text.find_last_not_of(' ') + 1);
    return text + '\n';
  };
  std::string out =
      fmt::format("{} on {}{}{}: one multiprocessor, {} cycles ({:.2f} us), {:.0f} a column\n", timeline.kernel,
                  timeline.device, timeline.dims.empty() ? "" : ", ", timeline.dims, timeline.end,
                  static_cast<double>(timeline.end) / timeline.clock_mhz, static_cast<double>(timeline.end) / width);
  if (!timeline.phases.empty()) out += line("", phase_row(timeline, width));
  for (const Lane& lane : timeline.lanes) out += line(lane.name, row(lane, timeline.end, width));
  std::string ticks, numbers;
  std::int64_t step = round_step(static_cast<double>(timeline.end) / 8);
  for (std::int64_t cycle = 0; cycle <= timeline.end; cycle += step) {
    auto at = static_cast<std::size_t>(static_cast<double>(cycle) * width /
                                       static_cast<double>(std::max<std::int64_t>(timeline.end, 1)));
    ticks.resize(std::max(ticks.size(), at), ' ');
    ticks += '|';
    if (numbers.size() > at) continue;
    numbers.resize(at, ' ');
    numbers += std::to_string(cycle) + ' ';
  }
  out += line("", ticks) + line("cycles", numbers);
  for (std::size_t i = 0; i < timeline.tasks.size(); ++i)
    out +=
        fmt::format("  {} {}{}", kLetters[i % kLetters.size()], timeline.tasks[i].name, (i + 1) % 6 == 0 ? "\n" : "");
  out += timeline.tasks.size() % 6 == 0 ? "" : "\n";
  return out + "  . waiting  - counters and loops\n";
}

}  // namespace plait::explain
