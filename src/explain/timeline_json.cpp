#include "explain/palette.h"
#include "support/json.h"

namespace plait::explain {

namespace {

std::string lane_name(const Lane& lane, std::size_t number) {
  return lane.name.empty() ? "copies " + std::to_string(number) : lane.name;
}

}  // namespace

/// Processes are kinds of lanes, threads are lanes; times are microseconds.
std::string trace_json(const Timeline& timeline) {
  Json::List events;
  auto us = [&](std::int64_t cycles) { return static_cast<double>(cycles) / timeline.clock_mhz; };
  auto name = [&](const char* what, int process, std::size_t thread, const std::string& text) {
    events.emplace_back(Json::Object{{"ph", "M"},
                                     {"name", what},
                                     {"pid", process},
                                     {"tid", static_cast<std::int64_t>(thread)},
                                     {"args", Json::Object{{"name", text}}}});
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
      events.emplace_back(
          Json::Object{{"ph", "X"},
                       {"name", span.waiting ? task + " waits" : task},
                       {"cat", span.waiting ? "wait" : "work"},
                       {"pid", process},
                       {"tid", static_cast<std::int64_t>(i)},
                       {"ts", us(span.begin)},
                       {"dur", us(span.end - span.begin)},
                       {"args", Json::Object{{"run", span.run}, {"begin", span.begin}, {"end", span.end}}}});
    }
  }
  for (const Phase& phase : timeline.phases)
    events.emplace_back(Json::Object{{"ph", "X"},
                                     {"name", phase.name},
                                     {"cat", "phase"},
                                     {"pid", 3},
                                     {"tid", 0},
                                     {"ts", us(phase.begin)},
                                     {"dur", us(phase.end - phase.begin)}});
  Json::Object about = {{"kernel", timeline.kernel}, {"device", timeline.device}, {"dims", timeline.dims}};
  Json out =
      Json::Object{{"displayTimeUnit", "ns"}, {"otherData", std::move(about)}, {"traceEvents", std::move(events)}};
  return out.dump(0) + "\n";
}

}  // namespace plait::explain
