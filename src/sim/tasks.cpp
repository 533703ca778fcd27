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
  }
  return Unit::issue;
}

}  // namespace

std::int64_t data_ready(const Replica& replica, const Touched& touched) {
  std::int64_t ready = 0;
  auto look = [&](int data, bool writes) {
    auto it = replica.tasks.data.find(data);
    if (it == replica.tasks.data.end()) return;
    ready = std::max({ready, it->second.written, writes ? it->second.read : 0});
  };
  for (int data : touched.reads) look(data, false);
  for (int data : touched.writes) look(data, true);
  // Behind the arrivals that wait for the tasks.
  return touched.all && replica.tasks.started > 0 ? std::max(ready, replica.tasks.done + 1) : ready;
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

Step run(Machine&, Warp& w, const act::TaskBegin& a) {
  w.task = TaskState{w.time, a.measured};
  return Step::next;
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
  std::int64_t from = std::max(issued, data_ready(*w.replica, a.touched));
  std::int64_t start = m.use(w.block.sm, unit_of(a.unit), from, static_cast<double>(interval)) - interval;
  std::int64_t done = start + m.latency(latency);
  tasks.done = std::max(tasks.done, done);
  for (int data : a.touched.reads) tasks.data[data].read = std::max(tasks.data[data].read, done);
  for (int data : a.touched.writes) tasks.data[data].written = std::max(tasks.data[data].written, done);
  return Step::next;
}

}  // namespace plait::sim
