#include <algorithm>
#include <limits>
#include <set>

#include "explain/timeline.h"

namespace plait::explain {
namespace {

constexpr auto kNever = std::numeric_limits<std::int64_t>::max();

struct Period {
  std::int64_t begin = 0, end = 0;
};

/// Numbers, in the timeline, of the loop's tasks that compute and are of a certain stage.
std::set<int> numbers(const Timeline& timeline, const std::vector<Task>& tasks, int stage) {
  std::set<int> out;
  for (const Task& task : tasks) {
    if (task.stage != stage) continue;
    for (std::size_t i = 0; i < timeline.tasks.size(); ++i) {
      if (timeline.tasks[i].name == task.name) out.insert(static_cast<int>(i));
    }
  }
  return out;
}

/// Stretches in which the lane runs tasks of the loop, without others in between.
std::vector<Period> periods(const Lane& lane, const std::set<int>& loop) {
  std::vector<Period> out;
  bool inside = false;
  for (const Span& span : lane.spans) {
    if (span.task < 0 || span.waiting) continue;
    bool in_loop = loop.contains(span.task);
    if (in_loop && !inside) out.push_back({span.begin, span.end});
    if (in_loop) out.back().end = span.end;
    inside = in_loop;
  }
  return out;
}

/// From when to when units work for some of the tasks in a period.
Period at_work(const Timeline& timeline, const std::set<int>& tasks, const Period& within) {
  Period out{kNever, 0};
  for (const Lane& lane : timeline.lanes) {
    if (lane.kind != LaneKind::unit) continue;
    for (const Span& span : lane.spans) {
      if (!tasks.contains(span.task) || span.end <= within.begin || span.begin >= within.end) continue;
      out.begin = std::min(out.begin, std::max(span.begin, within.begin));
      out.end = std::max(out.end, std::min(span.end, within.end));
    }
  }
  return out;
}

}  // namespace

std::vector<Phase> phases_of(const Timeline& timeline, const Loop& loop) {
  std::vector<Task> computes;
  int first = std::numeric_limits<int>::max(), last = 0;
  for (const Task& task : loop.tasks) {
    if (task.busy.of(sim::Unit::tma) > 0) continue;
    computes.push_back(task);
    first = std::min(first, task.stage);
    last = std::max(last, task.stage);
  }
  if (computes.empty()) return {};
  std::set<int> all, early = numbers(timeline, computes, first), late = numbers(timeline, computes, last);
  for (int stage = first; stage <= last; ++stage) {
    std::set<int> some = numbers(timeline, computes, stage);
    all.insert(some.begin(), some.end());
  }
  auto shows = [&](const Lane& lane) {
    return lane.kind == LaneKind::role &&
           std::any_of(lane.spans.begin(), lane.spans.end(), [&](const Span& s) { return all.contains(s.task); });
  };
  auto lane = std::find_if(timeline.lanes.begin(), timeline.lanes.end(), shows);
  if (lane == timeline.lanes.end()) return {};
  std::vector<Phase> out;
  std::int64_t from = lane->spans.front().begin;
  std::vector<Period> found = periods(*lane, all);
  for (std::size_t i = 0; i < found.size(); ++i) {
    Period full = at_work(timeline, late, found[i]), most = at_work(timeline, early, found[i]);
    if (full.begin == kNever || most.end <= full.begin) continue;
    bool shown_whole = i + 1 < found.size() || !timeline.cut || found[i].end < lane->spans.back().end;
    out.push_back({"prologue", from, full.begin});
    out.push_back({"steady", full.begin, shown_whole ? most.end : timeline.end});
    from = found[i].end;
    // Up to the next tile's first task, the lane stores this one's result; what it waits for there is the next tile's.
    std::int64_t next = i + 1 < found.size() ? found[i + 1].begin : timeline.end;
    for (const Span& span : lane->spans) {
      bool stores = span.task >= 0 && !span.waiting && !all.contains(span.task);
      if (stores && span.begin >= found[i].end && span.end <= next) from = span.end;
    }
    if (shown_whole) out.push_back({"epilogue", most.end, from});
  }
  return out;
}

}  // namespace plait::explain
