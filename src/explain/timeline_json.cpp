#include <nlohmann/json.hpp>

#include "explain/palette.h"

namespace plait::explain {

using Json = nlohmann::ordered_json;

namespace {

std::string lane_name(const Lane& lane, std::size_t number) {
  return lane.name.empty() ? "copies " + std::to_string(number) : lane.name;
}

}  // namespace

/// Processes are kinds of lanes, threads are lanes; times are microseconds.
std::string trace_json(const Timeline& timeline) {
  Json events = Json::array();
  auto us = [&](std::int64_t cycles) { return static_cast<double>(cycles) / timeline.clock_mhz; };
  auto name = [&](const char* what, int process, std::size_t thread, const std::string& text) {
    events.push_back({{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", text}}}});
  };
  name("process_name", 0, 0, "roles");
  name("process_name", 1, 0, "copies under way");
  name("process_name", 2, 0, "units");
  name("process_name", 3, 0, "phases");
  for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
    const Lane& lane = timeline.lanes[i];
    int process = lane.kind == LaneKind::role ? 0 : lane.kind == LaneKind::copies ? 1 : 2;
    name("thread_name", process, i, lane_name(lane, i));
    for (const Span& span : lane.spans) {
      std::string task = span.task < 0 ? "counters" : timeline.tasks[static_cast<std::size_t>(span.task)].name;
      events.push_back({{"ph", "X"},
                        {"name", span.waiting ? task + " waits" : task},
                        {"cat", span.waiting ? "wait" : "work"},
                        {"pid", process},
                        {"tid", i},
                        {"ts", us(span.begin)},
                        {"dur", us(span.end - span.begin)},
                        {"args", {{"run", span.run}, {"begin", span.begin}, {"end", span.end}}}});
    }
  }
  for (const Phase& phase : timeline.phases)
    events.push_back({{"ph", "X"},
                      {"name", phase.name},
                      {"cat", "phase"},
                      {"pid", 3},
                      {"tid", 0},
                      {"ts", us(phase.begin)},
                      {"dur", us(phase.end - phase.begin)}});
  Json out = {{"displayTimeUnit", "ns"},
              {"otherData", {{"kernel", timeline.kernel}, {"device", timeline.device}, {"dims", timeline.dims}}},
              {"traceEvents", std::move(events)}};
  return out.dump(0) + "\n";
}

}  // namespace plait::explain
