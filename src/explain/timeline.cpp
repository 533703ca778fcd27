#include "explain/timeline.h"

#include <fmt/format.h>

#include <algorithm>

namespace plait::explain {
namespace {

/// Statements that only count, branch and compute scalars.
bool is_control(std::string_view word) {
  static constexpr std::string_view kWords[] = {"let", "var", "set", "for", "while", "if", "elect", "one_warp", ""};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

/// Adds a span, to the last one where that ends a little before and is of the same task and execution.
void append(std::vector<Span>& spans, const Span& span, std::int64_t gap) {
  if (!spans.empty()) {
    Span& last = spans.back();
    bool same = last.task == span.task && last.run == span.run && last.waiting == span.waiting;
    if (same && span.begin - last.end <= gap) {
      last.end = std::max(last.end, span.end);
      return;
    }
  }
  if (span.end > span.begin) spans.push_back(span);
}

/// Copies in as few rows as keep them apart.
std::vector<std::vector<Span>> rows_of(std::vector<Span> copies) {
  std::stable_sort(copies.begin(), copies.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::vector<std::vector<Span>> rows;
  for (const Span& copy : copies) {
    auto row =
        std::find_if(rows.begin(), rows.end(), [&](const std::vector<Span>& r) { return r.back().end <= copy.begin; });
    if (row == rows.end()) {
      rows.push_back({copy});
    } else {
      row->push_back(copy);
    }
  }
  return rows;
}

constexpr std::int64_t kUnitGap = 16;  // cycles: pieces of one task closer than that are drawn as one

}  // namespace

Recorder::Recorder(const roles::Program& program, std::map<Origin, std::string> names, std::int64_t cycles)
    : program_(program), names_(std::move(names)), limit_(cycles) {}

/// The task that a statement is of; -1 for what only counts and branches.
int Recorder::task_of(const sim::TraceEvent& event) {
  std::string name;
  if (is_control(event.word)) return -1;
  if (event.origin != nullptr && event.origin->known()) {
    auto it = names_.find(origin_of(*event.origin));
    if (it != names_.end()) name = it->second;
  }
  // Of a derived program, what belongs to no statement has no line of its own either.
  if (name.empty()) name = names_.empty() ? fmt::format("{}@{}", event.word, event.loc->line) : std::string(event.word);
  auto [it, added] = task_numbers_.try_emplace(name, static_cast<int>(tasks_.size()));
  if (added) tasks_.push_back({name, false});
  return it->second;
}

/// How often the warp had executed the task before the execution that this step is part of: a new one begins where the
/// warp has waited in between.
std::int64_t Recorder::ordinal(WarpState& warp, int task, std::int64_t step) {
  auto run = std::upper_bound(warp.starts.begin(), warp.starts.end(), step) - warp.starts.begin();
  auto& list = warp.ordinals[task];
  for (auto it = list.rbegin(); it != list.rend(); ++it) {
    if (it->first == run) return it->second;
    if (it->first < run) break;
  }
  list.emplace_back(run, static_cast<std::int64_t>(list.size()));
  return list.back().second;
}

int Recorder::slot_of(std::int64_t block, std::int64_t begin) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].block == block) return static_cast<int>(i);
  }
  auto free = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.until <= begin; });
  if (free == slots_.end()) free = slots_.insert(slots_.end(), Slot{});
  free->block = block;
  return static_cast<int>(free - slots_.begin());
}

void Recorder::statement(const sim::TraceEvent& event) {
  WarpState& warp = warps_[{event.block, event.role, event.replica, event.warp}];
  bool waits = event.word == "wait";
  if (waits && warp.waits != event.loc) warp.starts.push_back(event.step);
  warp.waits = waits ? event.loc : nullptr;
  if (event.warp != 0) return;
  int slot = slot_of(event.block, event.begin);
  slots_[static_cast<std::size_t>(slot)].until = event.end;
  std::vector<Span>& lane = role_lanes_[{event.role, event.replica, slot}];
  int task = task_of(event);
  if (task < 0 && !lane.empty() && event.begin <= lane.back().end) {
    lane.back().end = event.end;  // counts for what came before
    return;
  }
  std::int64_t run = task < 0 ? 0 : ordinal(warp, task, event.step);
  if (!lane.empty() && event.begin > lane.back().end) append(lane, {lane.back().end, event.begin, task, run, true}, 0);
  append(lane, {event.begin, event.end, task, run, false}, 0);
}

void Recorder::unit(const sim::TraceEvent& event) {
  int task = task_of(event);
  if (task < 0) return;
  WarpState& warp = warps_[{event.block, event.role, event.replica, event.warp}];
  append(unit_lanes_[event.unit], {event.begin, event.end, task, ordinal(warp, task, event.step), false}, kUnitGap);
}

void Recorder::copy(const sim::TraceEvent& event) {
  int task = task_of(event);
  if (task < 0) return;
  WarpState& warp = warps_[{event.block, event.role, event.replica, event.warp}];
  std::int64_t run = ordinal(warp, task, event.step);
  for (auto it = copies_.rbegin(); it != copies_.rend() && it - copies_.rbegin() < 8; ++it) {
    if (it->task != task || it->run != run) continue;
    it->end = std::max(it->end, event.end);
    return;
  }
  copies_.push_back({event.begin, event.end, task, run, false});
}

bool Recorder::operator()(const sim::TraceEvent& event) {
  if (event.sm != 0) return true;
  if (event.kind == sim::TraceEvent::Kind::statement && event.begin > limit_) {
    cut_ = true;
    return false;
  }
  last_ = std::max(last_, event.end);
  switch (event.kind) {
    case sim::TraceEvent::Kind::statement:
      statement(event);
      break;
    case sim::TraceEvent::Kind::unit:
      unit(event);
      break;
    case sim::TraceEvent::Kind::copy:
      copy(event);
      break;
  }
  return true;
}

Timeline Recorder::take(const std::vector<Loop>& loops) {
  Timeline out;
  out.tasks = std::move(tasks_);
  out.cut = cut_;
  out.end = cut_ ? limit_ : last_;
  auto add = [&](LaneKind kind, std::string name, std::vector<Span> spans) {
    std::erase_if(spans, [&](const Span& s) { return s.begin >= out.end; });
    for (Span& span : spans) span.end = std::min(span.end, out.end);
    if (!spans.empty()) out.lanes.push_back({kind, std::move(name), std::move(spans)});
  };
  for (auto& [key, spans] : role_lanes_) {
    const roles::Role& role = program_.roles[static_cast<std::size_t>(key[0])];
    std::string name = role.name;
    if (role.replicas > 1) name += fmt::format(" {}", key[1]);
    if (slots_.size() > 1) name += fmt::format(" (block {})", key[2]);
    add(LaneKind::role, name, std::move(spans));
  }
  std::vector<std::vector<Span>> rows = rows_of(std::move(copies_));
  for (std::size_t i = 0; i < rows.size(); ++i) add(LaneKind::copies, i == 0 ? "copies" : "", std::move(rows[i]));
  for (auto& [unit, spans] : unit_lanes_) add(LaneKind::unit, std::string(unit_name(unit)), std::move(spans));
  for (const Loop& loop : loops) {
    for (const Task& task : loop.tasks) {
      for (TimelineTask& known : out.tasks) known.in_loop = known.in_loop || known.name == task.name;
    }
    std::vector<Phase> found = phases_of(out, loop);
    out.phases.insert(out.phases.end(), found.begin(), found.end());
  }
  return out;
}

}  // namespace plait::explain
