#include "sim/tasks.h"

#include <algorithm>

#include "sim/exec.h"

namespace plait::sim {
namespace {

Unit unit_of(machine::UnitKind kind) {
  using machine::UnitKind;
  switch (kind) {
    case UnitKind::tensor:
      return Unit::tensor;
    case UnitKind::cuda:
      return Unit::cuda;
    case UnitKind::sfu:
      return Unit::sfu;
    case UnitKind::smem:
      return Unit::smem;
    case UnitKind::tma:
      return Unit::tma;
    case UnitKind::lsu:
      return Unit::lsu;
    case UnitKind::issue:
      return Unit::issue;
    case UnitKind::l2:
      return Unit::l2;
    case UnitKind::vector:
      return Unit::vector;
    case UnitKind::load:
      return Unit::load;
    case UnitKind::store:
      return Unit::store;
    case UnitKind::cube:
      return Unit::cube;
    case UnitKind::mte1:
      return Unit::mte1;
    case UnitKind::mte2:
      return Unit::mte2;
    case UnitKind::fixpipe:
      return Unit::fixpipe;
    case UnitKind::aiv_mte2:
      return Unit::aiv_mte2;
    case UnitKind::mte3:
      return Unit::mte3;
    case UnitKind::scalar:
      return Unit::scalar;
  }
  return Unit::issue;
}

/// Which copy of a tile is touched; -1: any.
std::int64_t slot_of(const Warp& w, const Touch& touch) {
  return touch.slot.valid() ? std::max<std::int64_t>(value_of(w, touch.slot, 0).i, 0) : -1;
}

}  // namespace

std::int64_t data_ready(const Warp& w, const Touched& touched, std::optional<Unit> unit) {
  const Tasks& tasks = w.replica->tasks;
  std::int64_t ready = 0;
  auto look = [&](const Touch& touch, bool writes) {
    auto it = tasks.data.find(touch.data);
    if (it == tasks.data.end()) return;
    std::int64_t slot = slot_of(w, touch);
    for (const auto& [other, until] : it->second) {
      if (slot >= 0 && other >= 0 && slot != other) continue;
      ready = std::max({ready, until.others.written, writes ? until.others.read : 0});
      if (unit != Unit::cube) ready = std::max({ready, until.cube.written, writes ? until.cube.read : 0});
    }
  };
  for (const Touch& touch : touched.reads) look(touch, false);
  for (const Touch& touch : touched.writes) look(touch, true);
  // Behind the arrivals that wait for the tasks.
  return touched.all && tasks.started > 0 ? std::max(ready, tasks.done + 1) : ready;
}

void arrive_behind_tasks(Machine& m, Warp& w, Block& block, int number, int thread, std::int64_t bytes,
                         const View& given, std::int64_t delay) {
  Component warp = w.clock.warp();
  Clock clock = w.clock.now() - 1;
  if (w.replica->tasks.done <= w.time) {
    return arrive(m, block, number, {w.block, thread, w.site, given}, bytes, {warp, clock, given}, w.time + delay);
  }
  auto view = std::make_shared<const View>(given);
  m.at(w.replica->tasks.done, [=, &m, &w, &block, site = w.site] {
    arrive(m, block, number, {w.block, thread, site, *view}, bytes, {warp, clock, *view}, m.now() + delay);
  });
}

Step run(Machine& m, Warp& w, const act::TaskBegin& a) {
  w.task = TaskState{w.time, a.measured, {}};
  if (m.checks() || a.end < 0) return Step::next;
  w.pc = a.end;
  return Step::jumped;
}

/// The first warp of the replica that comes to the end of a task starts it.
Step run(Machine& m, Warp& w, const act::TaskEnd& a) {
  std::int64_t issued = w.task->issued, length = w.time - issued;
  w.task.reset();
  m.charge(w);
  w.time = issued + m.latency(m.costs().instruction);
  Tasks& tasks = w.replica->tasks;
  if (w.tasks_issued++ < tasks.started) return Step::next;
  ++tasks.started;
  auto cycles = [&](Reg reg, std::int64_t otherwise) {
    return std::max<std::int64_t>(reg.valid() ? value_of(w, reg, 0).i : otherwise, 1);
  };
  std::int64_t latency = cycles(a.latency, length), interval = cycles(a.ii, latency);
  Unit unit = unit_of(a.unit);
  std::int64_t from = std::max(issued, data_ready(w, a.touched, unit));
  bool own = m.costs().vector_cores > 0 && is_of_vector_core(unit);
  int core = own ? w.replica_number % m.costs().vector_cores : 0;
  std::int64_t start = m.use(w.block.sm, unit, from, static_cast<double>(interval), core) - interval;
  std::int64_t done = start + m.latency(latency);
  tasks.done = std::max(tasks.done, done);
  auto until = [&](const Touch& touch) -> Tasks::Until& {
    Tasks::Access& access = tasks.data[touch.data][slot_of(w, touch)];
    return unit == Unit::cube ? access.cube : access.others;
  };
  for (const Touch& touch : a.touched.reads) until(touch).read = std::max(until(touch).read, done);
  for (const Touch& touch : a.touched.writes) until(touch).written = std::max(until(touch).written, done);
  return Step::next;
}

}  // namespace plait::sim
